#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Print a table row for each constant that our <linux/rds.h> or the distribution's defines.
#
# uapi_names.sh OUR_INCLUDE_DIR		(CC: the compiler)
set -eu

# Names of the macros with a value and without parameters that a header leaves defined
constants() {
	${CC:-cc} "$@" -dM -E -x c - | awk 'NF > 2 && $2 !~ /\(/ { print $2 }' | sort
}

base=$(mktemp)
trap 'rm -f "$base"' EXIT
printf '#include <linux/%s>\n' types.h socket.h in6.h sockios.h | constants > "$base"

{
	echo '#include <linux/rds.h>' | constants
	echo '#include <linux/rds.h>' | constants -I"$1"
} | sort -u | comm -13 "$base" - | while read -r name; do
	printf '#ifdef %s\n\tCONSTANT(%s),\n#else\n\tMISSING(%s),\n#endif\n' "$name" "$name" "$name"
done
