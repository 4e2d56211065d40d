# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

# arrived CODE NAME: rds-get ended with CODE; NAME is whole, with the server's digest, and without a copy
arrived()
{
	cat get.out get.err
	[ "$1" = 0 ] && [ "$(sha256sum <out/x)" = "$(get "$2")" ] &&
		grep -q "RDMA-written by the server: $(stat -c %s out/x) bytes" get.out &&
		grep -q "copied by the CPU in RDS: 0 bytes of the file" get.out
}

# fetch NAME OPTION...
fetch()
{
	local name=$1
	shift
	rm -f out/x
	rds-get "$@" -o out/x "$PEER_ADDR:$name" >get.out 2>get.err
	arrived $? "$name"
}

# The cable is taken out and put in again while bytes move; what is lost with a connection is asked for again.
fetch_with_breaks()
{
	local client round
	rm -f out/x
	rds-get -t 120 -s 256 -o out/x "$PEER_ADDR:64m" >get.out 2>get.err &
	client=$!
	for round in one two three; do
		sleep 1
		echo "break $round"
		link_down
		sleep 1
		link_up
	done
	wait $client
	arrived $? 64m
}

# refused CODE SENTENCE ARGUMENTS...: and nothing is left behind
refused()
{
	local want=$1 sentence=$2
	shift 2
	rm -f out/x
	rds-get "$@" >get.out 2>get.err
	fails_with $? "$want" "$sentence"
}

fails_with()
{
	tail -n 5 get.err
	ls -A out
	[ "$1" = "$2" ] && grep -q "$3" get.err && [ -z "$(ls -A out)" ]
}

start_long()
{
	rm -rf out get.err
	mkdir out
	rds-get -v -t 15 -o out/x "$PEER_ADDR:long" >get.out 2>get.err &
	client=$!
	wait_for 60 grep -qs RDMA-written get.err
}

# ended CODE SENTENCE: how the one in the background did
ended()
{
	wait "$client"
	fails_with $? "$1" "$2"
}

mkdir -p /tmp/t/out
cd /tmp/t || exit 1
sync_point serving
check "a file of 8 MiB" fetch 8m
check "a file of 64 MiB" fetch 64m
check "with one small window" fetch 8m -w 1 -s 64
check "a name out of the folder" refused 3 "leads out" -o out/x "$PEER_ADDR:../outside/file"
check "a link out of the folder" refused 3 "leads out" -o out/x "$PEER_ADDR:link"
check "over IPv6" rds-get -f -o out/x "[$PEER_ADDR6]:8m"
rm -f out/x
check "a file of 64 MiB while the cable goes out and in" fetch_with_breaks
sync_point fetched

start_long
sync_point long-running-1
check "the file becomes shorter" ended 5 "became shorter"
sync_point shortened

start_long
sync_point long-running-2
sync_point server-killed
check "the server is killed" ended 4 "fell silent"

sync_point serving-again
start_long
kill -KILL "$client"
wait "$client" 2>/dev/null
sync_point client-killed
sync_point end
true
