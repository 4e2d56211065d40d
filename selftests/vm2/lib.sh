# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What the tests with two machines share.

# counter NAME: of this machine's module
counter() { selftests/vm2_counter "$1"; }

# moved NAME BEFORE: that counter is greater than it was
moved() { [ "$(counter "$1")" -gt "$2" ]; }

# turn SECONDS FILE NEXT-FILE: when both machines' recorders have created FILE, let them go on.
turn()
{
	wait_for "$1" test -e "$FOLDER/$2" && sync_point "$2" && touch "$FOLDER/$3"
}

# start_recorder ARGUMENTS...: of selftests/recorder but for the folder, on both machines
start_recorder()
{
	FOLDER=$(mktemp -d)
	run_tap selftests/recorder "${@/#FOLDER/$FOLDER}" &
	RECORDER=$!
	wait_for 600 test -e "$FOLDER/ready" || {
		fail "recorder" "the sockets were not bound"
		kill "$RECORDER"
		return 1
	}
}

# end_recorder SECONDS: wait for what has to arrive, on both machines. The results are the recorder's.
end_recorder()
{
	turn "$1" received end || {
		fail "recorder" "one side did not end"
		touch "$FOLDER/end"
	}
	wait "$RECORDER"
}

# record MESSAGES SECONDS [COMMAND...]: both machines send MESSAGES to each other, over IPv4 and IPv6, while COMMAND runs,
# again and again.
record()
{
	local messages=$1 end=$((SECONDS + $2))
	shift 2
	[ $# != 0 ] || set -- sleep 0.1
	start_recorder "$messages" FOLDER "$MY_ADDR" "$PEER_ADDR" "$MY_ADDR6" "$PEER_ADDR6" && turn 0 ready start || return
	until [ -e "$FOLDER/received" ] || [ "$SECONDS" -gt "$end" ]; do
		"$@"
	done
	end_recorder 0
}

# record_during "OPTIONS" ADDRESSES COMMAND...: messages and operations, as fast as they can, while COMMAND runs once on each
# machine; what was sent until then must arrive in five minutes more.
record_during()
{
	local options=$1 addresses=$2
	shift 2
	# shellcheck disable=SC2086
	start_recorder $options 0 FOLDER $addresses && turn 0 ready start || return
	"$@"
	sync_point calm
	touch "$FOLDER/enough"
	end_recorder 300
}

# weather WORDS...: of netem, for what leaves this machine; "clear" ends it
weather()
{
	echo "weather: $*"
	if [ "$1" = clear ]; then
		tc qdisc del dev "$NETDEV" root
	else
		tc qdisc replace dev "$NETDEV" root netem limit 10000 "$@"
	fi
}

# What a test that failed is looked into with.
watch_connections()
{
	echo 1 >/sys/kernel/tracing/events/rds_sockets/rds_path_state/enable
	echo 1 >/sys/kernel/tracing/events/rds_sockets/rds_path_drop/enable
}

save_connections() { save /sys/kernel/tracing/trace trace; }

# ask ROLE PROGRAM: machine ROLE runs PROGRAM, which asks vm2_peer on the other one.
ask()
{
	if [ "$ROLE" = "$1" ]; then
		sync_point "peer for $2" || return
		run_tap "selftests/$2"
		sync_point "end of $2"
	else
		serve "$2"
	fi
}

serve()
{
	local peer
	rm -f /tmp/peer-ready
	selftests/vm2_peer /tmp/peer-ready "$MY_ADDR" "$MY_ADDR6" &
	peer=$!
	check "vm2_peer is ready" wait_for 300 test -e /tmp/peer-ready
	sync_point "peer for $1"
	sync_point "end of $1"
	check "vm2_peer served to the end" kill "$peer"
	wait "$peer"
	[ $? = 143 ] # what was done to it
}

renew_rxe() { drop_rxe && sleep 1 && setup_rxe; }

# Both machines get a module that has not met anybody.
afresh()
{
	sync_point unload && wait_for 120 rds_unused && unload_rds ours && load_rds ours && sync_point loaded
}
