# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Our module and the distribution's, each on either machine: messages, pings, RDMA and congestion with either side asking;
# keys of ours that the stock module uses; many messages in both directions.
#
# modules: ours stock
# modules: stock ours
# timeout: 900
. /rds/selftests/vm2/lib.sh

OURS=a
[ "$ROLE $MODULE" != "a stock" ] && [ "$ROLE $MODULE" != "b ours" ] || OURS=b

ask a vm2_interop
ask b vm2_interop
ask $OURS vm2_cold
record 1000 300
