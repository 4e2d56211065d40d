# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks Documentation/tracing.md: each event of kernel/trace.h has a row, and its line of bpftrace uses fields that there are."""

import os
import re

import doc_tables as tables

PLAN = 2
FIELD = r"__(?:field|array)\(\w+, (\w+)"


def header():
    """Names of the fields that all events have, and all events with those that they have beyond them."""
    text = tables.read(os.path.join(tables.TOP, "kernel/trace.h"))
    common = set(re.findall(FIELD, re.search(r"define RDS_TRACE_COMMON.*?\n\n", text, re.S)[0]))
    classes, events = {}, {}
    for kind, name, body in re.findall(r"^(TRACE_EVENT|DECLARE_EVENT_CLASS)\((\w+),(.*?)^\);", text, re.M | re.S):
        (events if kind == "TRACE_EVENT" else classes)[name] = set(re.findall(FIELD, body))
    for base, name in re.findall(r"^DEFINE_EVENT\((\w+), (\w+)", text, re.M):
        events[name] = classes[base]
    return common, events


def line_faults(line, common, events):
    faults = []
    for name, body in re.findall(r"tracepoint:rds_sockets:(\w+)(.*?)(?=tracepoint:|$)", line):
        if name not in events:
            faults.append(f"{name} does not exist")
            continue
        faults += [f"{name} has no {field}" for field in re.findall(r"args->(\w+)", body)
                   if field not in common | events[name]]
    return faults


def check(tap, _tests):
    common, events = header()
    text = tables.document("tracing.md")
    rows = re.findall(r"^\| `(rds_\w+)` \|[^|]*\| `(tracepoint:.*)` \|$", text, re.M)
    faults = [f"{name} {what}" for names, what in ((set(events) - {row[0] for row in rows}, "has no row"),
                                                  ({row[0] for row in rows} - set(events), "does not exist"))
              for name in sorted(names)]
    tap.result("trace events have rows", faults or ([] if rows else ["no rows"]))
    faults = [f"{name}'s line is not about it" for name, line in rows if f"rds_sockets:{name} " not in line]
    for _, line in rows:
        faults += line_faults(line, common, events)
    told = set(re.findall(r"`(\w+)`", re.search(r"## What every.*?(?=^## )", text, re.M | re.S)[0]))
    faults += [f"{field} is not explained" for field in sorted(common - told)]
    tap.result("trace events' fields exist", faults)
