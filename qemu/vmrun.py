#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Boots one VM or two and runs guest scripts in them: the command line, see qemu/README.md."""

import argparse
import collections
import copy
import glob
import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import initramfs
import machine
import results
import session
import slots
from initramfs import TOP, Rig

# A debug kernel runs some times slower, and its shadow memory and its records need room.
DEBUG_SLOWER = 3
DEBUG_MEBIBYTES = 768
MODULES = ("ours", "stock", "none")
# This exit code says that tests have failed and were counted; any other but 0, that something else went wrong.
SOME_FAILED = 3


SETTINGS = {"timeout": "seconds for the script", "memory": "MiB", "cpus": "virtual CPUs", "mtu": "of eth0"}


class Script:
    """A guest script and what its header asks for.

    settings: numbers; variants: words NAME=VALUE that hold on the debug kernel ("debug") or in a soak ("soak") only.
    """

    def __init__(self, path):
        self.path = path
        self.modules = []
        self.append = []
        self.alone = False
        self.settings = {}
        self.variants = {"debug": [], "soak": []}
        try:
            lines = open(path, errors="replace").read().split("\n")
        except OSError as error:
            raise Rig(f"{path}: {error.strerror}") from error
        for line in lines:
            if line and not line.startswith("#"):
                break
            header = re.match(rf"# (modules|append|alone|debug|soak|{'|'.join(SETTINGS)}):\s*(.*?)\s*$", line)
            if header:
                self.take(header[1], header[2])

    def take(self, name, value):
        if name == "modules":
            self.modules.append(value.split())
        elif name == "append":
            self.append.append(value)
        elif name == "alone":
            self.alone = True
        elif name in self.variants:
            self.variants[name] += value.split()
        else:
            self.settings[name] = int(value)


def lines(*variables):
    return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in variables)


def machine_environment(options):
    return lines(("VMS", options.vms), ("MTU", options.mtu), ("SHELL_ONLY", int(options.shell)),
                 ("KERNEL", "debug" if options.debug else "stock"))


def test_environment(options):
    modules = (options.modules * 2)[:2]
    return lines(("TEST", options.name), ("MODULE_A", modules[0]), ("MODULE_B", modules[1]), ("SEED", options.seed),
                 *options.variables.items())


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as out:
        out.write(text)
    return path


def build_initrd(options, tests, work):
    """Base, overlay and this run's own files, one after the other. Guests run what is in /rds/run/0, /rds/run/1, ..."""
    base = initramfs.base(options.kernel, os.path.join(options.cache, "initramfs"))
    extra = {"run/env": write(work, "env", machine_environment(options))}
    # and those that tests need, built beside it
    for module in glob.glob(os.path.join(options.ours, "*.ko")) + glob.glob(os.path.join(options.ours, "../selftests/*/*.ko")):
        extra[f"kernel/{os.path.basename(module)}"] = module
    for number, test in enumerate(tests):
        extra[f"run/{number}/env"] = write(work, f"env.{number}", test_environment(test))
        for role, script in zip("ab", test.scripts):
            extra[f"run/{number}/script-{role}"] = script
    overlay = os.path.join(work, "overlay.cpio")
    initramfs.overlay(base, overlay, extra)
    initrd = os.path.join(work, "initrd")
    with open(initrd, "wb") as out:
        for part in (base, overlay):
            with open(part, "rb") as source:
                out.write(source.read())
    os.unlink(overlay)
    return initrd


def shell(options):
    with tempfile.TemporaryDirectory(prefix="rig.") as work:
        initrd = build_initrd(options, [options], work)
        return subprocess.call(machine.qemu_base(options, initrd, "a", 1) + machine.qemu_link(options)
                               + ["-serial", "mon:stdio"])


def run_together(tests, name):
    """Runs tests, whose machines must be alike, one after the other in the same machines."""
    options = copy.copy(tests[0])
    options.memory = max(test.memory for test in tests)
    folder = results.run_folder(name, options.results)
    record = results.Results(folder, name)
    # Socket paths have room for some 100 characters: the folder is in /tmp, wherever the checkout is.
    locks = slots.take(options.cache, options.vms)
    with tempfile.TemporaryDirectory(prefix="rig.") as work:
        began = time.monotonic()
        run = session.Run(options, tests, folder, record, build_initrd(options, tests, work), work)
        run.execute()
    for lock in locks:
        lock.close()
    for test, seconds in run.durations() if len(tests) > 1 else []:
        print(f"# {test.name}: {seconds:.0f} s")
    print(f"# {name}: {time.monotonic() - began:.0f} s, logs in {os.path.relpath(folder)}", flush=True)
    return record.count


def arguments():
    parser = argparse.ArgumentParser(prog="qemu/run.sh", description="Run guest scripts in one VM or two; see qemu/README.md.")
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT",
                        help="one guest script, or two, or a folder with a.sh and b.sh")
    parser.add_argument("--modules", help="ours, stock or none; for two VMs A,B (default: the script's header)")
    parser.add_argument("--name", help="name of the run and of its results folder (default: from the script)")
    for setting, what in SETTINGS.items():
        parser.add_argument(f"--{setting}", type=int, help=f"{what} (default: the script's header)")
    parser.add_argument("--kernel", help="folder with vmlinuz and lib/modules (default: the stock kernel)")
    parser.add_argument("--debug", action="store_true", help="the kernel and the module of 'make debug-kernel'")
    parser.add_argument("--module", help="folder with rds_sockets.ko (default: the one made for the kernel)")
    parser.add_argument("--soak", action="store_true", help="what the script's header says for 'make soak'")
    parser.add_argument("--seed", type=int, default=1, help="SEED for the script (default: 1)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for the script")
    parser.add_argument("--append", default="", help="more words for the kernel command line")
    # A /dev/kvm that exists need not work, and results should not depend on the machine: TCG unless asked otherwise.
    parser.add_argument("--accel", default="tcg", help="QEMU's accelerator (default: tcg)")
    parser.add_argument("--results", default=results.FOLDER, help="folder for logs")
    parser.add_argument("--batch", action="store_true",
                        help="each SCRIPT, or NAME=SCRIPT, is a test; those whose machines are alike share them")
    parser.add_argument("--shell", action="store_true", help="no script: a shell on this terminal")
    return parser.parse_args()


