# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Our module and the distribution's, each on either machine: messages, pings, RDMA and congestion with either side asking;
# keys of ours that the stock module uses; many messages in both directions.
#
# kernels: stock
# modules: ours stock
# modules: stock ours
# timeout: 1200
. /rds/selftests/vm2/lib.sh

OURS=a
[ "$ROLE $MODULE" != "a stock" ] && [ "$ROLE $MODULE" != "b ours" ] || OURS=b

# What our module sends, compared with what stock ones do.
capture()
{
	tcpdump -Z root -i "$NETDEV" -B 65536 -s 0 -U -w /tmp/frames.pcap udp port 4791 2>/tmp/tcpdump.log &
	tcpdump=$!
	wait_for 120 grep -q listening /tmp/tcpdump.log
}

# What was asked for last may be answered after the one who asked has ended.
nothing_more_comes()
{
	local size
	size=$(stat -c %s /tmp/frames.pcap)
	sleep 1
	[ "$size" = "$(stat -c %s /tmp/frames.pcap)" ]
}

capture_is_whole()
{
	wait_for 60 nothing_more_comes
	kill -INT "$tcpdump"
	wait "$tcpdump"
	cat /tmp/tcpdump.log
	grep -q '^0 packets dropped by kernel' /tmp/tcpdump.log
}

[ "$MODULE" = stock ] || check "capture starts" capture
ask a vm2_interop
ask b vm2_interop
if [ "$MODULE" = ours ]; then
	check "capture is whole" capture_is_whole
	run_tap selftests/vm2/frames.py /tmp/frames.pcap "$MY_ADDR" "$MY_ADDR6"
fi
ask $OURS vm2_cold
record 1000 300
