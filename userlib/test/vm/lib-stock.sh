# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Plain messages by librds and the Python package on the distribution's own rds module.
# kernels: stock
# modules: stock
# timeout: 600
cd userlib || exit 1

for pair in "127.0.0.1 127.0.0.1" "$MY_ADDR $PEER_ADDR"; do
	# shellcheck disable=SC2086
	run_tap test/socket-datagram $pair
	export RDS_TEST_ADDR=${pair% *} RDS_TEST_PEER=${pair#* }
	run_tap python/test_rds.py --tap Rds
done
run_tap python/test_rds.py --tap SlowReader
