# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# 1,000 fetch-and-adds of each of four processes on two machines, to one counter: they sum to 4,000; and while the link goes
# down and up, the missing ones were reported. vm2_fadd tells more.
#
# timeout: 900
. /rds/selftests/vm2/lib.sh

# For the link to go down on b, which is when b does not look for its peer before it is back: seconds. On a it is down until
# b has found that out.
DOWN=(0.3 3)
PARTS=5

begun() { [ -e "$FOLDER/begun.$1.0" ] && [ -e "$FOLDER/begun.$1.1" ]; }

# cut PART: on a in odd parts, on b in even ones
cut()
{
	local side=$([ $(($1 % 2)) = 1 ] && echo a || echo b) resets
	wait_for 300 begun "$1" && sync_point "part $1 has begun" || return
	resets=$(counter conn_reset)
	[ "$ROLE" != "$side" ] || link_down
	sync_point "link is down in part $1"
	touch "$FOLDER/cut.$1"
	[ "$ROLE $side" != "b a" ] || wait_for 60 moved conn_reset "$resets" || return
	[ "$ROLE $side" != "b b" ] || sleep "${DOWN[$1 / 2 - 1]}"
	sync_point "link comes up in part $1"
	[ "$ROLE" != "$side" ] || link_up
}

cut_each()
{
	local part
	for ((part = 1; part < PARTS; part++)); do
		cut $part || return
	done
}

FOLDER=$(mktemp -d)
export FOLDER
watch_connections
sync_point ready
run_tap selftests/vm2_fadd &
program=$!
check "link goes down and up" cut_each
wait "$program"
save_connections
