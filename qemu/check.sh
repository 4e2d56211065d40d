#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# check.sh [PATTERN...]: set up, build and run every test, or those whose name one of the patterns (as in file names)
# matches. Ends with the line "N passed, N failed[, N skipped]"; exit code 0 only if nothing failed and something passed.
# The names are: build, W1, backports, unit/AREA, rig, selftests, vm/NAME, vm2/NAME, demo.
set -u
cd "$(dirname "$0")/.." || exit 1
export RESULTS=${RESULTS:-$PWD/build/check} PYTHONDONTWRITEBYTECODE=1
patterns=("$@")

wanted()
{
	local pattern
	[ ${#patterns[@]} -gt 0 ] || return 0
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 == $pattern ]] && return 0
	done
	return 1
}

host_test() { /usr/bin/python3 qemu/hosttest.py "$@"; }

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
}

# vm_test NAME RUN.SH-ARGUMENTS: a run that ends without a result must be counted, too.
vm_test()
{
	local name=$1 folder
	shift
	qemu/run.sh "$@" && return
	folder=$RESULTS/${name//\//.}
	cat "$folder"/results "$folder".*/results 2>/dev/null | grep -q '^fail' && return
	mkdir -p "$folder"
	printf 'fail\t%s\tthe run gave no result\n' "$name" >>"$folder/results"
}

# The programs that selftests/Makefile lists, all in one VM.
selftests()
{
	local script=$RESULTS/selftests.sh program
	{
		echo "# timeout: 900"
		echo "cd /rds/selftests"
		make -s --no-print-directory -C selftests list | while read -r program; do
			echo "run_tap ./$program"
		done
		echo "true"
	} >"$script"
	vm_test selftests --name selftests "$script"
}

# each_test vm/*.sh|vm2/*/ COMMAND...: COMMAND NAME PATH for each wanted test
each_test()
{
	local pattern=$1 area path name
	shift
	for area in selftests userlib/test tools/test; do
		for path in "$area"/$pattern; do
			[ -e "$path" ] || continue
			name=${path%.sh}
			name=${name%/}
			name=${name#selftests/}
			! wanted "$name" || "$@" "$name" "$path"
		done
	done
}

# One VM leaves a core free most of the time: two such tests run side by side.
beside()
{
	while [ "$(jobs -pr | wc -l)" -ge 2 ]; do
		wait -n
	done
	"$@" &
}

vm_tests()
{
	! wanted rig || beside host_test --tap rig /usr/bin/python3 qemu/test/rig.py
	! wanted selftests || beside selftests
	each_test 'vm/*.sh' beside vm_test
	wait
	each_test 'vm2/*/' vm_test
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
vm_tests
! wanted demo || host_test demo make demo
stop
