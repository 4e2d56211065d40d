# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# D71: 32-bit programs. The debug kernel has no 32-bit system calls.
#
# kernels: stock
run_tap selftests/compat
