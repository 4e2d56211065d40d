# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# 100,000 messages of random sizes between two machines, half of them in each direction, while the link goes down and up
# every few seconds, now on one side and now on the other: each arrives once, in order, unchanged. For another number:
# qemu/run.sh --append rig.MESSAGES=5000 selftests/vm2/flap
#
# The time-out is for machines with other things to do; when nothing moves for two minutes, the recorder ends by itself.
#
# timeout: 1200
# debug: MESSAGES=15000
# soak: timeout=3000 MESSAGES=30000
. /rds/selftests/vm2/lib.sh

# Seconds for which the link is down, in turn. A connection survives two seconds, by retransmission on its queue pair.
DOWN=(3 0.3 5 1 4)
UP=4
round=0
flaps=0

# One machine takes the even rounds, the other the odd ones.
flap()
{
	sleep "$UP"
	if [ $((round % 2)) = "$([ "$ROLE" = a ] && echo 0 || echo 1)" ]; then
		link_down
		sleep "${DOWN[round % ${#DOWN[@]}]}"
		link_up
		flaps=$((flaps + 1))
	fi
	round=$((round + 1))
}

# A run without a broken connection would have shown nothing.
connections_broke()
{
	echo "$flaps flaps here, $(counter conn_reset) resets, $(counter retransmitted) messages sent again"
	[ "$(counter conn_reset)" -ge 4 ] && [ "$(counter retransmitted)" -gt 0 ]
}

watch_connections
record $((${MESSAGES:-100000} / 2)) 1100 flap
check "connections broke and messages were sent again" connections_broke
save_connections
