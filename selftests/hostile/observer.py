#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""observer.py ADDRESS PORT ONE OTHER: the machine that hostile peers are let loose on tells what it sees.

Over TCP, one line a command and one line an answer, "ok ..." or "err ERRNO": sockets are opened and used as asked,
counters and memory read. Sockets live as long as the connection that asked for them. Meanwhile two sockets of the
addresses ONE and OTHER, both of this machine, exchange numbered messages over RDMA: the bystanders, who must not notice
anything.
"""

import errno
import mmap
import os
import re
import socket
import sys
import threading
import time

from rds import RdmaSocket

PERIOD = 251
TILE = bytes(range(PERIOD))
BYSTANDER_PORTS = 7001, 7002
BYSTANDER_SIZES = 10, 0, 5000
PAUSE = 0.02
SECONDS = 120
MESSAGE_MAX = 1 << 20


def pattern(size, seed):
    """The bytes that frame.c calls pattern()."""
    tile = bytes((i * 31 + seed) % PERIOD for i in TILE)
    return (tile * (size // PERIOD + 1))[:size]


class Bystanders(threading.Thread):
    """Two sockets; each message must arrive, once, in order, unchanged."""

    def __init__(self, addresses):
        super().__init__(daemon=True)
        self.sockets = []
        for address, port in zip(addresses, BYSTANDER_PORTS):
            self.sockets.append(RdmaSocket())
            self.sockets[-1].bind((address, port))
            self.sockets[-1].settimeout(SECONDS)
        self.names = [(a, p) for a, p in zip(addresses, BYSTANDER_PORTS)]
        self.rounds = 0
        self.wrong = ""

    def message(self, sender, size):
        text = b"%d %d " % (sender, self.rounds)
        return (text + pattern(size, self.rounds))[:size] if size else b""

    def one_round(self):
        for sender, receiver in ((0, 1), (1, 0)):
            sent = [self.message(sender, size) for size in BYSTANDER_SIZES]
            for data in sent:
                self.sockets[sender].sendto(data, self.names[receiver])
            for data in sent:
                got, source = self.sockets[receiver].recvfrom(MESSAGE_MAX)
                if got != data or source[:2] != self.names[sender]:
                    return f"round {self.rounds}: {len(got)} bytes from {source} in place of {len(data)}"
        return ""

    def run(self):
        while not self.wrong:
            try:
                self.wrong = self.one_round()
            except OSError as error:
                self.wrong = f"round {self.rounds}: {error}"
            self.rounds += 1
            time.sleep(PAUSE)

    def more(self, rounds):
        goal, end = self.rounds + rounds, time.monotonic() + SECONDS
        while self.rounds < goal and not self.wrong and time.monotonic() < end:
            time.sleep(PAUSE)
        if self.wrong or self.rounds < goal:
            print(f"bystanders: {self.wrong or 'too slow'}", flush=True)
            raise OSError(errno.EIO, self.wrong)


class Desk:
    """What one connection asked for."""

    def __init__(self, bystanders):
        self.bystanders = bystanders
        self.sockets = {}
        self.regions = {}       # by cookie: memory, region
        self.next = 1
        self.read = b""

    def answer(self, line):
        word, *args = line.split()
        try:
            result = getattr(self, f"do_{word}")(*args)
        except OSError as error:
            return f"err {error.errno or errno.EIO}"
        return f"ok {' '.join(map(str, result or ()))}"

    def close(self):
        for sock in self.sockets.values():
            sock.close()

    # -- sockets

    def do_open(self, address, port, rcvbuf):
        sock = RdmaSocket()
        sock.settimeout(SECONDS)
        if int(rcvbuf):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(rcvbuf))
        try:
            sock.bind((address, int(port)))
        except OSError:
            sock.close()
            raise
        self.sockets[self.next] = sock
        self.next += 1
        return self.next - 1, sock.getsockname()[1]

    def do_close(self, handle):
        self.sockets.pop(int(handle)).close()

    def do_send(self, handle, address, port, size, seed, cookie):
        """One message; fails at once where it would have to wait."""
        data = pattern(int(size), int(seed))
        self.sockets[int(handle)].sendto(data, socket.MSG_DONTWAIT, (address, int(port)), cookie=int(cookie))

    def do_recv(self, handle, seed):
        """Port it comes from, size, whether it is pattern(seed), cookie."""
        message = self.sockets[int(handle)].recvmsg(MESSAGE_MAX)
        good = message.data == pattern(len(message.data), int(seed))
        return message.address[1], len(message.data), int(good), message.cookie or 0

    def do_drain(self, handle):
        """Messages that are there, and their bytes."""
        count = total = 0
        buffer = bytearray(MESSAGE_MAX)
        while True:
            try:
                total += self.sockets[int(handle)].recv_into(buffer, 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return count, total
            count += 1

    # -- RDMA

    def do_map(self, handle, size, seed, once):
        memory = mmap.mmap(-1, int(size))
        memory[:] = pattern(int(size), int(seed))
        region = self.sockets[int(handle)].get_mr(memory, use_once=bool(int(once)))
        self.regions[region.cookie] = memory, region
        return region.cookie,

    def do_unmap(self, cookie):
        self.regions[int(cookie)][1].free()

    def do_look(self, cookie, offset, size, seed):
        """Is that part of the memory pattern(seed)?"""
        memory = self.regions[int(cookie)][0]
        return int(memory[int(offset):int(offset) + int(size)] == pattern(int(size), int(seed))),

    def do_write(self, handle, address, port, cookie, offset, size, seed):
        """RDMA write and its message."""
        self.sockets[int(handle)].rdma_write((address, int(port)), pattern(int(size), int(seed)), int(cookie),
                                             offset=int(offset))

    def do_read(self, handle, address, port, cookie, offset, size, _seed):
        """RDMA read and its message."""
        self.read = bytearray(int(size))
        self.sockets[int(handle)].rdma_read((address, int(port)), self.read, int(cookie), offset=int(offset))

    def do_status(self, handle, seed):
        """How the next operation ended, and whether what was read last is pattern(seed)."""
        status = self.sockets[int(handle)].wait_notification().status
        return int(status), int(self.read == pattern(len(self.read), int(seed)))

    # -- the machine

    def do_counter(self, name):
        with RdmaSocket() as sock:
            return sock.counters()[name],

    def do_bystanders(self, rounds):
        self.bystanders.more(int(rounds))

    def do_memory(self):
        """KiB that are not available."""
        info = dict(re.findall(r"^(\w+):\s+(\d+) kB", open("/proc/meminfo").read(), re.M))
        return int(info["MemTotal"]) - int(info["MemAvailable"]),

    def do_objects(self, cache):
        """Objects in use of a slab cache of the module's."""
        shrink = f"/sys/kernel/slab/{cache}/shrink"
        if os.path.exists(shrink):
            with open(shrink, "w") as file:
                file.write("1")
        return next(int(line.split()[1]) for line in open("/proc/slabinfo") if line.startswith(cache + " ")),

    @staticmethod
    def replace(path, value):
        """Write a value; what was there."""
        with open(path) as file:
            old = file.read().strip()
        with open(path, "w") as file:
            file.write(value)
        return old,

    def do_sysctl(self, name, value):
        """Set one of the module's sysctls; what it was."""
        return self.replace(f"/proc/sys/net/rds/{name}", value)


def serve(connection, bystanders):
    desk = Desk(bystanders)
    with connection, connection.makefile("rw") as lines:
        try:
            for line in lines:
                print(f"< {line.strip()}", flush=True)
                reply = desk.answer(line)
                print(f"> {reply}", flush=True)
                lines.write(reply + "\n")
                lines.flush()
        except ConnectionError:
            pass                # a test that failed
        finally:
            desk.close()


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: observer.py ADDRESS PORT ONE OTHER")
    bystanders = Bystanders(sys.argv[3:5])
    bystanders.start()
    bystanders.more(1)
    listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
    print("observer is ready", flush=True)
    while True:
        serve(listener.accept()[0], bystanders)


if __name__ == "__main__":
    main()
