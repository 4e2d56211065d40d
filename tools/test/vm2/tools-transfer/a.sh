# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Files from one machine to the other: digests, copies, a link that breaks, and a server that goes away in the middle.
# kernels: stock
# soak: timeout=1200
# modules: ours ours
# timeout: 600
# memory: 1536
# serve OPTION...
serve()
{
	rds-serve -v "$@" -a "$MY_ADDR" -a "[$MY_ADDR6]" srv >serve.out 2>>serve.log &
	server=$!
	wait_for 30 grep -qs serving serve.out
}

make_long() { rm -f srv/long; truncate -s 8G srv/long; }

mkdir -p /tmp/t/srv /tmp/t/outside
cd /tmp/t || exit 1
head -c 8388608 /dev/urandom >srv/8m
head -c 67108864 /dev/urandom >srv/64m
echo secret >outside/file
ln -s ../outside/file srv/link
make_long
put 8m "$(sha256sum <srv/8m)"
put 64m "$(sha256sum <srv/64m)"
check "serve" serve

sync_point serving
sync_point fetched
check "the server copied no byte of a file" \
	grep -q "copied by the CPU in RDS since the start: 0 bytes of files" serve.log

sync_point long-running-1
truncate -s 4096 srv/long
sync_point shortened
make_long

sync_point long-running-2
kill -KILL "$server"
wait "$server" 2>/dev/null
sync_point server-killed
# The client may be killed between two windows: then only its silence tells, after 10 s.
check "serve again" serve -t 10

sync_point serving-again
sync_point client-killed
check "a client that vanished is forgotten" wait_for 60 grep -q "is gone or misbehaves\|forgotten" serve.log
sync_point end
kill "$server"
check "the server ends when told to" wait "$server"
