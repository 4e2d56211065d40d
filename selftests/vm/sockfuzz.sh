# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Random socket calls, on loopback and over rxe, by one thread and by several that race.
# timeout: 400
# soak: timeout=1500 FUZZ_SECONDS=240
cd /rds/selftests || exit

run_tap ./sockfuzz -s "$SEED" -t "${FUZZ_SECONDS:-10}"
