# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests that a table in Documentation/ names: which there are, and whether a name is one of them."""

import fnmatch
import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path):
    with open(path) as file:
        return file.read()


def document(name):
    return read(os.path.join(TOP, "Documentation", name))


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


def matching(reference, tests):
    """The names of a program's tests that "program.pattern" stands for."""
    program, _, pattern = reference.partition(".")
    return [name for name in tests.get(program, ()) if fnmatch.fnmatchcase(name, pattern)]


def path_of(reference):
    """Of a script or folder that is named, None: it is none."""
    paths = os.path.join(TOP, "selftests", reference), os.path.join(TOP, reference)
    return next((path for path in paths if os.path.exists(path)), None)


def exists(reference, tests):
    return bool(path_of(reference) or matching(reference, tests))


def references(cell):
    return re.findall(r"`([^`]+)`", cell)


def not_existing(cell, tests):
    """As sentences"""
    return [f"{reference} does not exist" for reference in references(cell) if not exists(reference, tests)]


def not_named(pattern, cells, tests):
    """Tests whose name matches the regular expression that no cell names, as sentences."""
    named = [reference for cell in cells for reference in references(cell)]
    full = [f"{program}.{name}" for program, names in tests.items() for name in names if re.search(pattern, name, re.I)]
    return [f"{test} is not named" for test in full
            if not any(fnmatch.fnmatchcase(test, reference) for reference in named)]


class Tap:
    """Reports each row, and what is wrong with it."""

    def __init__(self, plan):
        self.number = self.failed = 0
        print(f"TAP version 13\n1..{plan}")

    def result(self, name, faults, remarks=()):
        self.number += 1
        self.failed += bool(faults)
        for sentence in [*faults, *remarks]:
            print(f"# {name}: {sentence}")
        print(f"{'not ok' if faults else 'ok'} {self.number} {name}")
