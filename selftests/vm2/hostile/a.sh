# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A machine with our module, and one whose connection manager's ports belong to programs: good peers that compare every byte
# with the specification, and hostile ones. See selftests/hostile/hostile.h for what must hold after each of them.
#
# modules: ours none
# timeout: 500
. /rds/selftests/vm2/lib.sh

PROGRAMS=${PROGRAMS:-good frames cm rdma flow listen}

# The bystanders talk between two addresses of the machine with our module. The other one has several: good.c needs an
# unknown peer for each test.
OTHER_ADDR=10.9.1.3

observe()
{
	local observer
	ip addr add "$OTHER_ADDR/24" dev "$NETDEV"
	selftests/hostile/observer.py "$MY_ADDR" 7000 "$MY_ADDR" "$OTHER_ADDR" >/tmp/observer.log 2>&1 &
	observer=$!
	check "observer is ready" wait_for 120 grep -q ready /tmp/observer.log
	sync_point observer
	sync_point end
	check "observer observed to the end" kill "$observer"
	wait "$observer"
	grep -v counter /tmp/observer.log | tail -n 300
}

be_hostile()
{
	local program host
	for host in {101..120}; do
		ip addr add "10.9.1.$host/24" dev "$NETDEV"
		ip addr add "fd09:1::1:$host/64" dev "$NETDEV" nodad
	done
	sync_point observer
	for program in $PROGRAMS; do
		run_tap "selftests/hostile/$program"
	done
	sync_point end
}

if [ "$ROLE" = a ]; then
	observe
else
	be_hostile
fi
