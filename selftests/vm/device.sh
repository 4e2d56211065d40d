# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# RDMA devices are taken away from sockets and come back, and are made on interfaces without hardware.
#
# timeout: 300
# kernels: stock
run_tap selftests/device
