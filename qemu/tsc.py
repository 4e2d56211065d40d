# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The rate of this machine's time stamp counter, which is also that of a guest under TCG.

A guest measures it at boot against a timer of QEMU's. On a busy host that timer is late, and the guest's clock then
runs many times too fast for ever: its time-outs end at once, its retries give up. So it is told.
"""

import ctypes
import mmap
import platform
import time

READ_TSC = bytes.fromhex("0f31" "48c1e220" "4809d0" "c3")  # rdtsc; shl rdx, 32; or rax, rdx; ret
SECONDS = 0.2
TRIES = 20


def reader():
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(READ_TSC)
    function = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    function.page = page
    return function


def now(read):
    """Both clocks at the same moment: of several tries, the one that was interrupted least."""
    def once():
        before = time.monotonic_ns()
        tsc = read()
        after = time.monotonic_ns()
        return after - before, before, tsc
    return min(once() for _ in range(TRIES))[1:]


def khz():
    """None where there is no such counter."""
    if platform.machine() != "x86_64":
        return None
    try:
        read = reader()
    except OSError:  # no memory may be executed here
        return None
    began, first = now(read)
    time.sleep(SECONDS)
    ended, last = now(read)
    return round((last - first) * 1e6 / (ended - began))

