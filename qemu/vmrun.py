#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Host side of the rig: boots one VM or two, talks with them, judges and keeps what they say.

Each guest has a control port (a unix socket here): lines of tab-separated words. Results come in, and requests
(barriers, values for the other VM, ending it), which are answered with "ok" or "gone" and a text. What a VM does not
say within its time is a failure, and so is whatever its console should not show.
"""

import argparse
import base64
import collections
import ctypes
import fcntl
import glob
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time

import initramfs
import results
import tsc
from initramfs import TOP, Rig

BOOT_SECONDS = 240
UNLOAD_SECONDS = 60
KILL_GRACE_SECONDS = 20
VM_SLOTS = 2
# A debug kernel runs some times slower, and its shadow memory and its records need room.
DEBUG_SLOWER = 3
DEBUG_MEBIBYTES = 768
MODULES = ("ours", "stock", "none")
SPLAT = re.compile(
    r"WARNING:|BUG:|BUG at|Oops|Call Trace:|Kernel panic|general protection fault|blocked for more than|detected stalls|"
    r"self-detected stall|soft lockup|possible (recursive locking|circular locking|irq lock inversion)|"
    r"inconsistent lock state|suspicious RCU usage|held lock freed|INFO: trying to register non-static key|"
    r"UBSAN:|KASAN:|KFENCE:|kmemleak: [0-9]+ new suspected|refcount_t:|ODEBUG:|list_(add|del) corruption|Out of memory:"
)
ANNOUNCEMENT = re.compile(r"rig: test: (.*)")


class Script:
    """A guest script and what its header asks for."""

    def __init__(self, path):
        self.path = path
        self.modules = []
        self.settings = {}
        try:
            lines = open(path, errors="replace").read().split("\n")
        except OSError as error:
            raise Rig(f"{path}: {error.strerror}") from error
        for line in lines:
            if line and not line.startswith("#"):
                break
            header = re.match(r"# (modules|timeout|memory|cpus|mtu):\s*(.*?)\s*$", line)
            if header and header[1] == "modules":
                self.modules.append(header[2].split())
            elif header:
                self.settings[header[1]] = int(header[2])


def end_with_parent():
    """An orphaned VM would eat half the machine for ever."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Machine:
    """One VM: its process, its control port, and how far its script is."""

    def __init__(self, role, options, folder, sockets):
        self.role = role
        self.options = options
        self.console = os.path.join(folder, f"{role}.console")
        self.output = os.path.join(folder, f"{role}.out")
        self.control_path = os.path.join(sockets, f"{role}.control")
        self.monitor_path = os.path.join(sockets, f"{role}.monitor")
        self.link_path = os.path.join(sockets, f"{role}.link")
        self.link_peer = os.path.join(sockets, "b.link" if role == "a" else "a.link")
        self.boot = 0
        self.process = None
        self.port = None
        self.listener = None
        for path in (self.console, self.output):
            open(path, "w").close()

    def start(self, initrd):
        self.boot += 1
        self.pending = b""
        self.state = "booting"  # booting, running, ended, over; killed
        self.current = ""
        self.results = 0
        self.waiting = None
        self.deadline = time.monotonic() + BOOT_SECONDS
        if os.path.exists(self.control_path):
            os.unlink(self.control_path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.control_path)
        self.listener.listen(1)
        if os.path.exists(self.link_path):
            os.unlink(self.link_path)
        with open(self.console, "a") as console:
            self.process = subprocess.Popen(
                qemu_command(self, initrd), stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                preexec_fn=end_with_parent)
        self.listener.settimeout(30)
        self.port = self.listener.accept()[0]
        self.listener.close()

    def answer(self, status, text=""):
        self.waiting = None
        if self.port:  # closed: it has just died, which the loop sees for itself
            self.port.sendall(f"{status}\t{text}\n".encode())

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def monitor(self, command, **values):
        """Has QEMU itself do something."""
        with socket.socket(socket.AF_UNIX) as port:
            port.settimeout(30)
            port.connect(self.monitor_path)
            lines = port.makefile("rw")
            lines.readline()  # who it is
            for request in {"execute": "qmp_capabilities"}, {"execute": command, "arguments": values}:
                lines.write(json.dumps(request) + "\n")
                lines.flush()
                while not ({"return", "error"} & (reply := json.loads(lines.readline())).keys()):
                    pass  # an event
            if "error" in reply:
                raise Rig(f"QEMU does not {command}: {reply['error']['desc']}")

    def splat(self):
        """First bad line of the console, with the test that was running then; None if there is none."""
        test = ""
        for line in open(self.console, errors="replace"):
            announced = ANNOUNCEMENT.search(line)
            if announced:
                test = announced[1].strip()
            elif SPLAT.search(line):
                return f"{line.strip()}{f' (during {test})' if test else ''}"
        return None


