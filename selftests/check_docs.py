#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks the tables in Documentation/ that name tests, in TAP."""

import sys

import compatibility
import doc_tables
import known_bugs

tap = doc_tables.Tap(known_bugs.PLAN + compatibility.PLAN)
tests = doc_tables.programs()
known_bugs.check(tap, tests)
compatibility.check(tap, tests)
sys.exit(1 if tap.failed else 0)
