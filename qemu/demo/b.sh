# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The demonstration's client: fetches the file and compares the digests.
. /rds/qemu/demo/watch.sh

sync_point serving
watch_start
rds-get --verbose "$PEER_ADDR:random.bin" --output=/tmp/random.bin >/tmp/get.log 2>&1
code=$?
watch_stop
save /tmp/get.log
check "rds-get fetches the file" [ "$code" = 0 ]
theirs=$(get digest)
mine=$(sha256sum </tmp/random.bin)
echo "$theirs" >/tmp/digest.theirs
echo "$mine" >/tmp/digest.mine
save /tmp/digest.theirs
save /tmp/digest.mine
check "the digests agree" [ "$mine" = "$theirs" ]
check "no byte of the file was copied between programs and kernel" /usr/bin/python3 /rds/qemu/demo/copied.py 65536
sync_point fetched
