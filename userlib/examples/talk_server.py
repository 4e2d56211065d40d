#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Serve 8 KiB of a file to one client: talk_server.py MY_ADDR:PORT FILE"""
import os
import sys
from mmap import ACCESS_READ, mmap
from rds import RdmaSocket

sock, memory = RdmaSocket(), mmap(os.open(sys.argv[2], os.O_RDONLY), 8192, access=ACCESS_READ)
sock.bind(sys.argv[1])
request, client = sock.recvfrom(100)
cookie = int(request.removeprefix(b"get data, my cookie is "))
sock.rdma_write(client, memory, cookie, msg=b"OK")
print(sock.wait_notification(), file=sys.stderr)
