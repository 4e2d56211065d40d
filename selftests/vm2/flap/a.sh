# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# 100,000 messages of random sizes between two machines, half of them in each direction, while the link goes down and up
# every few seconds, now on one side and now on the other: each arrives once, in order, unchanged. MESSAGES= asks for
# another number.
#
# timeout: 900
. /rds/selftests/vm2/lib.sh

# Seconds for which the link is down, in turn. A connection survives two seconds, by retransmission on its queue pair.
DOWN=(3 0.3 5 1 4)
UP=4

# The machine that is not in turn sleeps on; the other end of the link stays up, as it does when a cable is cut behind it.
flap()
{
	local round=0 mine=0
	[ "$ROLE" = a ] || mine=1
	: >"$FOLDER/flaps"
	while [ ! -e "$FOLDER/enough" ]; do
		sleep "$UP"
		if [ $((round % 2)) = "$mine" ]; then
			ip link set "$NETDEV" down
			sleep "${DOWN[round % ${#DOWN[@]}]}"
			ip link set "$NETDEV" up
			echo "$round" >>"$FOLDER/flaps"
		fi
		round=$((round + 1))
	done
}

# A run without a broken connection would have shown nothing.
connections_broke()
{
	echo "$(wc -l <"$FOLDER/flaps") flaps here, $(counter conn_reset) resets, $(counter retransmitted) messages sent again"
	[ "$(counter conn_reset)" -ge 4 ] && [ "$(counter retransmitted)" -gt 0 ]
}

watch_connections
record $((${MESSAGES:-100000} / 2)) 800 flap
check "connections broke and messages were sent again" connections_broke
save_connections
