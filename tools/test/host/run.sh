#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# run.sh DIR: tests of the tools built in DIR that need no RDS in the kernel, as one TAP stream. The scenarios run over
# fake-rds.so, once as they are, once with a file of 4 GiB, once over a link that breaks and fills up all the time, and
# in short over IPv6.
set -u
here=$(cd "$(dirname "$0")" && pwd)
built=$(cd "$1" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/rds-host.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
tests=0 failures=0

# part NAME COMMAND...: its results, renumbered and with NAME in front; a broken plan is a failure of its own
part()
{
	local name=$1 line seen=0 plan=none code=none bad=$failures
	shift
	while read -r line; do
		case $line in
		ok* | "not ok"*)
			seen=$((seen + 1))
			tests=$((tests + 1))
			[ "${line#not}" = "$line" ] || failures=$((failures + 1))
			echo "${line%%ok *}ok $tests - $name: ${line#*ok * - }" ;;
		1..*) plan=${line#1..} ;;
		"exit code "*) code=${line#exit code } ;;
		*) echo "# $line" ;;
		esac
	done < <("$@" 2>&1; echo "exit code $?")
	if [ "$plan" != $seen ] || { [ "$code" != 0 ] && [ "$bad" = $failures ]; }; then
		tests=$((tests + 1))
		failures=$((failures + 1))
		echo "not ok $tests - $name: $seen results, planned: $plan, exit code $code"
	fi
}

# over_fake [VARIABLE=VALUE...] SERVER CLIENT
over_fake()
{
	rm -f "$work/fake"
	env FAKE_RDS="$work/fake" LD_PRELOAD="$built/test/host/fake-rds.so" RDS_TOOLS="$built" TMPDIR="$work" SILENCE=2 LONG=64G \
		"${@:1:$#-2}" "$here/../scenarios.sh" "${@: -2}"
}

no_module()
{
	local out tool
	for tool in "rds-get -o $work/x 127.0.0.1:x" "rds-serve -a 127.0.0.1 $work"; do
		# shellcheck disable=SC2086
		out=$("$built"/$tool 2>&1)
		[ $? = 1 ] && [[ $out == *"module is not loaded"* ]] || printf 'not '
		echo "ok - ${tool%% *} without the kernel module: $out"
	done
	echo 1..2
}

part unit-file "$built/test/unit-file"
part unit-target "$built/test/unit-target"
part no-module no_module
part fake over_fake 127.0.0.1 127.0.0.2
part fake-large over_fake SCENARIOS=large 127.0.0.1 127.0.0.1
part fake-drops over_fake FAKE_RDS_DROP=3 FAKE_RDS_FULL=5 SCENARIOS="sizes clients_together output" 127.0.0.1 127.0.0.1
part fake-ipv6 over_fake SCENARIOS="sizes names terminal" ::1 ::1
echo "1..$tests"
[ $failures = 0 ]
