#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# run-host.sh [BUILD_FOLDER]: every test of the library that needs no RDS in the kernel, as one stream of TAP.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$(realpath "${1:-.}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0
failed=0

# result CODE NAME
result()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		echo "not ok $count - $2"
	fi
}

# check NAME COMMAND...: it exits with 0
check()
{
	local name=$1
	shift
	"$@" >"$scratch/log" 2>&1
	local code=$?
	[ $code = 0 ] || sed 's/^/# /' "$scratch/log"
	result $code "$name"
}

# tap PROGRAM...: its results, numbered anew; a broken plan or a crash is one more
tap()
{
	local name line seen=0 bad=0 plan=none code
	name=$(basename "$1")
	"$@" >"$scratch/tap" 2>&1
	code=$?
	while IFS= read -r line; do
		case $line in
		"ok "*)
			seen=$((seen + 1))
			result 0 "$name: ${line#* - }" ;;
		"not ok "*)
			seen=$((seen + 1))
			bad=1
			result 1 "$name: ${line#* - }" ;;
		1..*)
			plan=${line#1..} ;;
		*)
			echo "# ${line#\# }" ;;
		esac
	done <"$scratch/tap"
	[ "$plan" = "$seen" ] && [ $code = $bad ]
	result $? "$name: keeps its plan of $plan tests, ends with $code"
}

exported()
{
	nm -D --defined-only "$build/librds.so" | sed -n 's/.* \(rds_[a-z0-9_]*\)@.*/\1/p' | sort
}

declared()
{
	gcc -E -Iinclude -I../uapi include/librds.h | tr -d '\n' | grep -o '\brds_[a-z0-9_]*(' |
		tr -d '(' | sort -u
}

# Names in the NAME sections of the pages
documented()
{
	sed -n '/^\.SH NAME/,/^\.SH SYN/p' man/*.3 | grep -o '\brds_[a-z0-9_]*' | sort -u
}

same_lists() { diff <(exported) <("$1"); }

only_own_names()
{
	! nm -D --defined-only "$build/librds.so" | grep -v ' \(rds_[a-z0-9_]*@@LIBRDS_[0-9.]*\|LIBRDS_[0-9.]*\)$'
}

pages_format()
{
	local page
	for page in man/*.3 man/*.7; do
		groff -man -Tutf8 -ww -z "$page" || return 1
	done 2>&1 | tee "$scratch/groff"
	[ ! -s "$scratch/groff" ]
}

# "man rds_bind" must find something, although the page is called rds_open.
links_resolve()
{
	local name
	for name in $(documented); do
		[ -s "$scratch/root/usr/share/man/man3/$name.3" ] || { echo "no page $name"; return 1; }
	done
}

builds() { make -s O="$scratch/$1" CFLAGS="-O2 -g -Werror" "${@:2}" all; }

# The unit tests once more, with the compiler watching memory and arithmetic.
sanitized()
{
	local program
	make -s O="$scratch/sanitized" CFLAGS="-g -O1 -fsanitize=address,undefined -fno-sanitize-recover" unit || return 1
	for program in "$scratch"/sanitized/test/unit-*; do
		"$program" >"$scratch/tap" 2>&1 && continue
		grep -v '^ok ' "$scratch/tap"
		return 1
	done
}

installs()
{
	make -s O="$build" DESTDIR="$scratch/root" prefix=/usr install &&
		test -e "$scratch/root/usr/lib/librds.so.0" &&
		test -e "$scratch/root/usr/share/man/man3/rds_open.3" &&
		test -e "$scratch/root/usr/share/man/man7/librds.7"
}

# As a user does it: nothing but what was installed, and the distribution's <linux/rds.h>.
installed()
{
	PKG_CONFIG_PATH=$scratch/root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$scratch/root "$@"
}

example_compiles()
{
	# shellcheck disable=SC2046
	gcc -Wall -Wextra -Werror "examples/$1.c" -o "$scratch/$1" $(installed pkg-config --cflags --libs librds)
}

example_says()
{
	local text
	text=$(LD_LIBRARY_PATH=$scratch/root/usr/lib "$scratch/$1" "${@:3}" 2>&1)
	echo "$text"
	[[ $text == *"$2"* ]]
}

# Statements as a reader counts them: semicolons outside declarations, and if, for, while.
statements()
{
	awk '/^(static|int).*\)$/ { body = 1 }
		body && /;/ && !/^\t(int|char|static|struct|uint64_t|ssize_t) / { n++ }
		END { print n }' "examples/$1.c"
}

few_statements()
{
	local n
	n=$(statements "$1")
	echo "$n statements"
	[ "$n" -le 12 ]
}

# Each of the talk's sides: at most six lines after the imports.
few_lines()
{
	local n
	n=$(sed '1,/^$/d' "examples/$1.py" | grep -c .)
	echo "$n lines"
	[ "$n" -le 6 ]
}

python_installed()
{
	RDS_LIBRARY=$scratch/root/usr/lib/librds.so.0 \
		PYTHONPATH=$scratch/root/usr/lib/python3/dist-packages /usr/bin/python3 -c "
import rds, sys
print(rds.__file__, rds.version())
sys.exit(not rds.__file__.startswith('$scratch'))"
}

cxx() { echo '#include <librds.h>' | g++ -Wall -Wextra -Werror -Iinclude "$@" -fsyntax-only -x c++ -; }

for program in "$build"/test/unit-*; do
	[ -x "$program" ] && [ -z "${program##*unit-[a-z]*}" ] && [[ $program != *.c ]] && tap "$program"
done
tap python/test_rds.py --tap StandIn
check "symbols: exported and declared are the same" same_lists declared
check "symbols: each has a manual page" same_lists documented
check "symbols: nothing else is exported" only_own_names
check "manual: formats without warnings" pages_format
check "builds elsewhere without warnings" builds own
check "builds with the distribution's header" builds distribution UAPI=
check "unit tests under ASan and UBSan" sanitized
check "header: C++, ours" cxx -I../uapi
check "header: C++, the distribution's" cxx
check "installs" installs
check "manual: a page for each name" links_resolve
for example in fetch-client fetch-server; do
	check "$example: compiles alone" example_compiles "$example"
	check "$example: says how to use it" example_says "$example" "usage: $example"
	check "$example: at most 12 statements" few_statements "$example"
done
check "fetch-client: says what is wrong" example_says fetch-client "write ADDR" nonsense:port 127.0.0.1:1
for example in talk_client talk_server; do
	check "$example: at most 6 lines" few_lines "$example"
done
check "python: works from where it is installed" python_installed
echo "1..$count"
[ $failed = 0 ]