def kernel_command_line(options, role, boot):
    """A splat ends a test's VM at once; a person's shell survives it, and is not talked over by the kernel.

    no_timer_check: at boot the kernel waits some milliseconds for interrupts of its timer, which come late on a busy host.
    """
    care = "loglevel=4" if options.shell else "loglevel=7 panic_on_warn=1"
    rate = tsc.khz() if options.accel == "tcg" else None
    clock = f"tsc_early_khz={rate} " if rate else ""
    return (
        f"console=ttyS0 {care} {clock}panic=-1 oops=panic mitigations=off no5lvl nokaslr tsc=reliable no_timer_check cryptomgr.notests "
        f"rcupdate.rcu_cpu_stall_timeout=60 random.trust_cpu=on rig.ROLE={role} rig.BOOT={boot} {options.append}"
    )


def qemu_base(options, initrd, role, boot):
    kernel = os.path.join(options.kernel, "vmlinux")
    if not os.path.exists(kernel):
        kernel = os.path.join(options.kernel, "vmlinuz")
    return [
        "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-machine", "pc", "-accel", options.accel, "-cpu", "max", "-m", str(options.memory), "-smp", str(options.cpus),
        "-kernel", kernel, "-initrd", initrd, "-append", kernel_command_line(options, role, boot),
        "-device", "virtio-rng-pci",
    ]


def qemu_link(options, machine=None):
    """eth0. One VM alone has a link that leads nowhere and is up; two have a pair of datagram sockets."""
    netdev = "hubport,id=link,hubid=0"
    mac = "52:54:00:09:01:01"
    if machine and options.vms == 2:
        netdev = (f"dgram,id=link,local.type=unix,local.path={machine.link_path},"
                  f"remote.type=unix,remote.path={machine.link_peer}")
        mac = "52:54:00:09:01:" + ("01" if machine.role == "a" else "02")
    return ["-netdev", netdev, "-device", f"virtio-net-pci,netdev=link,mac={mac},host_mtu={options.mtu},romfile="]


def qemu_command(machine, initrd):
    return qemu_base(machine.options, initrd, machine.role, machine.boot) + qemu_link(machine.options, machine) + [
        "-chardev", f"file,id=console,path={machine.console},append=on", "-serial", "chardev:console",
        "-qmp", f"unix:{machine.monitor_path},server=on,wait=off",
        "-device", "virtio-serial-pci",
        "-chardev", f"socket,id=control,path={machine.control_path}",
        "-device", "virtserialport,chardev=control,name=rds.control",
        "-chardev", f"file,id=output,path={machine.output},append=on",
        "-device", "virtserialport,chardev=output,name=rds.output",
    ]


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


def environment(options):
    modules = (options.modules * 2)[:2]
    return "".join(f"{name}={value}\n" for name, value in (
        ("VMS", options.vms), ("MODULE_A", modules[0]), ("MODULE_B", modules[1]), ("MTU", options.mtu),
        ("SHELL_ONLY", int(options.shell))))


def build_initrd(options, work):
    """Base, overlay and this run's own files, one after the other."""
    base = initramfs.base(options.kernel, os.path.join(options.cache, "initramfs"))
    env = os.path.join(work, "env")
    with open(env, "w") as out:
        out.write(environment(options))
    extra = {"run/env": env}
    for module in glob.glob(os.path.join(options.ours, "*.ko")):
        extra[f"kernel/{os.path.basename(module)}"] = module
    for role, script in zip("ab", options.scripts):
        extra[f"run/script-{role}"] = script
    overlay = os.path.join(work, "overlay.cpio")
    initramfs.overlay(base, overlay, extra)
    initrd = os.path.join(work, "initrd")
    with open(initrd, "wb") as out:
        for part in (base, overlay):
            with open(part, "rb") as source:
                out.write(source.read())
    os.unlink(overlay)
    return initrd


