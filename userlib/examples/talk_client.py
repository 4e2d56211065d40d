#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Fetch 8 KiB from talk_server.py: talk_client.py MY_ADDR SERVER_ADDR:PORT"""
import sys
from mmap import mmap
from rds import RdmaSocket

sock, memory = RdmaSocket(), mmap(-1, 8192)
sock.bind(sys.argv[1])
cookie = sock.get_mr(memory)
sock.sendto(b"get data, my cookie is %d" % cookie, sys.argv[2])
assert sock.recv(100) == b"OK"
sys.stdout.buffer.write(memory)
