#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""trace.py ADDRESS PEER: makes happen what trace events are about, as far as one machine can; both addresses are its own."""

import errno
import select
import socket
import struct
import sys
from mmap import mmap

from rds import SOL_RDS, RdmaSocket, Status

RDS_GET_MR = 2
PATIENCE = 60
CHUNK = b"c" * 512


def bound(address):
    sock = RdmaSocket()
    sock.settimeout(PATIENCE)
    sock.bind((address, 0))
    return sock


def messages(ours, theirs, peer):
    ours.sendto(b"one", theirs.getsockname())
    assert theirs.recv(10) == b"one"
    ours.sendto(b"", (peer, 0))  # ping
    assert ours.recv(10) == b""
    ours.sendto(b"for nobody", (peer, 1))


def send_until_refused(ours, to):
    while True:
        try:
            ours.sendto(CHUNK, socket.MSG_DONTWAIT, to)
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return
            if error.errno != errno.EAGAIN:
                raise
            select.select([], [ours], [], PATIENCE)


def congestion(ours, theirs):
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    send_until_refused(ours, theirs.getsockname())
    while select.select([theirs], [], [], 0)[0]:
        theirs.recv(len(CHUNK))
    ours.sendto(b"again", theirs.getsockname())
    while theirs.recv(len(CHUNK)) != b"again":
        pass


def keys(ours, theirs):
    region = theirs.get_mr(mmap(-1, 4096))
    cookie = int(region)
    ours.rdma_write(theirs.getsockname(), b"data", cookie)
    assert ours.wait_notification().status == Status.SUCCESS
    region.free()
    ours.rdma_write(theirs.getsockname(), b"data", cookie)
    assert ours.wait_notification().status == Status.REMOTE_ERROR
    try:
        theirs.setsockopt(SOL_RDS, RDS_GET_MR, struct.pack("4Q", 0, 4096, 0, 0))
    except OSError:
        return
    raise AssertionError("what is not mapped was registered")


def main(address, peer):
    with bound(address) as ours, bound(peer) as theirs:
        messages(ours, theirs, peer)
        keys(ours, theirs)
        congestion(ours, theirs)


main(*sys.argv[1:])
