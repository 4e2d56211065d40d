# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# For scripts on the host that run tests in virtual machines: which tests there are, and running them. What sources this has
# set RESULTS, the array patterns (as in file names; none: all), KERNEL (stock or debug) and the array run_options, for
# qemu/run.sh.

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

# header FILE NAME: what the comments at the head of a guest script say under that name; fails if they say nothing
header() { sed -n -e '/^[^#]/q' -e "s/^# $2: *//p" "$1" | grep .; }

# test_name NAME: those of the debug kernel have names of their own
test_name() { [ "$KERNEL" = stock ] && echo "$1" || echo "$KERNEL/$1"; }

# each_test vm/*.sh|vm2/*/ COMMAND...: COMMAND NAME PATH for each wanted test that is for KERNEL
each_test()
{
	local pattern=$1 area path name script
	shift
	for area in selftests userlib/test tools/test; do
		for path in "$area"/$pattern; do
			[ -e "$path" ] || continue
			script=$path
			[ -f "$path" ] || script=${path}a.sh
			name=${path%.sh}
			name=${name%/}
			name=$(test_name "${name#selftests/}")
			! wanted "$name" || ! for_this_kernel "$script" || "$@" "$name" "$path"
		done
	done
}

# The debug kernel takes too long for everything: without patterns it gets the selftests and what names it.
all_on_debug() { [ ${#patterns[@]} -gt 0 ]; }

for_this_kernel()
{
	local kernels=stock
	! all_on_debug || kernels+=" debug"
	kernels=$(header "$1" kernels || echo "$kernels")
	[[ " $kernels " == *" $KERNEL "* ]]
}

# run NAME RUN.SH-ARGUMENTS: a run that ends without a result must be counted, too.
run()
{
	local name=$1 folder=$RESULTS/${1//\//.}
	shift
	[ "$KERNEL" = stock ] || set -- --debug "$@"
	qemu/run.sh "${run_options[@]}" "$@"
	case $? in
	0 | 3) return ;; # 3: see SOME_FAILED
	esac
	mkdir -p "$folder"
	printf 'fail\t%s\tthe run gave no result\n' "$name" >>"$folder/results"
}

# selftests_part SCRIPT NUMBER PARTS: every PARTS-th of the programs that selftests/Makefile lists
selftests_part()
{
	{
		echo "# timeout: 900"
		echo "cd /rds/selftests"
		make -s --no-print-directory -C selftests list | sed -n "$2~$3s/^/run_tap .\//p"
		echo "true"
	} >"$1"
}

# selftests COMMAND...: COMMAND NAME SCRIPT, where the script runs the selftests' programs; the debug kernel takes so long
# that two scripts run half of them each
selftests()
{
	local name part
	name=$(test_name selftests)
	wanted "$name" || return 0
	if [ "$KERNEL" = stock ]; then
		selftests_part "$RESULTS/selftests.sh" 1 1
		"$@" "$name" "$RESULTS/selftests.sh"
		return
	fi
	for part in 1 2; do
		selftests_part "$RESULTS/debug-selftests-$part.sh" $part 2
		"$@" "$name-$part" "$RESULTS/debug-selftests-$part.sh"
	done
}

one_vm() { selftests "$@"; each_test 'vm/*.sh' "$@"; }
two_vms() { each_test 'vm2/*/' "$@"; }

# Collects NAME=PATH
members=()
member() { members+=("$1=$2"); }

# batch NAME NAME=PATH...
batch() { [ $# = 1 ] || run "$1" --batch --name "$@"; }

# Every test that the patterns name. A boot, and the debug kernel's search for leaks, cost more than many a test: tests share
# machines. One VM leaves a core free most of the time: two run side by side.
vm_tests()
{
	local i odd=() even=()
	members=()
	one_vm member
	for ((i = 0; i < ${#members[@]}; i++)); do
		if ((i % 2)); then odd+=("${members[i]}"); else even+=("${members[i]}"); fi
	done
	batch "$(test_name one-vm-1)" "${even[@]}" &
	batch "$(test_name one-vm-2)" "${odd[@]}" &
	wait
	members=()
	two_vms member
	batch "$(test_name two-vms)" "${members[@]}"
}

# any_vm_test: whether there is anything to do
any_vm_test() { [ -n "$(one_vm echo; two_vms echo)" ]; }
