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
from machine import Machine

UNLOAD_SECONDS = 60
KILL_GRACE_SECONDS = 20


class Run:
    """One run of one VM or two, from boot to verdict."""

    def __init__(self, options, folder, record, initrd, sockets):
        self.options = options
        self.folder = folder
        self.record = record
        self.initrd = initrd
        roles = "ab"[:options.vms]
        self.machines = [Machine(role, options, folder, sockets) for role in roles]
        self.values = {}
        self.failed = False
        self.selector = selectors.DefaultSelector()

    # -- one VM's affairs -------------------------------------------------------------------------------------------

    def start(self, machine):
        machine.start(self.initrd)
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
        self.record.add(verdict, name, reason, self.who(machine))

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

    def on_hello(self, machine, _boot):
        machine.state = "running"
        machine.deadline = time.monotonic() + self.options.timeout

    def on_begin(self, machine, name):
        machine.current = name

    def on_pass(self, machine, name):
        self.result("pass", machine, name)

    def on_fail(self, machine, name, reason):
        self.result("fail", machine, name, reason)

    def on_skip(self, machine, name, reason):
        self.result("skip", machine, name, reason)

    def on_end(self, machine, code):
        machine.state = "ended"
        machine.deadline = None
        if code != "0":
            self.result("fail", machine, "script", f"ended with exit code {code}")
        elif not machine.results and not any(m.results for m in self.machines):
            self.result("fail", machine, "script", "reported no result")

    def on_bye(self, machine):
        machine.state = "over"
        machine.deadline = time.monotonic() + KILL_GRACE_SECONDS

    def on_put(self, machine, key, value):
        self.values[key] = value

    def on_sync(self, machine, name):
        machine.waiting = ("sync", name)

    def on_get(self, machine, key):
        machine.waiting = ("get", key)

    def on_wait(self, machine, what):
        machine.waiting = ("wait", what)

    def on_peer(self, machine, what):
        peer = self.peer(machine)
        if not peer:
            machine.answer("gone", "there is no other VM")
            return
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
        elif kind == "wait" and gone:
            machine.answer("ok")
            machine.deadline = time.monotonic() + UNLOAD_SECONDS * self.options.slower
        elif kind != "wait" and gone:
            machine.answer("gone", "the other VM has ended")

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
                        "ended": "unloading did not end"}[machine.state]
                self.give_up(machine, f"time is up: {what}")
            self.stop(machine, "killed")

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

    def execute(self):
        try:
            self.loop()
        finally:
            for machine in self.machines:
                self.stop(machine, "killed")
        for machine in self.machines:
            splat = machine.splat()
            if splat and not self.failed:
                self.result("fail", machine, "kernel log", splat)
