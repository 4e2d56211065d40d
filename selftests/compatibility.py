# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks Documentation/compatibility.md: each section is there, and in it each row of abi_rows.py; each line says what
a program sees here, and names tests that exist, one at least with the section's number in its name. A test that has a
section's number in its name must be named."""

import os.path
import re

import doc_tables as tables
from abi_rows import ROWS

SECTIONS = [*range(1, 18), 19]
PLAN = len(SECTIONS)
VERDICTS = r"(as (mainline|Debian|\d)|better: \w|see section \d|comes with \w)"


def numbers(cell):
    """The row numbers of "1, 3-5"; none in "-"."""
    found = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", cell):
        found += range(int(first), int(last or first) + 1)
    return found


def is_of(section, reference, tests):
    """Whether a test that is named has the section's number in its name; of a script, what it checks."""
    pattern = rf"(^|_|\b)abi{section}(_|\b)"
    path = tables.path_of(reference)
    if path and os.path.isfile(path):
        return bool(re.search(pattern, tables.read(path)))
    return any(re.search(pattern, name) for name in tables.matching(reference, tests))


def test_faults(section, number, verdict, named, tests):
    """What is wrong with the tests of a row, as sentences."""
    if verdict.startswith("comes with"):
        return []
    if not tables.references(named):
        return ["no test"]
    if number == "-" or verdict.startswith("see section"):
        return []
    if not any(is_of(section, reference, tests) for reference in tables.references(named)):
        return [f"no test has abi{section} in its name"]
    return []


def row_faults(section, row, tests):
    """What is wrong with a row, as sentences, and the numbers it has."""
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    if len(cells) != 4:
        return [f"{cells[0]}: {len(cells)} cells"], []
    number, what, verdict, named = cells
    faults = tables.not_existing(named, tests)
    if not re.match(VERDICTS, verdict):
        faults.append(f"{verdict!r} is no verdict")
    if number != "-" and not numbers(number):
        faults.append(f"{number!r} is no row")
    faults += test_faults(section, number, verdict, named, tests)
    return [f"{what}: {sentence}" for sentence in faults], numbers(number)


def missing(section, present):
    """Rows that are not there, and rows that are none, as sentences."""
    rows = ROWS.get(section, [])
    return [f"row {number} ({what}) is not there" for number, what in enumerate(rows, 1) if number not in present] + \
           [f"there is no row {number}" for number in sorted(set(present)) if number > len(rows)]


def rows_of(text, section):
    """The table's lines below its two first ones"""
    found = re.search(rf"^## {section}\. .*?(?=^## |\Z)", text, re.M | re.S)
    return re.findall(r"^\|.*\|$", found[0], re.M)[2:] if found else []


def check(tap, tests):
    text = tables.document("compatibility.md")
    for section in SECTIONS:
        rows = rows_of(text, section)
        faults = [] if rows else ["no rows"]
        present = []
        for row in rows:
            wrong, found = row_faults(section, row, tests)
            faults += wrong
            present += found
        faults += missing(section, present)
        faults += tables.not_named(rf"(^|_)abi{section}(_|$)", [text], tests)
        tap.result(f"section {section}", faults)
