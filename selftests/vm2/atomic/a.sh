# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Atomics whose acknowledgement comes before their old value, which soft-RoCE then never stores: an error is told.
#
# timeout: 900
. /rds/selftests/vm2/lib.sh

# each machine its own: requests come twice, answers overtake each other
if [ "$ROLE" = a ]; then
	weather delay 15ms 15ms duplicate 100%
else
	weather delay 30ms 30ms
fi
ask a vm2_atomic
weather clear
