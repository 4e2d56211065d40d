# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks Documentation/compatibility.md: each section is there, each of its rows says what a program sees here, and
names tests that exist. A test that has a section's number in its name must be named."""

import re

import doc_tables as tables

SECTIONS = [*range(1, 18), 19]
PLAN = len(SECTIONS)
VERDICTS = r"(as (mainline|Debian|\d)|better: \w|see section \d|comes with \w)"


def row_faults(row, tests):
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    if len(cells) != 3:
        return [f"{cells[0]}: {len(cells)} cells"]
    what, verdict, named = cells
    faults = [f"{what}: {sentence}" for sentence in tables.not_existing(named, tests)]
    if not re.match(VERDICTS, verdict):
        faults.append(f"{what}: {verdict!r} is no verdict")
    if not tables.references(named) and not verdict.startswith("comes with"):
        faults.append(f"{what}: no test")
    return faults


def rows_of(text, section):
    """The table's lines below its two first ones"""
    found = re.search(rf"^## {section}\. .*?(?=^## |\Z)", text, re.M | re.S)
    return re.findall(r"^\|.*\|$", found[0], re.M)[2:] if found else []


def check(tap, tests):
    text = tables.document("compatibility.md")
    for section in SECTIONS:
        rows = rows_of(text, section)
        faults = [] if rows else ["no rows"]
        for row in rows:
            faults += row_faults(row, tests)
        faults += tables.not_named(rf"(^|_)abi{section}(_|$)", [text], tests)
        tap.result(f"section {section}", faults)
