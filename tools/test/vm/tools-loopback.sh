# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# rds-get and rds-serve between two processes on 127.0.0.1 and on ::1, where the kernel stands in for an RDMA device.
# kernels: stock
# soak: timeout=1200
# modules: ours
# timeout: 400
# memory: 2048
run_tap /rds/tools/test/scenarios.sh 127.0.0.1 127.0.0.2
SCENARIOS="sizes names" run_tap /rds/tools/test/scenarios.sh ::1 ::1
true
