#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Run libFuzzer targets and print TAP: a target fails that finds something, or that has run no input.
#
# fuzz.sh SECONDS BUILD TARGET...	SECONDS for each; new inputs go to BUILD/corpus
set -u

seconds=$1 build=$2
shift 2
failed=0 n=0

# AddressSanitizer wants its shadow memory in a place that a host with very random addresses may have given away.
steady=
if setarch -R true 2>/dev/null; then
	steady='setarch -R'
fi

echo "TAP version 13"
echo "1..$#"
for target; do
	n=$((n + 1))
	mkdir -p "$build/corpus/$target"
	$steady "$build/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=20 \
		-print_final_stats=1 -artifact_prefix="$build/crash-$target-" \
		"$build/corpus/$target" "corpus/$target" > "$build/fuzz_$target.log" 2>&1
	code=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz_$target.log")
	if [ $code = 0 ] && [ "${runs:-0}" -gt 0 ]; then
		result=ok
	else
		result='not ok'
		failed=1
		tail -n 50 "$build/fuzz_$target.log" | sed 's/^/# /'
		echo "# exit code $code; an input that fails is kept: run $build/fuzz_$target FILE"
	fi
	echo "$result $n - fuzz.$target: ${runs:-no} runs"
done
exit $failed
