#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# summary.sh RESULTS: sum up every run's results: the failures once more, then the count. Exit code 0 only if nothing
# failed and something passed.
set -u
cat /dev/null "$1"/*/results 2>/dev/null | awk -F '\t' '
	{ count[$1]++ }
	$1 == "fail" { if (count["fail"] == 1) print "\nFailed:"; print "  " $2 ($3 != "" ? " (" $3 ")" : "") }
	END {
		printf "\n%d passed, %d failed", count["pass"], count["fail"]
		printf count["skip"] ? ", %d skipped\n" : "\n", count["skip"]
		exit !(count["pass"] && !count["fail"])
	}'
