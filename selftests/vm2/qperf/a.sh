# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Debian's qperf, a program that knows nothing of us, measures RDS between two machines: our module on both, and ours and the
# distribution's, with either side asking. Its numbers must be some, whatever they are; our counters must have moved.
# The clients of vm/clients ask the other machine, too.
#
# kernels: stock
# modules: ours ours
# modules: ours stock
# timeout: 400
. /rds/selftests/lib.sh
. /rds/selftests/vm2/lib.sh

# Its control connection is TCP, and gives up after --timeout seconds.
SECONDS_EACH=2
PATIENCE=120

# has_figure FILE: one line has one, above 0, with the unit of its kind
has_figure()
{
	awk '
	/=/ { found++ }
	$1 == "bw" && $3 > 0 && $4 == "bytes/sec" || $1 == "latency" && $3 > 0 && $4 == "ns" { good++ }
	END { exit found != 1 || good != 1 }' "$1"
}

# qperf's server tells the number of a TCP port before it listens there. So the client's connect() is held up, and repeated when
# that was not long enough; no RDS socket ever refuses a connection.
HOLD_UP_US=500000

refused() { grep -q 'connect failed: Connection refused' /tmp/figures; }

measure_once()
{
	timeout 180 strace -f --seccomp-bpf -qq -o /dev/null -e trace=connect -e inject=connect:delay_enter=$HOLD_UP_US \
		qperf --timeout $PATIENCE --time $SECONDS_EACH --unify_units --msg_size "$2" "$PEER_ADDR" "$1" \
		>/tmp/figures 2>&1 || ! refused
}

# measure TEST SIZE: one figure
measure()
{
	wait_for 60 measure_once "$@"
	cat /tmp/figures
	has_figure /tmp/figures
}

server_listens() { ss -H -l -t -n 'sport = :19765' | grep -q .; }

# measured_by SERVER-ROLE: the other one asks
measured_by()
{
	local server sent received
	if [ "$MODULE" = ours ]; then
		sent=$(counter send_queued) received=$(counter recv_delivered)
	fi
	if [ "$ROLE" = "$1" ]; then
		qperf --loc_timeout $PATIENCE &
		server=$!
		check "qperf's server listens, $1 serves" wait_for 60 server_listens
		sync_point listens
		sync_point measured
		kill "$server"
		wait "$server"
	else
		sync_point listens
		check "rds_bw, $1 serves" measure rds_bw 65536
		check "rds_lat, $1 serves" measure rds_lat 1
		sync_point measured
	fi
	[ "$MODULE" = ours ] || return 0
	check "our module has sent, $1 serves" moved send_queued "$sent"
	check "our module has received, $1 serves" moved recv_delivered "$received"
}

# What the stock module can't do, register memory and tell of a message's fate, is asked of ours only.
stress_modes() { [ "$MODULE" = ours ] && echo plain map get-mr async || echo plain map; }

# clients_of SERVER-ROLE: the other one asks
clients_of()
{
	if [ "$ROLE" = "$1" ]; then
		start_stress_server "$MY_ADDR"
		sync_point "stress served by $1"
		sync_point "stress of $1 ends"
		end_stress_server "$MY_ADDR"
	else
		sync_point "stress served by $1"
		run_tap selftests/clients/ping "$MY_ADDR" "$PEER_ADDR"
		# shellcheck disable=SC2046
		run_tap selftests/clients/stress "$MY_ADDR" 4001 "$PEER_ADDR" 4000 $(stress_modes)
		sync_point "stress of $1 ends"
	fi
}

# The clients come first: what is measured is a connection that there is.
for server in b a; do
	clients_of $server
	measured_by $server
done
