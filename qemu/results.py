# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Results of a run: printed as they come, kept in the results folder, skips only as allowed."""

import collections
import fnmatch
import os
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
FOLDER = os.environ.get("RESULTS", os.path.join(TOP, "build/results"))


def run_folder(run, parent=FOLDER):
    """Makes the empty folder of a run."""
    folder = os.path.join(parent, run.replace("/", "."))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def allowed_skips():
    lines = [line.split("#")[0].strip() for line in open(os.path.join(HERE, "allowed-skips"))]
    return [line for line in lines if line]


class Results:
    def __init__(self, folder, run, quiet=False):
        self.run = run
        self.quiet = quiet  # print no passes: for hundreds of small tests
        self.count = collections.Counter()
        self.allowed = allowed_skips()
        self.file = open(os.path.join(folder, "results"), "w")

    def add(self, verdict, name, reason="", who="", run=""):
        label = f"{run or self.run}{who}{f': {name}' if name else ''}"
        if verdict == "skip" and not any(fnmatch.fnmatchcase(label, pattern) for pattern in self.allowed):
            verdict, reason = "fail", f"skipped, and qemu/allowed-skips does not list it: {reason}"
        self.count[verdict] += 1
        self.file.write(f"{verdict}\t{label}\t{reason}\n")
        self.file.flush()
        if verdict == "pass" and self.quiet:
            return
        shown = {"pass": "ok   ", "fail": "FAIL ", "skip": "skip "}[verdict]
        print(shown, label + (f" ({reason})" if reason else ""), flush=True)
