# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# All ports of an address are bound. The debug kernel would take minutes for 65534 sockets.
#
# kernels: stock
run_tap selftests/all_ports
