# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Every call with each of its allocations and copies failed once.
# kernels: debug
# timeout: 600
. /rds/selftests/lib.sh
cd /rds/selftests || exit

check "faults can be injected" enable_faults
run_tap ./failnth
run_tap ./failnth_send
