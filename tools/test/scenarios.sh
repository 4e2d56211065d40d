#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# scenarios.sh SERVER CLIENT: rds-serve on one address and rds-get from another, through success and every failure that
# a user can meet. Both run here; addresses without port, IPv6 ones bare. Speaks TAP.
#
# LONG is the size of the sparse file in whose transfer things happen: so large that it is never over before they have.
# SILENCE is how many seconds of it rds-get bears.
set -u
tools=${RDS_TOOLS:-$(cd "$(dirname "$0")/.." && pwd)}
server=$1 client=$2
long=${LONG:-6G} silence=${SILENCE:-5}
work=$(mktemp -d "${TMPDIR:-/tmp}/rds-tools.XXXXXX")
tests=0 failures=0 server_pid='' client_pid=''
case $server in
*:*) host="[$server]" ;;
*) host=$server ;;
esac

cleanup()
{
	local pid
	for pid in $server_pid $client_pid; do
		kill -CONT "$pid" 2>/dev/null
		kill -KILL "$pid" 2>/dev/null
	done
	cd /
	rm -rf "$work"
}
trap cleanup EXIT

# result CODE NAME [REASON]
result()
{
	tests=$((tests + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tests - $2"
	else
		failures=$((failures + 1))
		sed 's/^/# /' get.err get.out serve.log 2>/dev/null | tail -n 15
		[ -z "${3:-}" ] || echo "# $3"
		echo "not ok $tests - $2"
	fi
}

wait_for()
{
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# --- server ---------------------------------------------------------------------------------------------------------

# start_server [OPTION...]: with $as in front of it, e.g. to change the user
as=()
start_server()
{
	: >serve.log
	"${as[@]}" "$tools/rds-serve" -v -a "$host:4460" "$@" srv >serve.out 2>serve.log &
	server_pid=$!
	wait_for 30 grep -qs serving serve.out || result 1 "start the server"
}

# stop_server [SIGNAL]: its exit code
stop_server()
{
	local code
	kill "-${1:-TERM}" "$server_pid"
	wait "$server_pid" 2>/dev/null
	code=$?
	server_pid=''
	return $code
}

# --- client ---------------------------------------------------------------------------------------------------------

get() { "${as[@]}" "$tools/rds-get" -I "$client" "$@" >get.out 2>get.err; }

left_over() { find out -mindepth 1 ! -name keep; }

# refuse NAME CODE SENTENCE RDS-GET-ARGUMENTS...: it must fail so, say so, and leave nothing behind
refuse()
{
	local name=$1 want=$2 sentence=$3 code left
	shift 3
	get "$@"
	code=$?
	left=$(left_over)
	[ $code = "$want" ] && [ -z "$left" ] && grep -Eq "rds-get: .*($sentence)" get.err
	result $? "$name" "exit code $code, expected $want; left over: '$left'; expected to read: $sentence"
}

# fetch NAME FILE OPTION...: it must arrive whole, with the copies accounted for
fetch()
{
	local name=$1 file=$2 size copied=0
	shift 2
	size=$(stat -L -c %s "srv/$file")
	case $server in
	127.* | ::1) copied=$size ;;
	esac
	get "$@" -o out/x "$host:$file" && cmp -s "srv/$file" out/x &&
		grep -q "^out/x: $size bytes" get.out &&
		grep -q "^SHA-256.*: $(sha256sum <"srv/$file" | cut -d ' ' -f 1)$" get.out &&
		grep -q "^copied by the CPU in RDS: $copied bytes of the file" get.out
	result $? "$name"
	rm -f out/x
}

# start_client: fetch the long file in the background; the first bytes are there when this returns
start_client()
{
	rm -f srv/long get.err
	truncate -s "$long" srv/long
	"$tools/rds-get" -v -I "$client" -t "$silence" -o out/x "$host:long" >get.out 2>get.err &
	client_pid=$!
	wait_for 60 grep -qs RDMA-written get.err
}

# end_client NAME CODE SENTENCE: how the one in the background must end
end_client()
{
	local code left
	wait "$client_pid" 2>/dev/null
	code=$?
	client_pid=''
	left=$(left_over)
	[ $code = "$2" ] && [ -z "$left" ] && grep -Eq "rds-get: .*($3)" get.err
	result $? "$1" "exit code $code, expected $2; left over: '$left'; expected to read: $3"
}

# --- what is served -------------------------------------------------------------------------------------------------

random_file() { head -c "$2" /dev/urandom >"srv/$1"; }

make_files()
{
	local size
	mkdir -p srv/sub/deep srv/closed out outside
	for size in 0 1 4095 4096 4097 1048576 1048577; do
		random_file "size-$size" $size
	done
	random_file small 10
	random_file big 8388611
	random_file sub/deep/file 5000
	random_file 'name with spaces: and colons' 100
	random_file secret 100
	random_file closed/file 100
	echo outside >outside/file
	ln -s sub/deep/file srv/link-inside
	ln -s ../outside/file srv/link-outside
	ln -s "$work/srv/small" srv/link-absolute
	ln -s link-loop srv/link-loop
	ln -s /proc/self/cwd srv/link-proc
	ln -s ../outside srv/link-folder
	ln -s nothing srv/link-dangling
	mkfifo srv/pipe
	chmod 000 srv/secret srv/closed
	# at the start, so that the digest need not be of gigabytes
	truncate -s 5G srv/sparse
	printf 'beyond four gigabytes' | dd of=srv/sparse bs=1 seek=4831838208 conv=notrunc status=none
}

# --- the scenarios --------------------------------------------------------------------------------------------------

test_sizes()
{
	local size
	for size in 0 1 4095 4096 4097 1048576 1048577; do
		fetch "a file of $size bytes" size-$size
	done
	fetch "a file of 8 MiB and a bit" big
	fetch "one window of 4 KiB" size-1048577 -w 1 -s 4
	fetch "16 windows of 64 KiB" big -w 16 -s 64
	fetch "a file in a folder of a folder" sub/deep/file
	fetch "a name with spaces and colons" 'name with spaces: and colons'
	fetch "a symbolic link within the folder" link-inside
}

# As on a disk image: all but nothing in it, and larger than 32 bits can tell.
test_large()
{
	truncate -s 4G srv/large
	printf 'the end' >>srv/large
	get -t 60 -o out/x "$host:large" && [ "$(stat -c %s out/x)" = 4294967303 ] &&
		[ "$(tail -c 7 out/x)" = "the end" ] && [ "$(stat -c %b out/x)" -lt 10000 ]
	result $? "a file of 4 GiB and a bit, with a hole"
	rm srv/large out/x
}

test_all_addresses()
{
	stop_server
	"$tools/rds-serve" srv >serve.out 2>serve.log &
	server_pid=$!
	wait_for 30 grep -qs "serving.* $host:4460" serve.out
	result $? "without -a, the server listens on every address"
	fetch "and serves there" small
	stop_server
	start_server
}

test_clients_together()
{
	local i code=0 pids=()
	for i in 1 2 3 4; do
		"$tools/rds-get" -q -I "$client" -o out/$i "$host:big" 2>get.err &
		pids+=($!)
	done
	for i in 1 2 3 4; do
		wait "${pids[i - 1]}" && cmp srv/big out/$i || code=1
	done
	result $code "four clients together"
	rm -f out/*
}

test_names()
{
	refuse "a missing file" 3 "no such file" -o out/x "$host:nothing"
	refuse "a file below a file" 3 "no such file" -o out/x "$host:small/x"
	refuse "a dangling link" 3 "no such file" -o out/x "$host:link-dangling"
	refuse "a directory" 3 "is a directory" -o out/x "$host:sub"
	refuse "the folder itself" 3 "is a directory" -o out/x "$host:."
	refuse "a pipe" 3 "not a regular file" -o out/x "$host:pipe"
	refuse "dot dot" 3 "leads out" -o out/x "$host:.."
	refuse "a name above the folder" 3 "leads out" -o out/x "$host:../outside/file"
	refuse "a name through the folder and out" 3 "leads out" -o out/x "$host:sub/../../outside/file"
	refuse "an absolute name" 3 "leads out" -o out/x "$host:/etc/passwd"
	refuse "a link that leaves the folder" 3 "leads out" -o out/x "$host:link-outside"
	refuse "a folder link that leaves the folder" 3 "leads out" -o out/x "$host:link-folder/file"
	refuse "an absolute link" 3 "leads out" -o out/x "$host:link-absolute"
	refuse "a link to /proc" 3 "leads out|cannot be followed" -o out/x "$host:link-proc/srv/small"
	refuse "a link to itself" 3 "cannot be followed" -o out/x "$host:link-loop"
	refuse "a name that is too long" 3 "no file can have" -o out/x "$host:$(printf 'n%.0s' {1..300})"
}

test_output()
{
	echo kept >out/keep
	refuse "OUT that exists" 6 "exists already" -o out/keep "$host:small"
	[ "$(cat out/keep)" = kept ]
	result $? "it is kept"
	refuse "a failed fetch with --force" 3 "no such file" -f -o out/keep "$host:nothing"
	[ "$(cat out/keep)" = kept ]
	result $? "it is kept, too"
	get -f -o out/keep "$host:small" && cmp -s srv/small out/keep
	result $? "--force replaces it"
	rm out/keep
	refuse "OUT that is a directory" 6 "is a directory" -o out "$host:small"
	refuse "OUT in a missing folder" 6 "No such file or directory" -o out/none/x "$host:small"
	(cd out && "$tools/rds-get" -q -I "$client" "$host:sub/deep/file") &&
		cmp -s srv/sub/deep/file out/file
	result $? "OUT by default is the last part of the name"
	rm -f out/*
	(umask 027; "$tools/rds-get" -q -I "$client" -o out/x "$host:small") && [ "$(stat -c %a out/x)" = 640 ]
	result $? "OUT has the mode that the umask gives"
	rm -f out/*
	(ulimit -f 1024; "$tools/rds-get" -I "$client" -o out/x "$host:big" >get.out 2>get.err)
	[ $? = 6 ] && [ -z "$(left_over)" ] && grep -q "too large" get.err
	result $? "OUT over the limit on files"
}

# A file system of 2 MiB, where the kernel lets us have one.
test_full_disk()
{
	mkdir small-disk
	mount -t tmpfs -o size=2m tmpfs small-disk 2>/dev/null || return 0
	refuse "a full disk" 6 "no room left" -o small-disk/x "$host:big"
	[ -z "$(ls -A small-disk)" ]
	result $? "nothing is left on it"
	umount small-disk
}

# As another user, who may not read everything.
test_unprivileged()
{
	local bytes count size file
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --)
	"${as[@]}" true || return	# not root ourselves
	stop_server
	chmod 755 "$work"
	chmod 777 "$work/out"
	start_server
	fetch "an unprivileged server and client" big
	refuse "a file that the server may not read" 3 "no permission" -o out/x "$host:secret"
	refuse "a folder that the server may not enter" 3 "no permission" -o out/x "$host:closed/file"
	refuse "OUT where the user may not write" 6 "Permission denied" -o x "$host:small"
	while read -r bytes count size file; do
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all -- prlimit --memlock="$bytes" --)
		fetch "a limit of $bytes bytes on locked memory" "$file"
		grep -q "using $count windows of $size KiB" get.err
		result $? "it says that windows are smaller" "$(cat get.err)"
	done <<-'END'
		65536 4 16 big
		4096 1 4 size-1048577
	END
	as[7]=--memlock=0
	refuse "no locked memory at all" 1 "ulimit -l" -o out/x "$host:small"
	as=()
	stop_server
	start_server
}

test_midway()
{
	local other

	start_client
	kill -TERM "$client_pid"
	end_client "the client is interrupted" 143 "interrupted"
	fetch "the server then serves others" small

	start_client
	kill -KILL "$client_pid"
	wait "$client_pid" 2>/dev/null
	rm -f out/.rds-get.part-*
	fetch "the client is killed, the server serves others" big

	start_client
	"$tools/rds-get" -q -I "$client" -w 2 -s 16 -o out/y "$host:big" 2>get.err &
	other=$!
	kill -KILL "$client_pid"
	wait "$client_pid" 2>/dev/null
	wait $other && cmp -s srv/big out/y
	result $? "the client is killed while another one of this host fetches"
	rm -f out/y out/.rds-get.part-*

	start_client
	truncate -s 1000 srv/long
	end_client "the file becomes shorter" 5 "became shorter"

	start_client
	echo more >>srv/long
	end_client "the file becomes longer" 5 "was changed"

	start_client
	printf x | dd of=srv/long bs=1 seek=100 conv=notrunc status=none
	end_client "the file is written to" 5 "was changed"
	truncate -s 0 srv/long

	start_client
	rm srv/long
	kill -TERM "$client_pid"
	end_client "the file is removed, which does not matter" 143 "interrupted"
}

test_server_ends()
{
	start_client
	stop_server
	[ $? = 0 ]
	result $? "the server ends by SIGTERM with exit code 0"
	end_client "and tells its client" 4 "was ended|fell silent"
	start_server
	start_client
	stop_server KILL
	end_client "the server is killed" 4 "fell silent"
	refuse "no server" 4 "no answer.*is rds-serve running" -t 1 -o out/x "$host:small"
	start_server
	start_client
	kill -STOP "$server_pid"
	end_client "the server hangs" 4 "fell silent"
	kill -CONT "$server_pid"
	fetch "and serves again when it is back" small
	start_client
	stop_server KILL
	start_server
	end_client "the server is restarted" 4 "restarted|fell silent"
	stop_server
	"$tools/rds-get" -q -I "$client" -o out/x "$host:small" 2>get.err &
	client_pid=$!
	start_server
	wait "$client_pid" && cmp -s srv/small out/x
	result $? "the server starts after the client"
	client_pid=''
	rm -f out/x
}

test_limits()
{
	stop_server
	start_server -c 1 -t 2
	start_client
	get -o out/y "$host:small"
	[ $? = 3 ] && grep -q "no room for another client" get.err
	result $? "one client too many"
	kill -KILL "$client_pid"
	wait "$client_pid" 2>/dev/null
	client_pid=''
	rm -f out/.rds-get.part-*
	wait_for 30 grep -q "forgotten\|is gone or misbehaves" serve.log
	result $? "a client that vanished is forgotten"
	fetch "and makes room for others" small
	stop_server
	start_server
}

test_usage()
{
	refuse "no argument" 2 "argument"
	refuse "no file" 2 "not HOST" "$host:"
	refuse "an unknown option" 2 "invalid option" -Z "$host:x" 2>/dev/null
	refuse "no windows" 2 "1 to 16" -w 0 "$host:x"
	refuse "a window too large" 2 "4 to 1024" -s 1025 "$host:x"
	refuse "an unknown host" 2 "no.such.host.invalid.*not known|name server" no.such.host.invalid:x
	"$tools/rds-serve" /nonexistent 2>get.err
	[ $? = 2 ] && grep -q "cannot serve" get.err
	result $? "a server without its folder"
	"$tools/rds-serve" -a "$host:4460" srv 2>get.err
	[ $? = 1 ] && grep -q "another RDS socket has this address" get.err
	result $? "two servers on one port"
	"$tools/rds-serve" -a 203.0.113.1 srv 2>get.err
	[ $? = 1 ] && grep -q "cannot listen" get.err
	result $? "a server on an address that is not here"
}

# What a person sees who sits at a terminal.
test_terminal()
{
	python3 - "$tools/rds-get" -I "$client" -o out/x "$host:big" >get.out 2>get.err <<-'END'
		import pty, sys
		sys.exit(pty.spawn(sys.argv[1:]) >> 8)
	END
	[ $? = 0 ] && grep -q "100 %  8.0 MiB of 8.0 MiB" get.out
	result $? "progress on a terminal"
	rm -f out/x
	get -o out/x "$host:big" && [ ! -s get.err ]
	result $? "and nowhere else"
	rm -f out/x
	get -v -o out/x "$host:big" && grep -Fq "asks $host:4460 for 'big'" get.err &&
		grep -Eq "window 0: .* registered .*, cookie 0x[0-9a-f]{16}" get.err &&
		[ "$(grep -c "bytes were RDMA-written into window" get.err)" = 9 ]
	result $? "--verbose tells what happens"
	rm -f out/x
}

test_poke()
{
	local line
	"$tools/test/poke" "$client" "$host:4460" sparse 4831838208 'beyond four gigabytes' >poke.out
	while read -r line; do
		case $line in
		ok*) result 0 "poke: ${line#ok * - }" ;;
		not*) result 1 "poke: ${line#not ok * - }" ;;
		Bail*) result 1 "poke: $line" ;;
		1..*) poked=yes ;;
		esac
	done <poke.out
	[ "${poked:-}" = yes ]
	result $? "poke came to its end"
	fetch "the server serves after it" small
}

cd "$work" || exit 1
make_files
start_server
for scenario in ${SCENARIOS:-sizes all_addresses clients_together names output full_disk usage terminal midway server_ends limits poke \
	unprivileged}; do
	"test_$scenario"
done
stop_server
result $? "the server lived to the end"
echo "1..$tests"
[ $failures = 0 ]
