# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# RDMA devices, and addresses, are taken away from sockets and come back; devices are made on interfaces without hardware.
#
# timeout: 300
# kernels: stock
run_tap selftests/device
