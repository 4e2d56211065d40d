#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs a program that speaks TAP or KTAP and reports each of its tests to the rig (guest side of run_tap).

A program that prints no plan, breaks its plan or ends with an exit code that its results do not explain has failed,
whatever its lines say: a result of its own, named after the program, tells so.
"""

import os
import re
import subprocess
import sys

SKIP_EXIT = 4  # kselftest's code for "all skipped"
RESULT = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(?:- )?\s*(.*?)\s*(?:#\s*(SKIP|TODO|XFAIL)\b\s*(.*))?$", re.I)
PLAN = re.compile(r"^1\.\.(\d+)")


class Results:
    def __init__(self, program):
        self.program = program
        self.plan = None
        self.seen = 0
        self.failed = 0
        self.current = ""
        self.last_words = ""

    def report(self, verdict, name, reason=""):
        words = [verdict, f"{self.program}: {name}" if name else self.program]
        if verdict != "pass":
            words.append(reason or self.last_words or "see the output")
        line = "\t".join(re.sub(r"[\t\r\n]", " ", word) for word in words) + "\n"
        os.write(9, line.encode())

    def begin(self, line):
        """kselftest's harness announces each test; the kernel log learns of it, so that a splat has a name."""
        self.current = line
        os.write(9, f"begin\t{self.program}: {line}\n".encode())
        with open("/dev/kmsg", "w") as kmsg:
            kmsg.write(f"rig: test: {self.program}: {line}\n")

    def take(self, line):
        plan, result = PLAN.match(line), RESULT.match(line)
        if plan:
            self.plan = int(plan.group(1))
        elif result:
            self.take_result(*result.groups())
        elif re.match(r"#\s+RUN\s", line):
            self.begin(line.split("RUN", 1)[1].strip())
            self.last_words = ""
        elif line.strip("# \t") and not re.match(r"#\s+(OK|FAIL)\s", line):
            self.last_words = line.lstrip("# ").strip()

    def take_result(self, bad, number, name, directive, reason):
        self.seen += 1
        name = name or self.current or number
        if directive and directive.upper() == "SKIP":
            self.report("skip", name, reason)
        elif bad:
            self.failed += 1
            self.report("fail", name, reason or self.last_words)
        else:
            self.report("pass", name)

    def finish(self, code):
        if self.plan is None:
            self.report("fail", "", f"printed no plan (1..N); exit code {code}")
        elif self.seen != self.plan:
            self.report("fail", "", f"planned {self.plan} tests and reported {self.seen}; exit code {code}")
        elif code not in (0, SKIP_EXIT) and not self.failed:
            self.report("fail", "", f"reported no failure but ended with exit code {code}")
        else:
            return 1 if self.failed else 0
        return 1


def main(argv):
    if not argv:
        sys.exit("usage: run_tap PROGRAM [ARGUMENT...]")
    results = Results(os.path.basename(argv[0]))
    results.begin(" ".join(argv))
    print("# run_tap:", " ".join(argv), flush=True)
    try:
        program = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as error:
        results.report("fail", "", f"cannot be started: {error.strerror}")
        return 1
    for line in program.stdout:
        print(line, end="", flush=True)
        results.take(line.rstrip("\n"))
    return results.finish(program.wait())


sys.exit(main(sys.argv[1:]))
