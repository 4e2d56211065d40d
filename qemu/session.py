# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A run of one VM or two: talks with them, and judges and keeps what they say.

Each guest has a control port (a unix socket here): lines of tab-separated words. Results come in, and requests
(barriers, values for the other VM, ending it), which are answered with "ok" or "gone" and a text. What a VM does not
say within its time is a failure, and so is whatever its console should not show.
"""

import base64
import os
import selectors
import time

from initramfs import Rig
from machine import BOOT_TRIES, Machine

# With the search for leaks after everything, which takes minutes on a busy machine
UNLOAD_SECONDS = 120
KILL_GRACE_SECONDS = 20


class Run:
    """One run of one VM or two, from boot to verdict: one test or several, one after the other."""

    def __init__(self, options, tests, folder, record, initrd, sockets):
        self.options = options
        self.tests = tests
        self.begun = []  # when each test began
        self.folder = folder
        self.record = record
        self.initrd = initrd
        roles = "ab"[:options.vms]
        self.machines = [Machine(role, options, folder, sockets) for role in roles]
        self.values = {}
        self.failed = False
        self.selector = selectors.DefaultSelector()

    # -- one VM's affairs -------------------------------------------------------------------------------------------

    def start(self, machine, again=False):
        machine.start(self.initrd, again)
        self.selector.register(machine.port, selectors.EVENT_READ, machine)

    def stop(self, machine, state):
        self.close(machine)
        machine.kill()
        machine.state = state
        machine.waiting = None

    def close(self, machine):
        if machine.port:
            self.selector.unregister(machine.port)
            machine.port.close()
            machine.port = None

    def who(self, machine):
        return f"/{machine.role}" if self.options.vms == 2 else ""

    def result(self, verdict, machine, name, reason=""):
        machine.results += 1
        run = machine.test.name if machine.test else self.record.run
        self.record.add(verdict, name, reason, self.who(machine), run)

    def peer(self, machine):
        return next((m for m in self.machines if m is not machine), None)

    def give_up(self, machine, what):
        """A VM broke off: say which, in which test, why, and end the run."""
        if self.failed:
            return
        self.failed = True
        splat = machine.splat()
        test = f" in test '{machine.current}'" if machine.current else ""
        self.result("fail", machine, "verdict", f"{what}{test}{f'; console: {splat}' if splat else ''}")

    # -- requests ---------------------------------------------------------------------------------------------------

    def handle(self, machine, words):
        kind, rest = words[0], words[1:]
        handler = getattr(self, "on_" + kind, None)
        if not handler:
            raise Rig(f"VM {machine.role} sent what nobody understands: {words!r}")
        handler(machine, *rest)

    def on_test(self, machine, number):
        """It begins with the next test."""
        number = int(number)
        machine.state = "running"
        machine.test = self.tests[number]
        machine.current = ""
        machine.results = 0
        machine.deadline = time.monotonic() + machine.test.timeout
        if number == len(self.begun):
            self.begun.append(time.monotonic())
            self.values.clear()

    def on_tests_ended(self, machine):
        """What follows is not one test's affair."""
        machine.test = None
        machine.deadline = time.monotonic() + UNLOAD_SECONDS * self.options.slower

    def on_begin(self, machine, name):
        machine.current = name

    def on_pass(self, machine, name):
        self.result("pass", machine, name)

    def on_fail(self, machine, name, reason):
        self.result("fail", machine, name, reason)

    def on_skip(self, machine, name, reason):
        self.result("skip", machine, name, reason)

    def on_end(self, machine, code):
        """It waits for the other one: both leave a test at the same time, so that neither misses the other's end."""
        machine.state = "ended"
        machine.deadline = None
        machine.waiting = ("end", "")
        if code != "0":
            self.result("fail", machine, "script", f"ended with exit code {code}")

    def on_bye(self, machine):
        machine.state = "over"
        machine.deadline = time.monotonic() + KILL_GRACE_SECONDS

    def on_put(self, machine, key, value):
        self.values[key] = value

    def on_sync(self, machine, name):
        machine.waiting = ("sync", name)

    def on_get(self, machine, key):
        machine.waiting = ("get", key)

    def on_peer(self, machine, what):
        peer = self.peer(machine)
        if not peer:
            machine.answer("gone", "there is no other VM")
            return
        if len(self.tests) > 1:
            raise Rig(f"{machine.test.name} ends the other VM and does not say '# alone:'")
        self.stop(peer, "killed")
        if what == "reboot":
            self.start(peer)
        machine.answer("ok")

    def on_link(self, machine, state):
        machine.monitor("set_link", name="link", up=state == "up")
        machine.answer("ok")

    def on_save(self, machine, name):
        open(self.saved(machine, name), "w").close()

    def on_data(self, machine, name, chunk):
        with open(self.saved(machine, name), "ab") as out:
            out.write(base64.b64decode(chunk))

    def saved(self, machine, name):
        return os.path.join(self.folder, f"{machine.role}.{os.path.basename(name)}")

    # -- what waits for the other VM --------------------------------------------------------------------------------

    def settle(self):
        """Answers the requests that can be answered now."""
        for machine in self.machines:
            if machine.waiting:
                self.settle_one(machine, self.peer(machine), *machine.waiting)

    def settle_one(self, machine, peer, kind, name):
        gone = not peer or peer.state in ("ended", "over", "killed")
        if kind == "get" and name in self.values:
            machine.answer("ok", self.values[name])
        elif kind == "sync" and peer and peer.waiting == machine.waiting:
            peer.answer("ok")
            machine.answer("ok")
        elif kind == "end" and gone:
            self.leave_test(machine, peer)
        elif kind != "end" and gone:
            machine.answer("gone", "the other VM has ended")

    def leave_test(self, *machines):
        """From now on the end of this test does not stand for that of the next."""
        if not any(machine.results for machine in self.machines):
            self.result("fail", machines[0], "script", "reported no result")
        for machine in machines:
            if machine and machine.waiting == ("end", ""):
                machine.answer("ok")
                machine.deadline = time.monotonic() + UNLOAD_SECONDS * self.options.slower
                machine.state = "ended" if machine.test is self.tests[-1] else "between"

    # -- the loop ---------------------------------------------------------------------------------------------------

    def read(self, machine):
        try:
            data = machine.port.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.close(machine)
            return
        *lines, machine.pending = (machine.pending + data).split(b"\n")
        for line in lines:
            self.handle(machine, line.decode(errors="replace").split("\t"))

    def watch(self, machine):
        """Ends what is over, and notices what has died or hangs."""
        if machine.state == "killed":
            return
        if machine.process.poll() is not None:
            self.drain(machine)
            if machine.state != "over":
                self.give_up(machine, "the VM ended by itself")
            self.stop(machine, "killed")
        elif machine.deadline and time.monotonic() > machine.deadline:
            if machine.state != "over":
                what = {"booting": "the VM did not start its script", "running": "the script did not end",
                        "ended": "unloading did not end", "between": "the next test did not begin"}[machine.state]
                self.give_up(machine, f"time is up: {what}")
            self.stop(machine, "killed")
        elif machine.stands_still() and machine.tries < BOOT_TRIES:
            print(f"# {self.record.run}{self.who(machine)}: the kernel's boot stands still: it is started again", flush=True)
            self.stop(machine, "killed")
            self.start(machine, again=True)

    def drain(self, machine):
        """What a VM said before it ended still counts."""
        while machine.port:
            self.read(machine)

    def loop(self):
        for machine in self.machines:
            self.start(machine)
        while any(m.state != "killed" for m in self.machines) and not self.failed:
            for key, _ in self.selector.select(0.2):
                if key.data.port is key.fileobj:  # not closed by what came just before
                    self.read(key.data)
            for machine in self.machines:
                self.watch(machine)
            self.settle()

    def durations(self):
        """Yields (test, seconds)"""
        ends = [*self.begun[1:], self.ended]
        return ((test, end - begin) for test, begin, end in zip(self.tests, self.begun, ends))

    def execute(self):
        try:
            self.loop()
        finally:
            for machine in self.machines:
                self.stop(machine, "killed")
        self.ended = time.monotonic()
        for test in self.tests[len(self.begun):]:
            self.record.add("fail", "", "did not begin", run=test.name)
        for machine in self.machines:
            splat = machine.splat()
            if splat and not self.failed:
                self.result("fail", machine, "kernel log", splat)
