# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# fetch NAME OPTION...: whole, with the server's digest, and without a copy
fetch()
{
	local name=$1
	shift
	rm -f out/x
	rds-get "$@" -o out/x "$PEER_ADDR:$name" >get.out 2>get.err
	code=$?
	cat get.out get.err
	[ $code = 0 ] && [ "$(sha256sum <out/x)" = "$(get "$name")" ] &&
		grep -q "RDMA-written by the server: $(stat -c %s out/x) bytes" get.out &&
		grep -q "copied by the CPU in RDS: 0 bytes of the file" get.out
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

# The link goes down and up while bytes move; whatever was on its way is asked for again.
flap()
{
	local round
	for round in one two three; do
		echo "link down: $round"
		sleep 1
		ip link set "$NETDEV" down
		sleep 1
		ip link set "$NETDEV" up
	done
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
flap &
flapping=$!
check "a file of 64 MiB over a link that goes down and up" fetch 64m -t 120 -s 256
wait "$flapping"
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
