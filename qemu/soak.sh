#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# soak.sh MINUTES [PATTERN...]: run the tests that have a "# soak:" line in their header, or those of them whose name one of
# the patterns (as in file names) matches, on the debug kernel, over and over with new seeds, until the time is up or one
# fails. A run that has begun is ended: it counts.
set -u
cd "$(dirname "$0")/.." || exit 1
export RESULTS=${RESULTS:-$PWD/build/soak} PYTHONDONTWRITEBYTECODE=1
KERNEL=debug
minutes=$1
shift
patterns=("${@/#/debug/}")
. qemu/tests.sh

# What make check leaves out on the debug kernel may have a "# soak:" line.
for_this_kernel() { true; }

paths=()
collect()
{
	local script=$2
	[ -f "$script" ] || script=$2/a.sh
	! header "$script" soak >/dev/null || paths+=("$2")
}

# Thirty bits, as every shell and C program can hold.
new_seed() { echo $(($(od -An -N4 -tu4 /dev/urandom) & 0x3fffffff)); }

# soak PATH: one run; its logs replace those of the run before
soak()
{
	local seed command
	seed=$(new_seed)
	command="qemu/run.sh --debug --soak --seed $seed ${1%/}"
	runs=$((runs + 1))
	echo "# run $runs, minute $(((SECONDS - began) / 60)) of $minutes: $command"
	$command && return
	echo "soak: run $runs failed; the same again: $command"
	return 1
}

tools/setup build rig debug || exit 1
make --no-print-directory -s -j"$(nproc)" all debug-kernel || exit 1
each_test 'vm/*.sh' collect
each_test 'vm2/*/' collect
if [ ${#paths[@]} = 0 ]; then
	echo "soak: no test has a '# soak:' line"
	exit 1
fi

runs=0 began=$SECONDS
end=$((began + 60 * minutes))
while [ $SECONDS -lt $end ]; do
	for path in "${paths[@]}"; do
		[ $SECONDS -lt $end ] || break
		soak "$path" || exit 1
	done
done
echo "soak: $runs runs of ${#paths[@]} tests in $(((SECONDS - began) / 60)) minutes without a finding"
