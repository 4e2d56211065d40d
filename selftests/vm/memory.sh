# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Messages and RDMA operations in both directions while one allocation in a hundred fails, of slab memory as of pages: of the
# programs on 127.0.0.1 and of the workers, then of the programs over soft-RoCE, where they do the devices' work, too, and
# connections break. What a call refuses is told to its caller; everything else arrives once memory is there again: each
# message once, in order, unchanged; each notification comes; nothing stays pinned or registered.
#
# kernels: debug
# timeout: 700
# soak: timeout=1500 SECONDS_OF_FAULTS=300
. /rds/selftests/lib.sh

KINDS=(/sys/kernel/debug/failslab /sys/kernel/debug/fail_page_alloc)
LEFT=1000000000

counter() { selftests/vm2_counter "$1"; }

# start NAME MY-ADDRESS PEER-ADDRESS: a recorder; its results are named after NAME
start()
{
	ln -sf /rds/selftests/recorder "/tmp/$1"
	mkdir "/tmp/$1.folder"
	run_tap "/tmp/$1" -o -m 0 "/tmp/$1.folder" "$2" "$3" &
}

# turn SECONDS NAME FILE NEXT-FILE: when both recorders have created FILE, let them go on
turn()
{
	local i
	for i in 1 2; do
		wait_for "$1" test -e "/tmp/$2.$i.folder/$3" || return
	done
	touch "/tmp/$2".{1,2}".folder/$4"
}

received_more_than() { [ "$(counter recv_delivered)" -gt "$1" ]; }

# fail_allocations PROCESS...: one in a hundred, of these alone
fail_allocations()
{
	local process kind
	for process; do
		# a worker may have gone
		echo 1 2>/dev/null >"/proc/$process/make-it-fail"
	done
	for kind in "${KINDS[@]}"; do
		echo Y >"$kind/task-filter" && echo 1 >"$kind/interval" && echo $LEFT >"$kind/times" &&
			echo 1 >"$kind/probability" || return
	done
}

no_more_failures()
{
	local process kind
	for kind in "${KINDS[@]}"; do
		echo 0 >"$kind/probability"
	done
	for process; do
		echo 0 2>/dev/null >"/proc/$process/make-it-fail"
	done
}

# A run with hardly any would have shown nothing.
allocations_failed()
{
	local slab pages
	slab=$((LEFT - $(cat "${KINDS[0]}/times")))
	pages=$((LEFT - $(cat "${KINDS[1]}/times")))
	echo "failed: $slab allocations of slab memory, $pages of pages"
	[ "$slab" -ge 20 ] && [ "$pages" -ge 1 ]
}

nothing_is_held()
{
	[ "$(counter pinned_bytes)" = "$(counter unpinned_bytes)" ] && [ "$(counter mr_registered)" = "$(counter mr_revoked)" ]
}

# workers: those that the module's queues use
workers() { grep -l '^kworker/u' /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3; }

# under_faults NAME ADDRESS ADDRESS [PROCESS...]: between the two addresses, while allocations of both recorders and of
# PROCESSes fail
under_faults()
{
	local name=$1 before
	before=$(counter recv_delivered)
	start "$1.1" "$2" "$3"
	start "$1.2" "$3" "$2"
	shift 3
	check "$name: recorders start" turn 300 "$name" ready start
	check "$name: messages arrive" wait_for 300 received_more_than $((before + 100))
	# shellcheck disable=SC2046
	set -- "$@" $(pidof "$name.1" "$name.2")
	check "$name: allocations fail" fail_allocations "$@"
	sleep "${SECONDS_OF_FAULTS:-30}"
	no_more_failures "$@"
	check "$name: many failed" allocations_failed
	touch "/tmp/$name".{1,2}.folder/enough
	turn 300 "$name" received end || touch "/tmp/$name".{1,2}.folder/end
	wait
	check "$name: nothing is held" wait_for 120 nothing_is_held
}

check "faults can be injected" enable_faults
# shellcheck disable=SC2046
under_faults loopback 127.0.0.1 127.0.0.2 $(workers)
under_faults rxe "$MY_ADDR" "$PEER_ADDR"