def kernel_env(what):
    return initramfs.run(os.path.join(TOP, "tools/kernel-env"), what).strip()


def variant_words(options, script):
    return [word for variant in ("debug", "soak") if getattr(options, variant) for word in script.variants[variant]]


def split_word(word):
    name, equals, value = word.partition("=")
    if not equals or not name.isidentifier():
        raise Rig(f"'{word}' is not NAME=VALUE")
    return name, value


def set_up(options):
    """What is the same for all tests of this call."""
    options.cache = kernel_env("cache")
    options.kernel = options.kernel or kernel_env("debug" if options.debug else "kernel")
    options.ours = options.module or os.path.join(TOP, "build/debug/kernel" if options.debug else "kernel")
    options.slower = DEBUG_SLOWER if options.debug else 1
    if not os.path.isdir(options.kernel):
        raise Rig(f"no kernel in {options.kernel}; run 'make {'debug-kernel' if options.debug else 'setup'}'")


def scripts_of(path):
    return [os.path.join(path, f"{role}.sh") for role in "ab"] if os.path.isdir(path) else [path]


def tests_of(options, scripts, name=""):
    """Fills in what the command line left open; returns the options of each test, one for each combination of modules."""
    options = copy.copy(options)
    options.scripts = scripts
    options.vms = max(1, len(scripts))
    script = Script(scripts[0]) if scripts else None
    # KASAN ends a machine whose soft-RoCE reads a packet that another CPU has freed, as Linux 6.1's may; see README.md.
    cpus = 2 if options.vms == 1 and not options.debug else 1
    settings = {"timeout": 120, "memory": 1024, "cpus": cpus, "mtu": 9000}
    words = options.env
    options.alone = bool(script) and script.alone
    if script:
        settings.update(script.settings)
        words = variant_words(options, script) + words
        options.append = " ".join(script.append + [options.append])
    options.variables = {}
    for variable, value in map(split_word, words):
        if variable in SETTINGS:
            settings[variable] = int(value)
        else:
            options.variables[variable] = value
    for key, value in settings.items():
        if getattr(options, key) is None:
            setattr(options, key, value)
    if options.debug:
        options.timeout *= DEBUG_SLOWER
        options.memory += DEBUG_MEBIBYTES
    combinations = [options.modules.split(",")] if options.modules else (script and script.modules) or [["ours"]]
    return [with_modules(options, modules, name) for modules in combinations]


def with_modules(options, modules, name):
    options = copy.copy(options)
    check_modules(options, modules)
    options.name = run_name(options, modules, name)
    options.modules = modules
    # It may stay in use when all sockets are closed, and then breaks when soft-RoCE's device goes.
    options.alone = options.alone or "stock" in modules
    return options


def run_name(options, modules, name):
    given = name or options.shell
    if not given:
        path = os.path.realpath(options.scripts[0])
        path = os.path.relpath(path, TOP) if path.startswith(TOP + "/") else os.path.basename(path)
        name = re.sub(r"^selftests/|\.sh$|/a\.sh$", "", path)
        name = re.sub(r"/a$", "", name) if options.vms == 2 else name
        name = f"debug/{name}" if options.debug else name
    exact = set(modules) == {"ours"} or (given and options.modules)
    return name if exact else f"{name}.{'-'.join(modules)}"


def check_modules(options, modules):
    if not set(modules) <= set(MODULES) or len(modules) not in (1, options.vms):
        raise Rig(f"modules '{' '.join(modules)}': one of {', '.join(MODULES)} for each VM")
    ours = os.path.join(options.ours, "rds_sockets.ko")
    if "ours" in modules and not os.path.exists(ours):
        raise Rig(f"{ours} does not exist; run 'make{' debug-kernel' if options.debug else ''}' first")


def kind(test):
    """Tests with the same can run in the same machines."""
    return test.vms, test.cpus, test.mtu, test.append


def batches(tests):
    """Yields lists of tests that can share machines. The order of tests that share them is kept."""
    yield from ([test] for test in tests if test.alone)
    sharing = sorted((test for test in tests if not test.alone), key=kind)
    yield from (list(group) for _, group in itertools.groupby(sharing, kind))


def wanted_tests(options):
    if options.batch:
        members = [member.rpartition("=") for member in options.scripts]
        return [test for name, _, path in members for test in tests_of(options, scripts_of(path), name)]
    scripts = scripts_of(options.scripts[0]) if len(options.scripts) == 1 else options.scripts
    if len(scripts) > 2 or bool(scripts) == options.shell:
        raise Rig("give one guest script, or two, or --shell")
    return tests_of(options, scripts, options.name)


def main():
    options = arguments()
    set_up(options)
    tests = wanted_tests(options)
    if options.shell:
        return shell(tests[0])
    count = collections.Counter()
    for number, batch in enumerate(batches(tests) if options.batch else ([test] for test in tests)):
        name = f"{options.name}.{number}" if len(batch) > 1 else batch[0].name
        count += run_together(batch, name)
    print(f"{count['pass']} passed, {count['fail']} failed, {count['skip']} skipped")
    if count["fail"]:
        return SOME_FAILED
    return 0 if count["pass"] else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        sys.exit(main())
    except Rig as error:
        sys.exit(f"qemu/run.sh: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
