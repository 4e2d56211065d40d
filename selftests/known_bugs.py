#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks Documentation/known-bugs.md, in TAP: each row is there once, and names tests that exist or the feature that
brings them. Tests that have a row's number in their name and are not named there are told of."""

import fnmatch
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(TOP, "Documentation/known-bugs.md")
ROWS = [f"D{number:02}" for number in range(1, 77)]


def read(path):
    with open(path) as file:
        return file.read()


def names_of_tests(text):
    """TEST(name), TEST_F(fixture, name) of the kselftest harness, KUNIT_CASE(name)."""
    names = re.findall(r"^TEST(?:_SIGNAL)?\((\w+)", text, re.M)
    names += re.findall(r"^TEST_F(?:_TIMEOUT|_SIGNAL)?\(\w+,\s*(\w+)", text, re.M)
    return names + re.findall(r"KUNIT_CASE(?:_PARAM)?\((\w+)", text)


def programs():
    """Tests by program, which is named by its path below the area's folder."""
    found = {}
    for area in "selftests", "kernel/tests":
        for path in glob.glob("**/*.c", root_dir=os.path.join(TOP, area), recursive=True):
            found[path[:-2]] = names_of_tests(read(os.path.join(TOP, area, path)))
    return found


def exists(reference, tests):
    if os.path.exists(os.path.join(TOP, "selftests", reference)) or os.path.exists(os.path.join(TOP, reference)):
        return True
    program, _, pattern = reference.partition(".")
    return any(fnmatch.fnmatchcase(name, pattern) for name in tests.get(program, ()))


def references(cell):
    return re.findall(r"`([^`]+)`", cell)


def row_faults(cells, tests):
    """What is wrong with a row, as sentences."""
    if len(cells) != 1:
        return [f"{len(cells)} lines in the table"]
    named = references(cells[0])
    faults = [f"{reference} does not exist" for reference in named if not exists(reference, tests)]
    if not named and not re.search(r"\bcomes with \w", cells[0]):
        faults.append("neither a test nor a feature")
    return faults


def not_named(row, cells, tests):
    """Tests that a row could name, too."""
    named = [reference for cell in cells for reference in references(cell)]
    full = [f"{program}.{name}" for program, names in tests.items() for name in names
            if re.search(rf"(^|_){row}(_|$)", name, re.I)]
    return [f"{test} is not named" for test in full
            if not any(fnmatch.fnmatchcase(test, reference) for reference in named)]


def main():
    tests = programs()
    table = {}
    for row, cell in re.findall(r"^\| (D\d+) \|[^|]*\|(.*)\|$", read(TABLE), re.M):
        table.setdefault(row, []).append(cell)
    print("TAP version 13")
    print(f"1..{len(ROWS) + 1}")
    failed = 0
    for number, row in enumerate(ROWS, 1):
        cells = table.get(row, [])
        faults = row_faults(cells, tests)
        for sentence in faults + not_named(row, cells, tests):
            print(f"# {row}: {sentence}")
        failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} {row}")
    unknown = sorted(set(table) - set(ROWS))
    print(f"{'not ok' if unknown else 'ok'} {len(ROWS) + 1} no other rows {' '.join(unknown)}")
    return 1 if failed or unknown else 0


sys.exit(main())
