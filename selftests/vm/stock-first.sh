# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The stock family is loaded first: our load fails, says so once, and leaves nothing behind.
#
# modules: none
# alone: loads the stock module
# timeout: 180
. /rds/selftests/lib.sh

ours_is_refused()
{
	if load_rds ours; then
		echo "insmod succeeded beside the stock module"
		return 1
	fi
}

# The kernel's sock_register() says "NET: Registered" even when it refuses: that line is not ours.
one_line_in_the_log()
{
	local lines
	lines=$(dmesg | awk 'seen; /rig: test: our load is refused/ { seen = 1 }' |
		grep -v -e 'rig: test' -e 'NET: Registered PF_RDS')
	echo "$lines"
	[ "$(echo "$lines" | grep -c .)" = 1 ] || return 1
	# it names the family or who has it, and itself
	echo "$lines" | grep -q 'rds_sockets: .*AF_RDS'
}

nothing_left()
{
	shrink_slabs
	traces_of_us >/tmp/after
	diff /tmp/before /tmp/after
}

# The first load ever taints the kernel, which is a line of its own in the log.
check "our module loads alone" load_rds ours
check "our module unloads" unload_rds ours
check "the stock module loads after ours was unloaded" load_rds stock
shrink_slabs
traces_of_us >/tmp/before
check "our load is refused" ours_is_refused
check "one line in the log tells why" one_line_in_the_log
check "the refused load leaves nothing behind" nothing_left
check "a second try is refused, too" ours_is_refused
check "the refused loads leave nothing behind" nothing_left
check "the stock module unloads" unload_rds stock
check "our module loads after the stock one was unloaded" load_rds ours
run_tap /rds/selftests/traffic
