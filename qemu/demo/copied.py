# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""In the guest: fails if RDS copied more bytes than the argument says between watch_start and watch_stop."""

import json
import sys

before, after = (json.load(open(f"/tmp/counters.{when}")) for when in ("before", "after"))
copied = sum(after[name] - before[name] for name in ("copy_to_user", "copy_from_user", "rdma_copied_bytes"))
print(f"{copied} bytes were copied")
sys.exit(copied > int(sys.argv[1]))
