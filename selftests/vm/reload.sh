# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# D65: load and unload, 50 times (ROUNDS) with traffic in between (loopback, rxe, RDMA): nothing stays. D64: unload with frames
# under way.
# A slab cache that still has objects when it is destroyed makes the kernel warn, and a warning
# fails the run; what is compared here is the rest.
#
# modules: none
# timeout: 900
# debug: ROUNDS=15
# soak: ROUNDS=40
. /rds/selftests/lib.sh
cd /rds/selftests || exit

ROUNDS=${ROUNDS:-50}

one_round()
{
	load_rds ours || return
	./traffic >/tmp/traffic.log 2>&1 || {
		cat /tmp/traffic.log
		return 1
	}
	wait_for 20 rds_unused || {
		echo "module in use after the last socket was closed: $(cat /sys/module/rds_sockets/refcnt)"
		return 1
	}
	unload_rds ours || return
	if module_loaded || grep -q '^rds_sockets' /proc/modules; then
		echo "still in the list of modules"
		return 1
	fi
}

# A socket keeps the module: unloading is refused at once and does no harm.
refused_while_open()
{
	load_rds ours || return
	python3 - <<-'END' || return
		import socket, subprocess
		s = socket.socket(21, socket.SOCK_SEQPACKET)
		assert subprocess.run(["rmmod", "rds_sockets"], stderr=subprocess.DEVNULL, timeout=30).returncode != 0
		s.close()
	END
	wait_for 20 rds_unused || return
	unload_rds ours
}

# Floods a socket over rxe until it is killed; says when it has begun.
flood()
{
	exec python3 - "$MY_ADDR" "$PEER_ADDR" <<-'END'
		import socket, sys
		a, b = (socket.socket(21, socket.SOCK_SEQPACKET) for _ in range(2))
		a.bind((sys.argv[1], 5000))
		b.bind((sys.argv[2], 5000))
		for s in a, b:
		    s.setblocking(False)
		started = False
		while True:
		    for s, to in (a, sys.argv[2]), (b, sys.argv[1]):
		        try:
		            s.sendto(bytes(30000), (to, 5000))
		        except OSError:
		            pass
		        try:
		            while s.recv(30000):
		                if not started:
		                    print("begun", flush=True)
		                    started = True
		        except BlockingIOError:
		            pass
	END
}

unload_at_once() { rmmod rds_sockets 2>/dev/null; }

# The sockets are gone at once, the frames that the queue pairs have are not.
unload_under_traffic()
{
	local i pid
	for ((i = 0; i < 8; i++)); do
		load_rds ours || return
		flood >/tmp/flood &
		pid=$!
		wait_for 60 grep -q begun /tmp/flood || return
		sleep "0.$((i * 3 % 10))"
		kill -KILL "$pid"
		wait_for 60 unload_at_once || return
		wait "$pid"
	done
	return 0
}

slab_kib() { awk '/^SUnreclaim/ { print $2 }' /proc/meminfo; }

rounds()
{
	local i
	for ((i = $1; i <= $2; i++)); do
		one_round || {
			echo "in round $i"
			return 1
		}
	done
}

settled() { echo 3 >/proc/sys/vm/drop_caches; }

memory_is_back()
{
	local grown=$(($(slab_kib) - SLAB_BEFORE))
	echo "kernel memory grew by $grown KiB in $((ROUNDS - 5)) rounds"
	# a kilobyte lost in each round is noise; a congestion map or a connection is not
	[ "$grown" -lt $((8 * (ROUNDS - 5))) ]
}

nothing_left()
{
	traces_of_us >/tmp/after
	diff /tmp/before /tmp/after
}

# The first rounds fill what the kernel keeps: the completion queues that the device's pool lent us
# stay with the device, and modules that ours needs stay loaded.
check "D65 load, traffic, unload: the first 5 rounds" rounds 1 5
settled
traces_of_us >/tmp/before
SLAB_BEFORE=$(slab_kib)
check "D65 load, traffic, unload: all $ROUNDS rounds" rounds 6 $ROUNDS
settled
check "D65 slab caches, RDMA objects and files are as before" nothing_left
# KASAN holds back what was freed; but kmemleak looks for lost memory there.
[ "$KERNEL" = debug ] || check "D65 kernel memory is as before" memory_is_back
check "D65 unloading with an open socket is refused" refused_while_open
check "D64 unload while frames are under way" unload_under_traffic
check "D64 D65 and nothing is left behind" nothing_left
true
