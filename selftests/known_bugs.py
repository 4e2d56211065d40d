# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks Documentation/known-bugs.md: each row is there once, and names tests that exist or the feature that
brings them. Tests that have a row's number in their name and are not named there are told of."""

import re

import doc_tables as tables

ROWS = [f"D{number:02}" for number in range(1, 77)]
PLAN = len(ROWS) + 1


def row_faults(cells, tests):
    """What is wrong with a row, as sentences."""
    if len(cells) != 1:
        return [f"{len(cells)} lines in the table"]
    faults = tables.not_existing(cells[0], tests)
    if not tables.references(cells[0]) and not re.search(r"\bcomes with \w", cells[0]):
        faults.append("neither a test nor a feature")
    return faults


def check(tap, tests):
    table = {}
    for row, cell in re.findall(r"^\| (D\d+) \|[^|]*\|(.*)\|$", tables.document("known-bugs.md"), re.M):
        table.setdefault(row, []).append(cell)
    for row in ROWS:
        cells = table.get(row, [])
        tap.result(row, row_faults(cells, tests), tables.not_named(rf"(^|_){row}(_|$)", cells, tests))
    tap.result("no other rows", sorted(set(table) - set(ROWS)))
