# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Debian's trinity, a fuzzer that knows the system calls and nothing of us: random arguments, many of them bad pointers, for
# each call that sockets take, on sockets of our family alone. vm/sockfuzz is the one that knows what our calls mean.
#
# It runs as root: as another user Debian's crashes before it has made a socket.
#
# timeout: 400
# soak: timeout=1500 CALLS=50000
CALLS=${CALLS:-3000}
SYSCALLS=(socket socketpair bind connect listen accept accept4 getsockname getpeername shutdown ioctl poll ppoll select
	sendto sendmsg sendmmsg write writev recvfrom recvmsg recvmmsg read readv setsockopt getsockopt)

random_calls()
{
	mkdir /tmp/trinity && cd /tmp/trinity || return # it writes files where it is
	trinity --dangerous -q -l off -s "$SEED" -C 8 -N "$CALLS" -P PF_RDS --enable-fds=sockets --stats \
		"${SYSCALLS[@]/#/-c}" </dev/null >stats 2>&1 && return
	tail -n 20 stats
	return 1
}

# worked CALL: some of its calls succeeded
worked() { grep -A999 '^64bit:' /tmp/trinity/stats | grep "^$1: (attempted:.* success:[1-9]"; }

check "trinity makes $CALLS calls, seed $SEED" random_calls
for call in socket bind connect recvmsg; do
	check "$call succeeded now and then" worked "$call"
done
