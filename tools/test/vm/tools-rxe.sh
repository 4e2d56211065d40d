# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# rds-get and rds-serve between two addresses of one soft-RoCE device: the whole way over the fabric.
# kernels: stock
# soak: timeout=1200
# modules: ours
# timeout: 600
# memory: 2048
run_tap /rds/tools/test/scenarios.sh "$MY_ADDR" "$PEER_ADDR"
SCENARIOS="sizes names" run_tap /rds/tools/test/scenarios.sh "$MY_ADDR6" "$PEER_ADDR6"
true
