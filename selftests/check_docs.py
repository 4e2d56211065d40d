#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks the tables in Documentation/ that name tests, or events and their fields, in TAP."""

import sys

import compatibility
import doc_tables
import known_bugs
import tracing

DOCUMENTS = known_bugs, compatibility, tracing

tap = doc_tables.Tap(sum(document.PLAN for document in DOCUMENTS))
tests = doc_tables.programs()
for document in DOCUMENTS:
    document.check(tap, tests)
sys.exit(1 if tap.failed else 0)
