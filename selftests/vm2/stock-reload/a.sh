# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Our module and the distribution's, each on either machine. While packets are lost and the link goes down, each message arrives
# once, in order, unchanged. Then the owner of one side's sockets is killed amid messages in both directions, and its module
# unloaded and loaded again, while the other side goes on sending: the new life gets all from one message on that the former one
# had not acknowledged, in order, unchanged; and what it sends, counted from 1 again, all arrives. Once for either module.
#
# kernels: stock
# modules: ours stock
# modules: stock ours
# timeout: 900
. /rds/selftests/vm2/lib.sh

# --- messages are sent again ---------------------------------------------------

# Of messages that take several packets, soft-RoCE may repeat some after a loss (Documentation/testing.md), which a stock receiver
# takes for new ones.
ONE_PACKET=$((4096 - 48))
IN_BAD_WEATHER=300

# as_many_more COUNTER NUMBER
as_many_more() { wait_for 300 moved "$1" $(($(counter "$1") + $2)); }

lose_packets()
{
	check "messages flow" wait_for 300 test -e "$FOLDER/half"
	weather loss 1%
	[ "$MODULE" = stock ] || check "messages arrive though packets are lost" as_many_more recv_delivered $IN_BAD_WEATHER
	sync_point "enough lost"
	weather clear
}

# Something to be acknowledged, at a port that is never congested.
send_one()
{
	python3 - "$MY_ADDR" "$PEER_ADDR" <<-'END'
		import sys
		from rds import RdmaSocket
		sock = RdmaSocket()
		sock.bind(sys.argv[1])
		sock.sendto(b"?", f"{sys.argv[2]}:9")
	END
}

breaks_connection() { send_one && wait_for 60 moved conn_reset "$1"; }

# The cable is that of the machine with the stock module; ours finds out that it is alone.
lose_link()
{
	check "messages flow" wait_for 300 test -e "$FOLDER/half"
	sync_point flowing
	[ "$MODULE" = ours ] || link_down
	sync_point "link is down"
	[ "$MODULE" = stock ] || check "connection breaks" breaks_connection "$(counter conn_reset)"
	sync_point "connection broke"
	[ "$MODULE" = ours ] || link_up
}

# --- a module is loaded again ----------------------------------------------------

survive()
{
	start_recorder -r 0 FOLDER "$MY_ADDR" "$PEER_ADDR" && turn 0 ready start || return
	check "messages flow, $PEER_MODULE is to be loaded again" wait_for 300 test -e "$FOLDER/half" || return
	put "floors of $MODULE" "$(cat "$FOLDER/floors")"
	sync_point unloaded || return
	touch "$FOLDER/killed"
	sync_point bound || return
	touch "$FOLDER/resume"
	sync_point enough
	touch "$FOLDER/enough"
	end_recorder 300
}

no_complaint() { ! grep -v -e '^TAP' -e '^1\.\.' -e '^# sent' "$FOLDER/log"; }

# Sets floors to what the other side knows to be acknowledged.
former_life()
{
	FOLDER=$(mktemp -d)
	selftests/recorder 0 "$FOLDER" "$MY_ADDR" "$PEER_ADDR" >"$FOLDER/log" 2>&1 &
	RECORDER=$!
	wait_for 600 test -e "$FOLDER/ready" && turn 0 ready start || return
	floors=$(get "floors of $PEER_MODULE")
	kill -KILL "$RECORDER"
	wait "$RECORDER" 2>/dev/null
	check "$MODULE: former life got nothing wrong" no_complaint
}

# A stock peer that remembers greater numbers than the new ones takes those for repetitions that were sent again, after a
# connection that broke: so this side waits for messages, which come by a connection that is good.
live_again()
{
	start_recorder -w -b 2 -f " $1" 0 FOLDER "$MY_ADDR" "$PEER_ADDR" || return
	sync_point bound
	touch "$FOLDER/start"
	check "$MODULE: messages flow again" wait_for 300 test -e "$FOLDER/half"
	sync_point enough
	touch "$FOLDER/enough"
	end_recorder 300
}

be_reloaded()
{
	local floors
	former_life || return
	check "$MODULE is unloaded under traffic" wait_for 120 unload_rds "$MODULE" || return
	sync_point unloaded
	check "$MODULE is loaded again" load_rds "$MODULE" || return
	live_again "$floors"
}

# reload MODULE
reload()
{
	sync_point "reload $1"
	if [ "$MODULE" = "$1" ]; then
		be_reloaded
	else
		survive
	fi
}

# --- all ------------------------------------------------------------------------

record_during "-l $ONE_PACKET" "$MY_ADDR $PEER_ADDR $MY_ADDR6 $PEER_ADDR6" lose_packets
# whether something is under way when the link goes is chance
for round in 1 2 3 4 5; do
	record_during "" "$MY_ADDR $PEER_ADDR" lose_link
	[ "$MODULE" = stock ] || put "sent again $round" "$(counter retransmitted)"
	[ "$(get "sent again $round")" = 0 ] || break
done
[ "$MODULE" = stock ] || check "messages were sent again" moved retransmitted 0
reload ours
reload stock
