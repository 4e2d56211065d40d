# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# librds, the Python package and the examples on rds_sockets: over the loopback and over soft-RoCE.
# kernels: stock
# soak: timeout=1200
# modules: ours
# timeout: 1200
cd userlib || exit 1

# in_recvmsg PID: it has bound its socket and waits for a message (47 is recvmsg on x86-64)
in_recvmsg() { grep -q '^47 ' "/proc/$1/syscall"; }

# fetches SERVER-ADDR CLIENT-ADDR SERVER CLIENT: one program of each side, the result compared
fetches()
{
	local from=$1 to=$2 server=$3 client=$4 pid code=1
	$server "$from:4000" /tmp/data 2>/tmp/server.log &
	pid=$!
	if wait_for 120 in_recvmsg $pid && timeout 120 "$client" "$to" "$from:4000" >/tmp/fetched; then
		cmp /tmp/data /tmp/fetched && wait_for 120 grep -q SUCCESS /tmp/server.log && code=0
	fi
	# talk_server has ended by itself if all went well, fetch-server serves on
	kill $pid 2>/dev/null
	wait $pid
	cat /tmp/server.log
	return $code
}

dd if=/dev/urandom of=/tmp/data bs=8192 count=1 2>/dev/null

for pair in "127.0.0.1 127.0.0.1" "$MY_ADDR $PEER_ADDR"; do
	# shellcheck disable=SC2086
	set -- $pair
	check "talk in Python, $1 to $2" fetches "$1" "$2" "examples/talk_server.py" "examples/talk_client.py"
	check "talk in C, $1 to $2" fetches "$1" "$2" "examples/fetch-server" "examples/fetch-client"
	check "C serves Python, $1 to $2" fetches "$1" "$2" "examples/fetch-server" "examples/talk_client.py"
	check "Python serves C, $1 to $2" fetches "$1" "$2" "examples/talk_server.py" "examples/fetch-client"
done

for pair in "127.0.0.1 127.0.0.1" "127.0.0.1 127.0.0.2" "::1 ::1" "$MY_ADDR $PEER_ADDR" "$MY_ADDR6 $PEER_ADDR6"; do
	# shellcheck disable=SC2086
	run_tap test/socket-datagram $pair
	# shellcheck disable=SC2086
	run_tap test/socket-rdma $pair
done

for pair in "127.0.0.1 127.0.0.1" "$MY_ADDR $PEER_ADDR" "$MY_ADDR6 $PEER_ADDR6"; do
	export RDS_TEST_ADDR=${pair% *} RDS_TEST_PEER=${pair#* }
	run_tap python/test_rds.py --tap Rds SlowReader Rdma
done
