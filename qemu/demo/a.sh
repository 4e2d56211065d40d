# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The demonstration's server: serves a folder with one file of random bytes.
# modules: ours ours
# timeout: 180
. /rds/qemu/demo/watch.sh

mkdir /tmp/served
head -c 8388608 /dev/urandom >/tmp/served/random.bin

watch_start
rds-serve --verbose --address="$MY_ADDR" /tmp/served >/tmp/serve.log 2>&1 &
server=$!
check "the server listens" wait_for 20 grep -q . /tmp/serve.log
put digest "$(sha256sum </tmp/served/random.bin)"
sync_point serving
sync_point fetched
watch_stop
kill "$server"
check "the server ends when told to" wait "$server"
save /tmp/serve.log
