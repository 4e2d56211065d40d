#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# coverage.sh [PATTERN...]: which lines of kernel/ the tests in virtual machines run: all of the debug kernel's, or those
# whose name one of the patterns matches. The report: build/coverage/index.html, table (what is printed), uncovered (the
# lines that never ran).
set -u
cd "$(dirname "$0")/.." || exit 1
top=$PWD
out=$top/build/coverage
module=$out/module
build=$(tools/kernel-env debug)/build
export RESULTS=$out/runs PYTHONDONTWRITEBYTECODE=1
KERNEL=debug
[ $# -gt 0 ] || set -- '*'
patterns=("${@/#/debug/}")
run_options=(--module "$module/kernel")
. qemu/tests.sh

quietly() { "$@" >>"$out/lcov.log" 2>&1 || { tail -n 20 "$out/lcov.log" >&2; exit 1; }; }

# capture FOLDER INFO [OPTION...]: the counts below a folder in lcov's form
capture() { quietly lcov --capture --directory "$1" --output-file "$2" --base-directory "$build" "${@:3}"; }

# guest_counts ARCHIVE INFO: a guest names the files as they are called here, without the notes beside them.
guest_counts()
{
	local folder notes
	folder=$(mktemp -d "$out/guest.XXXXXX")
	tar -xzf "$1" -C "$folder"
	find "$folder" -name '*.gcda' | while read -r file; do
		notes=${file#"$folder"}
		ln -sf "${notes%.gcda}.gcno" "${file%.gcda}.gcno"
	done
	capture "$folder" "$2"
	rm -rf "$folder"
}

merge()
{
	local archive number=0
	local -a adding=()
	rm -f "$out"/*.info "$out/lcov.log"
	capture "$module/kernel" "$out/0.info" --initial
	for archive in "$RESULTS"/*/?.gcov.tgz; do
		[ -e "$archive" ] || continue # a pattern without files
		number=$((number + 1))
		guest_counts "$archive" "$out/$number.info"
	done
	for archive in "$out"/*.info; do
		adding+=(--add-tracefile "$archive")
	done
	quietly lcov "${adding[@]}" --output-file "$out/all"
	quietly lcov --extract "$out/all" "$module/kernel/*" --output-file "$out/ours"
	quietly lcov --remove "$out/ours" "$module/kernel/tests/*" --output-file "$out/kernel.info"
}

# Each line that never ran, with its text
uncovered()
{
	awk -F '[:,]' '
		/^SF:/ { file = $2; number = 0; while ((getline text[++number] <file) > 0); close(file) }
		/^DA:/ && $3 == 0 { printf "%s:%d:%s\n", file, $2, text[$2] }' "$out/kernel.info" | sed "s#^$top/##"
}

report()
{
	sed -i "s#^SF:$module/#SF:$top/#" "$out/kernel.info"
	quietly genhtml --prefix "$top" --output-directory "$out" "$out/kernel.info"
	uncovered >"$out/uncovered"
	lcov --list "$out/kernel.info" 2>/dev/null >"$out/table"
	cat "$out/table"
}

rm -rf "$out/runs"
mkdir -p "$RESULTS"
tools/setup debug build rig coverage || exit 1
make --no-print-directory -s -j"$(nproc)" all || exit 1
qemu/debug-kernel.sh coverage/module GCOV_PROFILE=y || exit 1
vm_tests
merge
report
qemu/summary.sh "$RESULTS"
