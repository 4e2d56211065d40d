#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# check.sh [PATTERN...]: set up, build and run every test, or those whose name one of the patterns (as in file names)
# matches. Ends with the line "N passed, N failed[, N skipped]"; exit code 0 only if nothing failed and something passed.
# The names are: build, W1, backports, unit/AREA, rig, selftests, vm/NAME, vm2/NAME, demo; and for the debug kernel
# debug/build, debug/rig, debug/selftests, debug/vm/NAME, debug/vm2/NAME.
set -u
cd "$(dirname "$0")/.." || exit 1
export RESULTS=${RESULTS:-$PWD/build/check} PYTHONDONTWRITEBYTECODE=1
# for each of the targets; what they look for longer is "make fuzz"
FUZZ_SECONDS=3
patterns=("$@")
run_options=()
. qemu/tests.sh

stop()
{
	qemu/summary.sh "$RESULTS"
	exit
}

# unit_test AREA TARGET: tests that need no kernel of ours; they speak TAP
unit_test()
{
	if wanted "unit/$1" && [ -f "$1/Makefile" ]; then
		host_test --tap "unit/$1" make -s --no-print-directory -C "$1" "$2"
	fi
}

unit_tests()
{
	unit_test kernel/tests unit
	unit_test userlib check
	unit_test tools check
	unit_test selftests check
	! wanted unit/qemu || host_test --tap unit/qemu /usr/bin/python3 qemu/test/unit.py
	! wanted unit/fuzz || host_test --tap unit/fuzz make -s --no-print-directory fuzz SECONDS="$FUZZ_SECONDS"
}

on_stock_kernel()
{
	KERNEL=stock
	! wanted rig || host_test --tap rig /usr/bin/python3 qemu/test/rig.py
	vm_tests
	! wanted demo || host_test demo make demo
}

# The kernel is built the first time, which takes both cores: not beside other tests.
on_debug_kernel()
{
	KERNEL=debug
	any_vm_test || { all_on_debug && wanted debug/rig; } || return
	host_test debug/build make debug-kernel || return
	! all_on_debug || ! wanted debug/rig || host_test --tap debug/rig /usr/bin/python3 qemu/test/rig.py --debug
	vm_tests
}

rm -rf "$RESULTS"
mkdir -p "$RESULTS"

if [ "${patterns[*]}" = unit ]; then
	patterns=('unit/*')
	unit_tests
	stop
fi

tools/setup || exit 1
host_test build make -j"$(nproc)" all || stop
! wanted W1 || host_test W1 make -j"$(nproc)" W1
! wanted backports || host_test backports make -j"$(nproc)" module-backports
unit_tests
on_stock_kernel
on_debug_kernel
stop
