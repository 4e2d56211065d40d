# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The kernel's own unit tests, on the debug kernel: the stock kernel has no KUnit. They run while the module loads.
# kernels: debug
# modules: none
# debug: cpus=2
# timeout: 300

# KUnit keeps each suite's results apart, indented by four columns below the line of the suite itself: one list of all of
# them, with what a failed test said in front of its line.
cat >/tmp/kunit <<'END'
#!/bin/bash
awk '
!sub(/^    /, "") { next }
/^# Subtest: / { suite = $3 }
sub(/^1\.\./, "") { plan += $0; next }
/^(not )?ok [0-9]/ { sub(/ok [0-9]+/, "ok " ++n " - " suite ":"); lines[++count] = $0; next }
{ lines[++count] = "# " $0 }
END {
	print "1.." plan
	for (i = 1; i <= count; i++)
		print lines[i]
}' /sys/kernel/debug/kunit/*/results
END
chmod +x /tmp/kunit

check load insmod /rds/kernel/rds_sockets_kunit.ko
run_tap /tmp/kunit
check unload rmmod rds_sockets_kunit