def try_lock(path):
    lock = open(path, "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def take_slots(cache, count):
    """Waits until no more than two VMs run with this one or these two: they fill two cores, and a starved VM looks as if
    it hung. Returns the locks, which end with this process. One run at a time waits for slots, the others in line for
    that, so that a run of two VMs does not wait for ever for both to be free."""
    names = [os.path.join(cache, f"vm.slot.{number}") for number in range(VM_SLOTS)]
    locks = {}
    with open(os.path.join(cache, "vm.queue"), "w") as queue:
        try:
            fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("rig: waiting for other runs to end", file=sys.stderr, flush=True)
            fcntl.flock(queue, fcntl.LOCK_EX)
        while len(locks) < count:
            for name in names:
                if name not in locks and len(locks) < count:
                    lock = try_lock(name)
                    if lock:
                        locks[name] = lock
            if len(locks) < count:
                time.sleep(0.5)
    return list(locks.values())


def shell(options):
    with tempfile.TemporaryDirectory(prefix="rig.") as work:
        initrd = build_initrd(options, work)
        return subprocess.call(qemu_base(options, initrd, "a", 1) + qemu_link(options) + ["-serial", "mon:stdio"])


def run_once(options, name):
    folder = results.run_folder(name, options.results)
    record = results.Results(folder, name)
    # Socket paths have room for some 100 characters: the folder is in /tmp, wherever the checkout is.
    slots = take_slots(options.cache, options.vms)
    with tempfile.TemporaryDirectory(prefix="rig.") as work:
        began = time.monotonic()
        Run(options, folder, record, build_initrd(options, work), work).execute()
    for slot in slots:
        slot.close()
    print(f"# {name}: {time.monotonic() - began:.0f} s, logs in {os.path.relpath(folder)}", flush=True)
    return record.count


def arguments():
    parser = argparse.ArgumentParser(prog="qemu/run.sh", description="Run guest scripts in one VM or two; see qemu/README.md.")
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help="one guest script, or two, or a folder with a.sh and b.sh")
    parser.add_argument("--modules", help="ours, stock or none; for two VMs A,B (default: the script's header)")
    parser.add_argument("--name", help="name of the run and of its results folder (default: from the script)")
    for setting, what in (("timeout", "seconds for the script"), ("memory", "MiB"), ("cpus", "virtual CPUs"), ("mtu", "of eth0")):
        parser.add_argument(f"--{setting}", type=int, help=f"{what} (default: the script's header)")
    parser.add_argument("--kernel", help="folder with vmlinuz and lib/modules (default: the stock kernel)")
    parser.add_argument("--debug", action="store_true", help="the kernel and the module of 'make debug-kernel'")
    parser.add_argument("--append", default="", help="more words for the kernel command line")
    # A /dev/kvm that exists need not work, and results should not depend on the machine: TCG unless asked otherwise.
    parser.add_argument("--accel", default="tcg", help="QEMU's accelerator (default: tcg)")
    parser.add_argument("--results", default=results.FOLDER, help="folder for logs")
    parser.add_argument("--shell", action="store_true", help="no script: a shell on this terminal")
    return parser.parse_args()


def kernel_env(what):
    return initramfs.run(os.path.join(TOP, "tools/kernel-env"), what).strip()


def complete(options):
    """Fills in what the command line left open; returns the module combinations to run."""
    options.cache = kernel_env("cache")
    options.kernel = options.kernel or kernel_env("debug" if options.debug else "kernel")
    options.ours = os.path.join(TOP, "build/debug/kernel" if options.debug else "kernel")
    options.slower = DEBUG_SLOWER if options.debug else 1
    if not os.path.isdir(options.kernel):
        raise Rig(f"no kernel in {options.kernel}; run 'make {'debug-kernel' if options.debug else 'setup'}'")
    if len(options.scripts) == 1 and os.path.isdir(options.scripts[0]):
        options.scripts = [os.path.join(options.scripts[0], f"{role}.sh") for role in "ab"]
    if len(options.scripts) > 2 or bool(options.scripts) == options.shell:
        raise Rig("give one guest script, or two, or --shell")
    options.vms = max(1, len(options.scripts))
    scripts = [Script(path) for path in options.scripts]
    settings = {"timeout": 120, "memory": 1024, "cpus": 2 if options.vms == 1 else 1, "mtu": 9000}
    if scripts:
        settings.update(scripts[0].settings)
    for key, value in settings.items():
        if getattr(options, key) is None:
            setattr(options, key, value)
    if options.debug:
        options.timeout *= DEBUG_SLOWER
        options.memory += DEBUG_MEBIBYTES
    if options.modules:
        return [options.modules.split(",")]
    return (scripts[0].modules if scripts else None) or [["ours"]]


def run_name(options, modules):
    if options.name:
        return options.name
    path = os.path.realpath(options.scripts[0])
    path = os.path.relpath(path, TOP) if path.startswith(TOP + "/") else os.path.basename(path)
    path = re.sub(r"^selftests/|\.sh$|/a\.sh$", "", path)
    path = re.sub(r"/a$", "", path) if options.vms == 2 else path
    path += ".debug" if options.debug else ""
    return path if set(modules) == {"ours"} else f"{path}.{'-'.join(modules)}"


def check_modules(options, modules):
    if not set(modules) <= set(MODULES) or len(modules) not in (1, options.vms):
        raise Rig(f"modules '{' '.join(modules)}': one of {', '.join(MODULES)} for each VM")
    ours = os.path.join(options.ours, "rds_sockets.ko")
    if "ours" in modules and not os.path.exists(ours):
        raise Rig(f"{ours} does not exist; run 'make{' debug-kernel' if options.debug else ''}' first")


def main():
    options = arguments()
    combinations = complete(options)
    for modules in combinations:
        check_modules(options, modules)
    count = collections.Counter()
    for modules in combinations:
        options.modules = modules
        if options.shell:
            return shell(options)
        count += run_once(options, run_name(options, modules))
    print(f"{count['pass']} passed, {count['fail']} failed, {count['skip']} skipped")
    return 0 if count["pass"] and not count["fail"] else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        sys.exit(main())
    except Rig as error:
        sys.exit(f"qemu/run.sh: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
