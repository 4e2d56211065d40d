#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""hosttest.py [--tap] NAME COMMAND...: a test that runs on the host, recorded like those in VMs.

One result by the command's exit code, or with --tap one for each test that it reports. The output is kept as a log.
"""

import os
import subprocess
import sys
import time

import results
import tap


def main(argv):
    speaks_tap = argv[:1] == ["--tap"]
    name, *command = argv[1:] if speaks_tap else argv
    began = time.monotonic()
    folder = results.run_folder(name)
    record = results.Results(folder, name, quiet=speaks_tap)
    path = os.path.join(folder, "log")
    with open(path, "w") as log:
        if speaks_tap:
            tap.run(command, tap.Tap(lambda verdict, test, reason: record.add(verdict, test, reason)), log)
        else:
            code = subprocess.call(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            record.add("fail" if code else "pass", "", f"exit code {code}" if code else "")
    if record.count["fail"] and not speaks_tap:
        print("".join("      " + line for line in open(path, errors="replace").readlines()[-15:]), end="")
    counts = f"{record.count['pass']} passed, {record.count['fail']} failed, " if speaks_tap else ""
    print(f"# {name}: {counts}{time.monotonic() - began:.0f} s, log in {os.path.relpath(path)}", flush=True)
    return 1 if record.count["fail"] or not record.count["pass"] else 0


sys.exit(main(sys.argv[1:]))
