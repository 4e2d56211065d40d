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

for_this_kernel() { [[ " $(header "$1" kernels || echo stock debug) " == *" $KERNEL "* ]]; }

# vm_test NAME PATH: a run that ends without a result must be counted, too.
vm_test()
{
	local name=$1 folder=$RESULTS/${1//\//.}
	shift
	[ "$KERNEL" = stock ] || set -- --debug "$@"
	qemu/run.sh "${run_options[@]}" "$@" && return
	cat "$folder"/results "$folder".*/results 2>/dev/null | grep -q '^fail' && return
	mkdir -p "$folder"
	printf 'fail\t%s\tthe run gave no result\n' "$name" >>"$folder/results"
}

# The programs that selftests/Makefile lists, all in one VM.
selftests()
{
	local script=$RESULTS/selftests.sh name program
	name=$(test_name selftests)
	wanted "$name" || return 0
	{
		echo "# timeout: 900"
		echo "cd /rds/selftests"
		make -s --no-print-directory -C selftests list | while read -r program; do
			echo "run_tap ./$program"
		done
		echo "true"
	} >"$script"
	"$@" "$name" --name "$name" "$script"
}

# One VM leaves a core free most of the time: two such tests run side by side.
beside()
{
	while [ "$(jobs -pr | wc -l)" -ge 2 ]; do
		wait -n
	done
	"$@" &
}

# Every test on KERNEL that the patterns name.
vm_tests()
{
	selftests beside vm_test
	each_test 'vm/*.sh' beside vm_test
	wait
	each_test 'vm2/*/' vm_test
}

# any_vm_test: whether vm_tests has anything to do
any_vm_test() { [ -n "$(selftests echo; each_test 'vm/*.sh' echo; each_test 'vm2/*/' echo)" ]; }
