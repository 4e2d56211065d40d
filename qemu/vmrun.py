#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Boots one VM or two and runs guest scripts in them: the command line, see qemu/README.md."""

import argparse
import collections
import glob
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


SETTINGS = {"timeout": "seconds for the script", "memory": "MiB", "cpus": "virtual CPUs", "mtu": "of eth0"}


class Script:
    """A guest script and what its header asks for.

    settings: numbers; variants: words NAME=VALUE that hold on the debug kernel ("debug") or in a soak ("soak") only.
    """

    def __init__(self, path):
        self.path = path
        self.modules = []
        self.append = []
        self.settings = {}
        self.variants = {"debug": [], "soak": []}
        try:
            lines = open(path, errors="replace").read().split("\n")
        except OSError as error:
            raise Rig(f"{path}: {error.strerror}") from error
        for line in lines:
            if line and not line.startswith("#"):
                break
            header = re.match(rf"# (modules|append|debug|soak|{'|'.join(SETTINGS)}):\s*(.*?)\s*$", line)
            if header:
                self.take(header[1], header[2])

    def take(self, name, value):
        if name == "modules":
            self.modules.append(value.split())
        elif name == "append":
            self.append.append(value)
        elif name in self.variants:
            self.variants[name] += value.split()
        else:
            self.settings[name] = int(value)


def environment(options):
    modules = (options.modules * 2)[:2]
    rig = (("VMS", options.vms), ("MODULE_A", modules[0]), ("MODULE_B", modules[1]), ("MTU", options.mtu),
           ("SHELL_ONLY", int(options.shell)), ("KERNEL", "debug" if options.debug else "stock"), ("SEED", options.seed))
    return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in (*rig, *options.variables.items()))


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


def shell(options):
    with tempfile.TemporaryDirectory(prefix="rig.") as work:
        initrd = build_initrd(options, work)
        return subprocess.call(machine.qemu_base(options, initrd, "a", 1) + machine.qemu_link(options)
                               + ["-serial", "mon:stdio"])


def run_once(options, name):
    folder = results.run_folder(name, options.results)
    record = results.Results(folder, name)
    # Socket paths have room for some 100 characters: the folder is in /tmp, wherever the checkout is.
    locks = slots.take(options.cache, options.vms)
    with tempfile.TemporaryDirectory(prefix="rig.") as work:
        began = time.monotonic()
        session.Run(options, folder, record, build_initrd(options, work), work).execute()
    for lock in locks:
        lock.close()
    print(f"# {name}: {time.monotonic() - began:.0f} s, logs in {os.path.relpath(folder)}", flush=True)
    return record.count


def arguments():
    parser = argparse.ArgumentParser(prog="qemu/run.sh", description="Run guest scripts in one VM or two; see qemu/README.md.")
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help="one guest script, or two, or a folder with a.sh and b.sh")
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


def complete(options):
    """Fills in what the command line left open; returns the module combinations to run."""
    options.cache = kernel_env("cache")
    options.kernel = options.kernel or kernel_env("debug" if options.debug else "kernel")
    options.ours = options.module or os.path.join(TOP, "build/debug/kernel" if options.debug else "kernel")
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
    words = options.env
    if scripts:
        settings.update(scripts[0].settings)
        words = variant_words(options, scripts[0]) + words
        options.append = " ".join(scripts[0].append + [options.append])
    options.variables = {}
    for name, value in map(split_word, words):
        if name in SETTINGS:
            settings[name] = int(value)
        else:
            options.variables[name] = value
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
    path = f"debug/{path}" if options.debug else path
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
