# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Reliable datagram sockets (AF_RDS) with RDMA.

    from mmap import mmap
    from rds import RdmaSocket

    sock = RdmaSocket()
    sock.bind(("10.9.1.1", 0))
    memory = mmap(-1, 8192)
    mr = sock.get_mr(memory)
    sock.sendto(b"get data, my cookie is %d" % mr, ("10.9.1.2", 4000))
    print(sock.recv(100))           # and the peer has written into memory

RdmaSocket is a socket.socket: select, selectors, asyncio, settimeout, with and
threads work as usual.  What it adds is get_mr(), rdma_write(), rdma_read(),
wait_notification(), counters(), IPv6 addresses, and OSErrors that say what to
do (also in their attribute hint).

Needs the shared library librds; no extension module is compiled.
"""

from ._librds import AF_RDS, SOL_RDS, Status, version
from ._memory import MemoryRegion
from ._socket import Message, Notification, RdmaSocket

__all__ = ["AF_RDS", "SOL_RDS", "MemoryRegion", "Message", "Notification",
           "RdmaSocket", "Status", "version"]
