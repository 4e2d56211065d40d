#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""duel.py FOLDER ROUNDS MY-ADDRESS... -- PEER-ADDRESS...: both machines connect to each other at the same time.

Runs on both machines, with the same number of addresses. In round r the first machine's address i and the second one's
address i + r send each other a message: so that each round makes a connection for every address, and no pair of
addresses meets twice. A round begins when the file "start.R" is there, and "ready.R" tells that this side is waiting
for it. At last every pair exchanges another message, over the connections that there are. Prints TAP.
"""

import os
import select
import sys
import time

from rds import RdmaSocket

PORT = 4000
LIMIT = 120  # seconds for what takes three round trips


class Side:
    def __init__(self, mine, peers):
        self.peers = peers
        self.first = mine < peers
        self.sockets = []
        self.missing = set()
        self.wrong = []
        for address in mine:
            sock = RdmaSocket()
            sock.bind((address, PORT))
            sock.setblocking(False)
            self.sockets.append(sock)
        self.poll = select.poll()
        for sock in self.sockets:
            self.poll.register(sock, select.POLLIN)
        self.index = {sock.fileno(): i for i, sock in enumerate(self.sockets)}

    def partner(self, i, r):
        return (i + r if self.first else i - r) % len(self.peers)

    def send(self, r, text):
        for k in range(len(self.sockets)):
            # both sides go through the pairs in the same order
            i = k if self.first else (k + r) % len(self.sockets)
            j = self.partner(i, r)
            self.missing.add((i, j, text))
            self.sockets[i].sendto(text, (self.peers[j], PORT))

    def take(self, i):
        try:
            text, sender = self.sockets[i].recvfrom(100)
        except BlockingIOError:
            return
        what = (i, self.peers.index(sender[0]), text)
        if what in self.missing:
            self.missing.remove(what)
        else:
            self.wrong.append(what)

    def receive(self, seconds):
        """Until all is there, or a while longer to see that no more comes."""
        end = time.monotonic() + (seconds if not self.missing else LIMIT)
        while time.monotonic() < end and (self.missing or seconds):
            for fd, _ in self.poll.poll(100):
                self.take(self.index[fd])


def wait_for_start(folder, r):
    open(f"{folder}/ready.{r}", "w").close()
    while not os.path.exists(f"{folder}/start.{r}"):
        time.sleep(0.002)


def verdict(number, good, name, *what):
    for line in what if not good else ():
        print(f"# {line}")
    print(f"{'' if good else 'not '}ok {number} - {name}", flush=True)
    return good


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2])
    split = sys.argv.index("--")
    side = Side(sys.argv[3:split], sys.argv[split + 1:])
    print("1..3", flush=True)
    for r in range(rounds):
        wait_for_start(folder, r)
        side.send(r, b"first")
        side.receive(0)
        if side.missing:
            break
    good = verdict(1, not side.missing, "all connect", sorted(side.missing))
    wait_for_start(folder, rounds)
    for r in range(rounds):
        side.send(r, b"second")
    side.receive(0)
    good &= verdict(2, not side.missing, "and stay connected", sorted(side.missing))
    side.receive(1)
    good &= verdict(3, not side.wrong, "each message once", side.wrong)
    # what is sent by a socket that is closed need not arrive
    wait_for_start(folder, "end")
    return 0 if good else 1


sys.exit(main())
