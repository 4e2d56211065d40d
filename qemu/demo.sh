#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The demonstration: sets up, builds, boots two VMs on soft-RoCE, fetches a file from one into the other by RDMA, and
# tells what happened from what the tools, the kernel's counters and its trace events say.
set -u
cd "$(dirname "$0")/.." || exit 1
results=${RESULTS:-$PWD/build/results}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
tools/setup build rig || exit
echo "Building the module, the library and the tools ..."
make --no-print-directory -j"$(nproc)" module tools >"$log" 2>&1 || {
	tail -n 30 "$log" >&2
	exit 1
}
cat <<'EOT'
Booting two virtual machines. They are joined by a network cable that soft-RoCE (rxe, an RDMA adapter in software)
makes an RDMA link; each loads rds_sockets.ko.

EOT
qemu/run.sh --name demo qemu/demo >"$log" 2>&1
rc=$?
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 qemu/demo/story.py "$results/demo" || rc=1
cat "$log"
exit $rc
