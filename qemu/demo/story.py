#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tells a newcomer what a run of the demonstration did, from the files that it left in its results folder."""

import json
import os
import re
import sys

EVENT = re.compile(r"\s([0-9]+\.[0-9]+): (rds_\w+): (.*)$")
STATE = re.compile(r"(\S+) -> (\S+) tos \d+: (\w+) -> (\w+)")
OPERATION = re.compile(r"(\S+) -> (\S+) (write|read) rkey (\S+) at (\S+) len (\d+)")
KEY = re.compile(r"cookie (\S+) len (\d+)")


class Side:
    """What one VM left behind."""

    def __init__(self, folder, role):
        self.folder = folder
        self.role = role
        self.events = [EVENT.search(line).groups() for line in self.lines("trace") if EVENT.search(line)]

    def lines(self, name):
        path = os.path.join(self.folder, f"{self.role}.{name}")
        try:
            return open(path, errors="replace").read().splitlines()
        except OSError:
            return []

    def found(self, event, pattern):
        return [(float(when), *pattern.search(text).groups())
                for when, name, text in self.events if name == event and pattern.search(text)]

    def counter(self, name):
        """How far a kernel counter went during the transfer."""
        before, after = (json.loads("".join(self.lines(f"counters.{when}"))) for when in ("before", "after"))
        return after.get(name, 0) - before.get(name, 0)


def plain(address):
    return address.replace("::ffff:", "")


def tell_connection(client):
    print("1. The client sent its first datagram, and RDS connected the two machines by itself:")
    states = client.found("rds_path_state", STATE)
    for when, ours, theirs, before, after in states:
        if before != after:
            print(f"     +{when - states[0][0]:.3f} s  {plain(ours)} -> {plain(theirs)}   {before} -> {after}")


def tell_keys(client):
    keys = client.found("rds_mr_register", KEY)
    total = sum(int(length) for _, _, length in keys)
    print(f"2. The client registered buffers for RDMA, {len(keys)} times, {total:,} bytes in all, and got a cookie for each,")
    print("   the key with which another machine may write into just these bytes. It sent the cookies in plain datagrams:")
    for _, cookie, length in keys[:3]:
        print(f"     cookie {cookie}  for {int(length):,} bytes")
    if len(keys) > 3:
        print(f"     ... and {len(keys) - 3} more")


def tell_writes(server):
    writes = server.found("rds_op_queued", OPERATION)
    total = sum(int(w[-1]) for w in writes)
    print(f"3. The server wrote its mapped file straight into these buffers: {len(writes)} RDMA writes, {total:,} bytes:")
    for _, _, theirs, kind, rkey, _, length in writes[:3]:
        print(f"     RDMA {kind} of {int(length):,} bytes to {plain(theirs)}, key {rkey}")
    if len(writes) > 3:
        print(f"     ... and {len(writes) - 3} more")


def tell_copies(server, client):
    print("4. What the processors copied between programs and kernel for RDS (requests and answers, not the file):")
    for name, side in (("server", server), ("client", client)):
        print(f"     {name}: {side.counter('copy_from_user'):,} bytes sent, {side.counter('copy_to_user'):,} received as"
              f" datagrams; {side.counter('rdma_copied_bytes'):,} bytes of RDMA done by copying")


def tell_outcome(client):
    digests = [" ".join(client.lines(name)).split(" ")[0] for name in ("digest.theirs", "digest.mine")]
    print("5. The file's SHA-256 digest on each machine:")
    print(f"     server {digests[0]}")
    print(f"     client {digests[1]}   {'the same' if digests[0] and digests[0] == digests[1] else 'DIFFERENT'}")
    print("6. What rds-get said at the end:")
    for line in client.lines("get.log")[-4:]:
        print(f"     {line}")


def main(folder):
    server, client = Side(folder, "a"), Side(folder, "b")
    if not client.events or not server.events:
        sys.exit(f"story: the run left no trace events; see {folder}")
    print("The server is 10.9.1.1 (VM a, rds-serve), the client 10.9.1.2 (VM b, rds-get 10.9.1.1:random.bin).\n")
    tell_connection(client)
    tell_keys(client)
    tell_writes(server)
    tell_copies(server, client)
    tell_outcome(client)
    print()


main(sys.argv[1])
