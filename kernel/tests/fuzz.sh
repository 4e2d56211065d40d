#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Run libFuzzer targets and print TAP.
#
# fuzz.sh SECONDS BUILD TARGET...	SECONDS for each; new inputs go to BUILD/corpus
set -u

seconds=$1 build=$2
shift 2
failed=0 n=0

echo "TAP version 13"
echo "1..$#"
for target; do
	n=$((n + 1))
	mkdir -p "$build/corpus/$target"
	if "$build/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=20 \
		-print_final_stats=1 -artifact_prefix="$build/crash-$target-" \
		"$build/corpus/$target" "corpus/$target" > "$build/fuzz_$target.log" 2>&1; then
		result=ok
	else
		result='not ok'
		failed=1
		tail -n 50 "$build/fuzz_$target.log" | sed 's/^/# /'
		echo "# the input is kept: run $build/fuzz_$target FILE"
	fi
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz_$target.log")
	echo "$result $n - fuzz.$target: ${runs:-no} runs"
done
exit $failed
