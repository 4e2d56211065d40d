# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What the kernel saw between watch_start and watch_stop: RDS trace events, and RDS counters before and after.

tracing=/sys/kernel/tracing

counters()
{
	/usr/bin/python3 -c 'import json, rds; print(json.dumps(rds.RdmaSocket().counters()))'
}

watch_start()
{
	counters >/tmp/counters.before
	echo 1 >$tracing/events/rds_sockets/enable
	echo >$tracing/trace
}

watch_stop()
{
	echo 0 >$tracing/events/rds_sockets/enable
	cat $tracing/trace >/tmp/trace
	counters >/tmp/counters.after
	save /tmp/trace
	save /tmp/counters.before
	save /tmp/counters.after
}
