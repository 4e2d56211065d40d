# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Keeps the number of virtual machines of all runs on this host within what two cores bear."""

import fcntl
import os
import sys
import time

VM_SLOTS = 2


def try_lock(path):
    lock = open(path, "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def take(cache, count):
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
