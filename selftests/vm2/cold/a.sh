# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Keys made before there is any connection, with modules just loaded: the six lines of Python, and all that
# selftests/vm2_cold.c asks; in both directions, over IPv4 and IPv6.
#
# timeout: 900
. /rds/selftests/vm2/lib.sh

# in_recvmsg PID: it has bound its socket and waits for a message (47 is recvmsg on x86-64)
in_recvmsg() { grep -q '^47 ' "/proc/$1/syscall"; }

# talk SERVER-ROLE MY-ADDRESS MY-ADDRESS:PORT PEER-ADDRESS:PORT: the server of the talk's example on one machine, its
# client on the other
talk()
{
	local code=1 server
	if [ "$ROLE" = "$1" ]; then
		head -c 8192 /dev/urandom >/tmp/data
		userlib/examples/talk_server.py "$3" /tmp/data 2>/tmp/server.log &
		server=$!
		wait_for 120 in_recvmsg "$server"
		sync_point "talk"
		put "digest of $3" "$(sha256sum </tmp/data)"
		sync_point "talked"
		wait_for 120 grep -q SUCCESS /tmp/server.log && code=0
		cat /tmp/server.log
		kill "$server" 2>/dev/null
		wait "$server"
	else
		sync_point "talk"
		timeout 180 userlib/examples/talk_client.py "$2" "$4" >/tmp/fetched
		[ "$(sha256sum </tmp/fetched)" = "$(get "digest of $4")" ] && code=0
		sync_point "talked"
	fi
	return $code
}

for server in a b; do
	check "modules are fresh for IPv4" afresh
	check "the talk's example over IPv4, $server serves" talk $server "$MY_ADDR" "$MY_ADDR:4000" "$PEER_ADDR:4000"
	check "modules are fresh for IPv6" afresh
	check "the talk's example over IPv6, $server serves" talk $server "$MY_ADDR6" "[$MY_ADDR6]:4000" "[$PEER_ADDR6]:4000"
	check "modules are fresh for vm2_cold" afresh
	ask $server vm2_cold
done
