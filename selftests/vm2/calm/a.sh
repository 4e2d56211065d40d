# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# 5,000 messages of random sizes between two machines, half of them in each direction: each arrives once, in order,
# unchanged. vm2/flap is the same with a link that goes down and up.
#
# timeout: 300
# kernels: stock
. /rds/selftests/vm2/lib.sh
record $((${MESSAGES:-5000} / 2)) 200
