# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Network namespaces come and go under loopback traffic (D63); our slab caches end as they began.
#
# timeout: 300
# debug: ROUNDS=5
# soak: timeout=1200 ROUNDS=20
. /rds/selftests/lib.sh
cd /rds/selftests || exit

# The rxe variants have no device there: without addresses they are skipped by the program,
# and only the loopback ones count.
traffic_in()
{
	env -u MY_ADDR -u PEER_ADDR -u MY_ADDR6 -u PEER_ADDR6 \
		ip netns exec "$1" ./traffic >"/tmp/$1.log" 2>&1
}

four_at_once()
{
	local i round failed=0
	for ((round = 0; round < ${ROUNDS:-20}; round++)); do
		for i in 1 2 3 4; do
			ip netns add "n$i" || return
			traffic_in "n$i" &
		done
		# deleted by name at once: it lives on while its traffic does
		for i in 1 2 3 4; do
			ip netns del "n$i"
		done
		for i in $(jobs -p); do
			wait "$i" || failed=1
		done
		if [ $failed = 1 ]; then
			cat /tmp/n?.log
			return 1
		fi
	done
}

same_as_before()
{
	shrink_slabs
	our_slabs >/tmp/now
	diff /tmp/before /tmp/now >/tmp/diff
}

slabs_settle()
{
	# namespaces are taken down by a worker
	wait_for 30 same_as_before || {
		cat /tmp/diff
		return 1
	}
}

shrink_slabs
our_slabs | tee /tmp/before
check "slab caches of ours can be seen" grep -q rds_sockets_conn /tmp/before
check "four namespaces with traffic, again and again" four_at_once
check "slab objects are as before" slabs_settle
