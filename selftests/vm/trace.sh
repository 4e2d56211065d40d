# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Trace events: all begin with the same fields, and each comes when what it is about happens, but for rds_conn_refused,
# which takes a peer that breaks the rules.
#
# timeout: 300
EVENTS=/sys/kernel/tracing/events/rds_sockets

# common_fields EVENT: offset and name of the first ten that are its own
common_fields()
{
	sed -n 's/.*field:\([^;]*\);\toffset:\([0-9]*\);.*/\2 \1/p' "$EVENTS/$1/format" | grep -v ' common_' | head -n 10
}

fields_agree()
{
	local event
	for event in $(events); do
		[ "$(common_fields "$event")" = "$(common_fields rds_path_state)" ] || {
			common_fields "$event"
			echo "$event begins otherwise"
			return 1
		}
	done
	common_fields rds_path_state | grep -q ' int err$'
}

events() { (cd "$EVENTS" && printf '%s\n' */ | tr -d /); }

seen() { grep -q " $1: " /sys/kernel/tracing/trace; }

# A namespace ends a little after its last process.
something_of_everything()
{
	selftests/vm/trace.py 127.0.0.1 127.0.0.1 && selftests/vm/trace.py "$MY_ADDR" "$PEER_ADDR" &&
		unshare -n selftests/vm/trace.py 127.0.0.1 127.0.0.1
}

check "all begin with the same fields" fields_agree
echo 8192 >/sys/kernel/tracing/buffer_size_kb
echo 1 >"$EVENTS/enable"
check "something of everything" something_of_everything || exit
for event in $(events); do
	[ "$event" = rds_conn_refused ] || check "$event comes" wait_for 60 seen "$event"
done
echo 0 >"$EVENTS/enable"
echo >/sys/kernel/tracing/trace
