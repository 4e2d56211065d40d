# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Programs that call the kernel as the tools of the rds-tools package do: on loopback, and over soft-RoCE from one address of
# this machine to another.
#
# timeout: 300
. /rds/selftests/lib.sh

# stress ADDR PEER MODE...
stress()
{
	local addr=$1 peer=$2
	shift 2
	start_stress_server "$peer"
	run_tap selftests/clients/stress "$addr" 4001 "$peer" 4000 "$@"
	end_stress_server "$peer"
}

run_tap selftests/clients/info 127.0.0.1 127.0.0.1
run_tap selftests/clients/info "$MY_ADDR" "$PEER_ADDR"
run_tap selftests/clients/ping 127.0.0.1 127.0.0.1
run_tap selftests/clients/ping ::1 ::1
run_tap selftests/clients/ping "$MY_ADDR" "$PEER_ADDR"
run_tap selftests/clients/ping "$MY_ADDR6" "$PEER_ADDR6"
stress 127.0.0.1 127.0.0.1 plain map get-mr async
stress ::1 ::1 plain map
stress "$MY_ADDR" "$PEER_ADDR" plain map get-mr async
stress "$MY_ADDR6" "$PEER_ADDR6" plain map
