# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What the VM scripts of the selftests share: looking at what a module leaves behind.

# Slab caches of our module with their objects in use, one "name number" per line.
our_slabs() { awk '$1 ~ /^(rds_sockets_|RDS)/ { print $1, $2 }' /proc/slabinfo; }

# Objects on per-CPU lists count as used until the caches are shrunk.
shrink_slabs()
{
	local cache
	for cache in /sys/kernel/slab/rds_sockets_* /sys/kernel/slab/RDS*; do
		[ -w "$cache/shrink" ] && echo 1 >"$cache/shrink"
	done
	return 0
}

# How many objects of each kind the RDMA stack holds: pd, cq, qp, cm_id, mr, srq.
rdma_objects() { rdma resource show 2>/dev/null; }

module_loaded() { [ -d /sys/module/rds_sockets ]; }

# Everything that a module may forget, in a form that can be compared.
traces_of_us()
{
	lsmod | grep '^rds_sockets'
	our_slabs
	ls -d /sys/kernel/tracing/events/rds* /proc/net/rds /proc/sys/net/rds /sys/kernel/debug/rds* 2>/dev/null
	grep -w RDS /proc/net/protocols
	rdma_objects
	return 0
}

# Let faults be injected that waiting would not help against, page by page, and in silence: the traces of
# injected faults would pass for splats. None comes by itself; probabilities and /proc/PID/fail-nth are the test's.
enable_faults()
{
	local kind
	for kind in failslab fail_page_alloc fail_usercopy; do
		echo 0 >"/sys/kernel/debug/$kind/verbose" || return
	done
	echo N >/sys/kernel/debug/failslab/ignore-gfp-wait || return
	echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait || return
	echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem || return
	echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
}

# start_stress_server ADDR: selftests/clients/stress, which serves at port 4000 there
start_stress_server()
{
	rm -f /tmp/stress.log
	selftests/clients/stress "$1" 4000 >/tmp/stress.log 2>&1 &
	STRESS_SERVER=$!
	check "server of stress at $1 is ready" wait_for 120 grep -q serving /tmp/stress.log
}

# It gives up when anything goes wrong.
end_stress_server() { check "server of stress at $1 served to the end" kill "$STRESS_SERVER" || cat /tmp/stress.log; }
