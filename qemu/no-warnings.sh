#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# no-warnings.sh COMMAND...: run a build; fail if it fails or warns.
set -o pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log" || exit 1
if grep -E '(^|[ :])(warning|error|WARNING|ERROR):' "$log" >/dev/null; then
	echo "no-warnings: $(grep -cE '(^|[ :])(warning|error|WARNING|ERROR):' "$log") warning(s), the first:" >&2
	grep -m 1 -E '(^|[ :])(warning|error|WARNING|ERROR):' "$log" >&2
	exit 1
fi
