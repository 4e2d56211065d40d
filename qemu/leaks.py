#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""In the guest: asks kmemleak what nothing points to any more, and fails if there is anything.

leaks.py [SYMBOLS]: SYMBOLS, a part of /proc/kallsyms, gives names back to the code of a module that is unloaded by now.
"""

import bisect
import re
import sys
import time

KMEMLEAK = "/sys/kernel/debug/kmemleak"
PROVE_LOCKING = "/proc/sys/kernel/prove_locking"
# The kernel never reports a block younger than five seconds: its pointer may still be on the way to where it is kept.
YOUNG_SECONDS = 6
ADDRESS = re.compile(r"0x([0-9a-f]{16})")


def scan():
    with open(KMEMLEAK, "w") as kmemleak:
        kmemleak.write("scan")


def load(path):
    try:
        lines = [line.split() for line in open(path)]
    except OSError:
        return []
    return sorted((int(words[0], 16), words[2]) for words in lines)


def named(line, symbols):
    def name(match):
        address = int(match[1], 16)
        index = bisect.bisect(symbols, (address, "\x7f")) - 1
        if index < 0 or address - symbols[index][0] > 0x10000:
            return match[0]
        return f"{symbols[index][1]}+{address - symbols[index][0]:#x} [rds_sockets]"
    return ADDRESS.sub(name, line)


def main(symbols):
    # A scan takes a lock for each word that looks like a pointer; the tests are over.
    with open(PROVE_LOCKING, "w") as prove_locking:
        prove_locking.write("0")
    scan()
    time.sleep(YOUNG_SECONDS)
    scan()  # of what the first scan suspects, only what the second still does is reported
    report = open(KMEMLEAK, errors="replace").read()
    for line in report.splitlines():
        print(named(line, symbols))
    blocks = report.count("unreferenced object")
    print(f"{blocks} blocks of memory that nothing points to")
    return 1 if blocks else 0


sys.exit(main(load(sys.argv[1]) if len(sys.argv) > 1 else []))
