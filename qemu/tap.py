#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs a program that speaks TAP or KTAP and reports each of its tests. As a program: the guest side of run_tap.

A program that prints no plan, breaks its plan or ends with an exit code that its results do not explain has failed,
whatever its lines say: a result of its own, without a test's name, tells so.
"""

import collections
import os
import re
import subprocess
import sys

SKIP_EXIT = 4  # kselftest's code for "all skipped"
RESULT = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(?:- )?\s*(.*?)\s*(?:#\s*(SKIP|TODO|XFAIL)\b\s*(.*))?$", re.I)
PLAN = re.compile(r"^1\.\.(\d+)")
RUNNING = re.compile(r"#\s+RUN\s+(.*?)[ .]*$")
# What the kernel's harness says of every failed test, after what went wrong
VERDICT = re.compile(r"#\s+(OK|FAIL)\s|#.*: Test failed at step #\d+$")
LAST_WORDS = 3  # lines before a failure that tell of it


class Tap:
    """Reads the lines of one program; report(verdict, name, reason) and begin(name) are told what they say."""

    def __init__(self, report, begin=lambda name: None):
        self.report = report
        self.begin = begin
        self.plan = None
        self.seen = 0
        self.failed = 0
        self.current = ""
        self.last_words = collections.deque(maxlen=LAST_WORDS)

    def words(self):
        return "; ".join(self.last_words)

    def take(self, line):
        plan, result, running = PLAN.match(line), RESULT.match(line), RUNNING.match(line)
        if plan:
            self.plan = int(plan[1])
        elif result:
            self.take_result(*result.groups())
        elif running:  # the kernel's harness announces each test
            self.current = running[1]
            self.last_words.clear()
            self.begin(self.current)
        elif line.strip("# \t") and not VERDICT.match(line):
            self.last_words.append(line.lstrip("# ").strip())

    def take_result(self, bad, number, name, directive, reason):
        self.seen += 1
        name = name or self.current or number or "?"
        if directive and directive.upper() == "SKIP":
            self.report("skip", name, reason or "no reason given")
        elif bad:
            self.failed += 1
            self.report("fail", name, reason or self.words() or "see the output")
        else:
            self.report("pass", name, "")
        self.current = ""
        self.last_words.clear()

    def finish(self, code):
        if self.plan is None:
            self.report("fail", "", f"printed no plan (1..N); exit code {code}; {self.words()}")
        elif self.seen != self.plan:
            self.report("fail", "", f"planned {self.plan} tests and reported {self.seen}; exit code {code}")
        elif code not in (0, SKIP_EXIT) and not self.failed:
            self.report("fail", "", f"reported no failure but ended with exit code {code}")
        else:
            return 1 if self.failed else 0
        return 1


def run(argv, tap, out):
    """Runs a program to its end, copies its output, and returns 0 if all is well."""
    try:
        program = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as error:
        tap.report("fail", "", f"cannot be started: {error.strerror}")
        return 1
    for line in program.stdout:
        print(line, end="", file=out, flush=True)
        tap.take(line.rstrip("\n"))
    return tap.finish(program.wait())


def guest(argv):
    """Results go to the rig's port; the kernel log learns each test's name, so that a splat has one."""
    program = os.path.basename(argv[0])

    def send(*words):
        os.write(9, ("\t".join(re.sub(r"[\t\r\n]", " ", word) for word in words) + "\n").encode())

    def report(verdict, name, reason):
        full = f"{program}: {name}" if name else program
        send(verdict, full, *([] if verdict == "pass" else [reason]))

    def begin(name):
        send("begin", f"{program}: {name}")
        with open("/dev/kmsg", "w") as kmsg:
            kmsg.write(f"rig: test: {program}: {name}\n")

    begin(" ".join(argv[1:]))
    print("# run_tap:", " ".join(argv), flush=True)
    return run(argv, Tap(report, begin), sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: run_tap PROGRAM [ARGUMENT...]")
    sys.exit(guest(sys.argv[1:]))
