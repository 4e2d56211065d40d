# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# One of two machines that send messages and RDMA operations to each other is killed and restarted in their midst. Of what it
# sent, what has arrived is in order; what it sends in its new life, counted from 1 again, all arrives. Of what was sent to it,
# its new life gets all but a part at the beginning, in order, and nothing that its former life had acknowledged.
# At last it is killed for good: the other machine closes its sockets and unloads its module all the same.
#
# kernels: stock
# alone: ends the other machine
# timeout: 600
. /rds/selftests/vm2/lib.sh

MESSAGES=${MESSAGES:-1200}

survive()
{
	start_recorder -o -r "$MESSAGES" FOLDER "$MY_ADDR" "$PEER_ADDR" && turn 0 ready start || return
	check "half is through" wait_for 300 test -e "$FOLDER/half" || return
	put floors "$(cat "$FOLDER/floors")"
	check "the peer is restarted" peer_reboot || return
	touch "$FOLDER/killed"
	check "the peer is back" sync_point back || return
	touch "$FOLDER/resume"
	end_recorder 300
}

live_until_killed()
{
	start_recorder -o "$MESSAGES" FOLDER "$MY_ADDR" "$PEER_ADDR" && turn 0 ready start || return
	wait "$RECORDER"
}

live_again()
{
	local floors
	floors=$(get floors)
	start_recorder -o -b "$BOOT" -f " $floors" "$MESSAGES" FOLDER "$MY_ADDR" "$PEER_ADDR" || return
	sync_point back
	touch "$FOLDER/start"
	end_recorder 300
}

# Something is under way to it that will never arrive.
kill_for_good()
{
	python3 - "$MY_ADDR" "$PEER_ADDR" <<-'END'
		import sys
		from rds import RdmaSocket
		sock = RdmaSocket()
		sock.bind(sys.argv[1])
		for i in range(50):
		    sock.sendto(bytes(1000), f"{sys.argv[2]}:9")
	END
	peer_kill
}

watch_connections
if [ "$ROLE" = a ]; then
	survive
	save_connections
	sync_point over
	check "the peer is killed" kill_for_good
elif [ "$BOOT" = 1 ]; then
	live_until_killed
else
	live_again
	save_connections
	sync_point over
	sleep 600
fi
