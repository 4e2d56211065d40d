# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The kernel's own unit tests, on the debug kernel: the stock kernel has no KUnit. They run while the module loads.
# kernels: debug
# modules: none
# timeout: 120

# KUnit keeps each suite's results apart, indented by four columns below the line of the suite itself.
kunit_suite()
{
	local program=/tmp/${1//-/_}
	printf '#!/bin/bash\nsed -n "s/^    //p" %q\n' "/sys/kernel/debug/kunit/$1/results" >"$program"
	chmod +x "$program"
	run_tap "$program"
}

check load insmod /rds/kernel/rds_sockets_kunit.ko
for suite in /sys/kernel/debug/kunit/*/; do
	kunit_suite "$(basename "$suite")"
done
check unload rmmod rds_sockets_kunit
