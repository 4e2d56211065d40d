# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""One virtual machine: its QEMU process, its ports, what its console must not show."""

import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import time

import tsc
from initramfs import Rig

BOOT_SECONDS = 240
# A kernel that says nothing for so long before there is a module of ours stands still, as Debian's own does at one boot in
# some dozens under TCG, between two of its initcalls: it gets another chance, and then one more.
BOOT_SILENCE_SECONDS = 90
BOOT_TRIES = 3
SPLAT = re.compile(
    r"WARNING:|BUG:|BUG at|Oops|Call Trace:|Kernel panic|general protection fault|blocked for more than|detected stalls|"
    r"self-detected stall|soft lockup|possible (recursive locking|circular locking|irq lock inversion)|"
    r"inconsistent lock state|suspicious RCU usage|held lock freed|INFO: trying to register non-static key|"
    r"UBSAN:|KASAN:|KFENCE:|kmemleak: [0-9]+ new suspected|refcount_t:|ODEBUG:|list_(add|del) corruption|Out of memory:"
)
ANNOUNCEMENT = re.compile(r"rig: test: (.*)")


def splats(console):
    """Yields (test, line) for each bad line of a console."""
    test = ""
    for line in open(console, errors="replace"):
        announced = ANNOUNCEMENT.search(line)
        if announced:
            test = announced[1].strip()
        elif SPLAT.search(line):
            yield test, line.strip()


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
        self.tries = 0  # of this boot
        self.test = None
        self.process = None
        self.port = None
        self.listener = None
        for path in (self.console, self.output):
            open(path, "w").close()

    def stands_still(self):
        """Has the boot said nothing for long?"""
        size = os.path.getsize(self.console)
        if size != self.console_size:
            self.console_size, self.last_heard = size, time.monotonic()
        return self.state == "booting" and time.monotonic() > self.last_heard + BOOT_SILENCE_SECONDS * self.options.slower

    def start(self, initrd, again=False):
        """Boots it: for the next time, or that time again."""
        self.tries = self.tries + 1 if again else 1
        self.boot += not again
        self.console_size, self.last_heard = 0, time.monotonic()
        self.pending = b""
        self.state = "booting"  # booting, running, ended, between (tests), over; killed
        self.current = ""
        self.results = 0
        self.waiting = None
        self.deadline = time.monotonic() + BOOT_SECONDS * self.options.slower
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
        for test, line in splats(self.console):
            return f"{line}{f' (during {test})' if test else ''}"
        return None


def kernel_command_line(options, role, boot):
    """A splat ends a test's VM at once; a person's shell survives it, and is not talked over by the kernel.

    slab_nomerge: our slab caches are our own, so that /proc/slabinfo and their destruction tell of objects left behind.
    no_timer_check: at boot the kernel waits some milliseconds for interrupts of its timer, which come late on a busy host.
    preempt=none: with PROVE_RCU, Linux 6.1 tests RCU-tasks at boot. If the new thread for that preempts the test between its
    look whether there is one and its own work, each waits for the other for ever: so every third boot ended.
    """
    care = "loglevel=4" if options.shell else "loglevel=7 panic_on_warn=1"
    if options.debug:
        care += " preempt=none"
    rate = tsc.khz() if options.accel == "tcg" else None
    clock = f"tsc_early_khz={rate} " if rate else ""
    return (
        f"console=ttyS0 {care} {clock}panic=-1 oops=panic mitigations=off no5lvl nokaslr tsc=reliable no_timer_check slab_nomerge cryptomgr.notests "
        f"rcupdate.rcu_cpu_stall_timeout=60 random.trust_cpu=on rig.ROLE={role} rig.BOOT={boot} {options.append}"
    )


def qemu_base(options, initrd, role, boot):
    kernel = os.path.join(options.kernel, "vmlinux")
    if not os.path.exists(kernel):
        kernel = os.path.join(options.kernel, "vmlinuz")
    # ACPI of "pc" tells interrupts by programs, which take the debug kernel half a minute for each device.
    chipset = "q35" if options.debug else "pc"
    return [
        "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-machine", chipset, "-accel", options.accel, "-cpu", "max", "-m", str(options.memory), "-smp", str(options.cpus),
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
