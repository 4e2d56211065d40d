#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the Python package.

    test_rds.py             everything, with RDS in the kernel
    test_rds.py StandIn     only what can be tested without it
    test_rds.py --tap ...   the same as TAP

The addresses are RDS_TEST_ADDR and RDS_TEST_PEER, both of this machine, and
127.0.0.1 if they are not given.
"""

import array
import asyncio
import contextlib
import ctypes
import errno
import mmap
import os
import resource
import select
import selectors
import signal
import socket
import sys
import tempfile
import threading
import unittest

import rds
from rds import RdmaSocket, Status

ADDR = os.environ.get("RDS_TEST_ADDR", "127.0.0.1")
PEER = os.environ.get("RDS_TEST_PEER", ADDR)
PATIENCE = 30       # seconds: only a failure takes so long


@contextlib.contextmanager
def alarm(seconds, handler):
    """Call handler in @seconds, a signal interrupting whatever runs then."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class SocketCalls:
    """What any datagram socket.socket does; self.a and self.b are bound, with time-outs."""

    def test_is_a_socket(self):
        self.assertIsInstance(self.a, socket.socket)
        self.assertEqual(self.a.family, rds.AF_RDS)
        self.assertIn("laddr=", repr(self.a))

    def test_sendto_recvfrom(self):
        self.assertEqual(self.a.sendto(b"hello", self.b.getsockname()), 5)
        self.assertEqual(self.b.recvfrom(100), (b"hello", self.a.getsockname()))

    def test_sendto_with_flags(self):
        self.a.sendto(b"hello", socket.MSG_DONTWAIT, self.b.getsockname())
        self.assertEqual(self.b.recv(100), b"hello")
        with self.assertRaises(TypeError):
            self.a.sendto(b"hello")

    def test_address_as_text(self):
        host, port = self.b.getsockname()[:2]
        self.a.sendto(b"hello", f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        self.assertEqual(self.b.recv(100), b"hello")

    def test_connected(self):
        self.a.connect(self.b.getsockname())
        self.assertEqual(self.a.getpeername(), self.b.getsockname())
        self.assertEqual(self.a.send(b"one"), 3)
        self.a.sendall(memoryview(b"two"))
        self.assertEqual(self.a.sendmsg([b"th", b"", b"ree"]), 5)
        self.assertEqual([self.b.recv(10) for _ in range(3)], [b"one", b"two", b"three"])

    def test_connect_ex(self):
        self.assertEqual(self.a.connect_ex(self.b.getsockname()), 0)

    def test_empty_message(self):
        self.a.sendto(b"", self.b.getsockname())
        self.assertEqual(self.b.recvfrom(10), (b"", self.a.getsockname()))

    def test_recv_into(self):
        buffer = bytearray(8)
        for call, want in (
                (lambda: self.b.recv_into(buffer), 3),
                (lambda: self.b.recv_into(buffer, 2), 2),
                (lambda: self.b.recvfrom_into(buffer), (3, self.a.getsockname()))):
            self.a.sendto(b"abc", self.b.getsockname())
            self.assertEqual(call(), want)
        self.assertEqual(buffer, b"abc\0\0\0\0\0")
        with self.assertRaises(ValueError):
            self.b.recv_into(buffer, 9)

    def test_recvmsg_like_socket_socket(self):
        self.a.sendmsg([b"ab", memoryview(b"cd")], address=self.b.getsockname())
        data, ancdata, flags, address = self.b.recvmsg(10)
        self.assertEqual((data, ancdata, address), (b"abcd", [], self.a.getsockname()))
        self.a.sendto(b"long", self.b.getsockname())
        message = self.b.recvmsg(2)
        self.assertEqual(message.data, b"lo")
        self.assertTrue(message.msg_flags & socket.MSG_TRUNC)

    def test_recvmsg_into(self):
        parts = bytearray(2), bytearray(4)
        self.a.sendto(b"abcd", self.b.getsockname())
        self.assertEqual(self.b.recvmsg_into(parts).data, 4)
        self.assertEqual(parts, (b"ab", b"cd\0\0"))

    def test_peek(self):
        self.a.sendto(b"stay", self.b.getsockname())
        select.select([self.b], [], [], PATIENCE)
        self.assertEqual(self.b.recv(10, socket.MSG_PEEK), b"stay")
        self.assertEqual(self.b.recv(10), b"stay")

    def test_timeout(self):
        self.a.settimeout(0.05)
        for call in self.a.recv, self.a.recvmsg, self.a.recvfrom:
            with self.assertRaises(TimeoutError) as raised:
                call(10)
            self.assertEqual(raised.exception.errno, errno.ETIMEDOUT)

    def test_timeout_waits(self):
        timer = threading.Timer(0.1, self.b.sendto, (b"late", self.a.getsockname()))
        timer.start()
        self.assertEqual(self.a.recv(10), b"late")
        timer.join()

    def test_nonblocking(self):
        self.a.setblocking(False)
        with self.assertRaises(BlockingIOError):
            self.a.recv(10)
        self.a.settimeout(None)
        with self.assertRaises(BlockingIOError):
            self.a.recv(10, socket.MSG_DONTWAIT)

    def test_signal_handler_may_raise(self):
        def handler(*_args):
            raise InterruptedError("by the handler")
        for timeout in None, PATIENCE:
            self.a.settimeout(timeout)
            with self.assertRaisesRegex(InterruptedError, "by the handler"), alarm(0.05, handler):
                self.a.recv(10)

    def test_signal_handler_may_return(self):
        def handler(*_args):
            self.b.sendto(b"woken", self.a.getsockname())
        for timeout in None, PATIENCE:
            self.a.settimeout(timeout)
            with alarm(0.05, handler):
                self.assertEqual(self.a.recv(10), b"woken")

    def test_select(self):
        self.assertEqual(select.select([], [self.a], [], PATIENCE)[1], [self.a])
        self.a.sendto(b"x", self.b.getsockname())
        self.assertEqual(select.select([self.b], [], [], PATIENCE)[0], [self.b])

    def test_selectors(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.b, selectors.EVENT_READ, "b")
            self.a.sendto(b"x", self.b.getsockname())
            self.assertEqual([key.data for key, _ in selector.select(PATIENCE)], ["b"])

    def test_asyncio(self):
        async def echo():
            loop = asyncio.get_running_loop()
            data, address = await loop.sock_recvfrom(self.b, 100)
            await loop.sock_sendto(self.b, data.upper(), address)

        async def ask():
            loop = asyncio.get_running_loop()
            await loop.sock_sendto(self.a, b"hello", self.b.getsockname())
            return await loop.sock_recv(self.a, 100)

        async def both():
            return (await asyncio.wait_for(asyncio.gather(echo(), ask()), PATIENCE))[1]

        self.a.setblocking(False)
        self.b.setblocking(False)
        self.assertEqual(asyncio.run(both()), b"HELLO")

    def test_dup_and_detach(self):
        with self.a.dup() as copy:
            self.assertIsInstance(copy, RdmaSocket)
            self.assertEqual(copy.getsockname(), self.a.getsockname())
        with RdmaSocket(fileno=self.a.dup().detach()) as again:
            self.assertEqual(again.getsockname(), self.a.getsockname())

    def test_closed(self):
        self.a.close()
        with self.assertRaises(OSError) as raised:
            self.a.recv(10)
        self.assertEqual(raised.exception.errno, errno.EBADF)

    def test_bad_addresses(self):
        for address, error in (("nonsense:port", OSError), (("::1", -1), OverflowError),
                               (5, TypeError), (("fe80::1%no-such-link", 1), socket.gaierror)):
            with self.assertRaises(error):
                self.a.sendto(b"x", address)

    def test_errors_have_hints(self):
        self.a.setblocking(False)
        with self.assertRaises(BlockingIOError) as raised:
            self.a.recv(1)
        self.assertEqual(raised.exception.hint, "nothing has arrived")
        self.assertIn(raised.exception.hint, str(raised.exception))

    def test_unwritable_needs_permission(self):
        with self.assertRaisesRegex(BufferError, "write=False"):
            self.a.get_mr(b"constant")


class StandIn(SocketCalls, unittest.TestCase):
    """The socket calls over UDP sockets, which behave alike: no RDS needed."""

    FAMILY, HOST = socket.AF_INET, "127.0.0.1"

    def setUp(self):
        self.a, self.b = self.open(), self.open()

    def open(self):
        plain = socket.socket(self.FAMILY, socket.SOCK_DGRAM)
        sock = RdmaSocket(fileno=plain.detach())
        self.addCleanup(sock.close)
        sock.bind((self.HOST, 0))
        sock.settimeout(PATIENCE)
        return sock

    def test_sendmsg_with_ancdata(self):
        # a control message that UDP knows: the source address
        info = socket.inet_aton("127.0.0.1")
        pktinfo = bytes(4) + info + bytes(4)
        self.a.sendmsg([b"x"], [(socket.IPPROTO_IP, 8, pktinfo)], 0, self.b.getsockname())
        self.assertEqual(self.b.recv(10), b"x")

    def test_recvmsg_with_ancdata(self):
        self.b.setsockopt(socket.SOL_SOCKET, 29, 1)     # SO_TIMESTAMP
        self.b.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        self.a.sendto(b"x", self.b.getsockname())
        ancdata = self.b.recvmsg(10).ancdata
        self.assertEqual([(level, kind, len(data)) for level, kind, data in ancdata],
                         [(socket.SOL_SOCKET, 29, 16), (socket.IPPROTO_IP, socket.IP_TOS, 1)])

    def test_failed_region_lets_go(self):
        buffer = bytearray(4096)
        with self.assertRaises(OSError) as raised:
            self.a.get_mr(buffer)
        self.assertIn("not an RDS socket", raised.exception.hint)
        buffer.append(0)

    def test_unbound(self):
        plain = socket.socket(self.FAMILY, socket.SOCK_DGRAM)
        with RdmaSocket(fileno=plain.detach()) as sock:
            self.assertEqual(sock.getsockname(), ("0.0.0.0", 0))

    def test_no_module_is_said(self):
        try:
            RdmaSocket().close()
        except OSError as error:
            if error.errno != errno.EAFNOSUPPORT:
                raise
            self.assertIn("rds_sockets", str(error))

    def test_version(self):
        self.assertRegex(rds.version(), r"^\d+\.\d+\.\d+$")


class Rds(SocketCalls, unittest.TestCase):
    """The same calls and some more over RDS; any module's."""

    def setUp(self):
        self.a, self.b = self.open(ADDR), self.open(PEER)

    def open(self, address):
        sock = RdmaSocket()
        self.addCleanup(sock.close)
        sock.bind((address, 0))
        sock.settimeout(PATIENCE)
        return sock

    def test_bind_errors(self):
        cases = [(self.a.getsockname(), errno.EADDRINUSE, "another RDS socket"),
                 (("192.0.2.1", 0), errno.EADDRNOTAVAIL, "rdma link"),
                 (("0.0.0.0", 0), errno.EINVAL, "not 0.0.0.0")]
        for address, number, part in cases:
            with self.subTest(address), RdmaSocket() as sock:
                with self.assertRaises(OSError) as raised:
                    sock.bind(address)
                self.assertEqual(raised.exception.errno, number)
                self.assertIn(part, raised.exception.hint)

    def test_unbound(self):
        with RdmaSocket() as sock:
            self.assertEqual(sock.getsockname(), ("0.0.0.0", 0))
            with self.assertRaises(OSError) as raised:
                sock.sendto(b"x", self.a.getsockname())
            self.assertEqual(raised.exception.errno, errno.ENOTCONN)

    def test_too_long(self):
        with self.assertRaises(OSError) as raised:
            self.a.sendto(bytes((1 << 20) + 1), self.b.getsockname())
        self.assertEqual(raised.exception.errno, errno.EMSGSIZE)

    def test_counters(self):
        before = self.a.counters()["copy_from_user"]
        self.a.sendto(b"12345", self.b.getsockname())
        self.b.recv(10)
        self.assertEqual(self.a.counters()["copy_from_user"] - before, 5)


class SlowReader(unittest.TestCase):
    """Flow control, which the distribution's module does not have on the loopback."""

    setUp, open = Rds.setUp, Rds.open

    def test_send_waits_for_it(self):
        """Congested or with a full send buffer: the time-out holds, and room ends the wait."""
        payload = bytes(4096)
        self.b.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        self.a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        self.a.settimeout(0.2)
        sent = 0
        with self.assertRaises(TimeoutError):
            while sent < 1000:
                self.a.sendto(payload, self.b.getsockname())
                sent += 1
        self.assertGreater(sent, 3)
        self.a.settimeout(PATIENCE)
        reader = threading.Timer(0.1, lambda: [self.b.recv(4096) for _ in range(sent + 1)])
        reader.start()
        self.assertEqual(self.a.sendto(payload, self.b.getsockname()), 4096)
        reader.join()


class Rdma(unittest.TestCase):
    """Regions and RDMA: the client registers, the server reads and writes."""

    def setUp(self):
        self.client, self.server = self.open(ADDR), self.open(PEER)
        self.to_client = self.client.getsockname()

    open = Rds.open

    def region(self, buffer, **options):
        region = self.client.get_mr(buffer, **options)
        self.addCleanup(region.free)
        return region

    def done(self):
        return self.server.wait_notification(PATIENCE)

    def test_talk(self):
        memory = mmap.mmap(-1, 8192)
        cookie = self.client.get_mr(memory)
        self.client.sendto(b"get data, my cookie is %d" % cookie, self.server.getsockname())

        request, client = self.server.recvfrom(100)
        with tempfile.TemporaryFile() as file:
            file.write(os.urandom(8192))
            file.flush()
            data = mmap.mmap(file.fileno(), 8192, access=mmap.ACCESS_READ)
        token = self.server.rdma_write(client, data, int(request.split()[-1]), 8192, 7, b"OK")

        self.assertEqual(self.client.recv(10), b"OK")
        self.assertEqual(memory[:], data[:])
        self.assertEqual(token, 7)
        self.assertEqual(self.done(), (7, Status.SUCCESS))

    def test_any_writable_buffer(self):
        buffers = [mmap.mmap(-1, 100), bytearray(100), memoryview(bytearray(200))[50:150],
                   (ctypes.c_char * 100)(), array.array("i", range(25)),
                   memoryview(bytearray(100)).cast("B", (10, 10))]
        with contextlib.suppress(ImportError):
            buffers.append(__import__("numpy").zeros((5, 20), dtype="uint8"))
        for buffer in buffers:
            with self.subTest(type(buffer).__name__):
                content = os.urandom(100)
                with self.client.get_mr(buffer) as region:
                    self.assertEqual(region.length, 100)
                    self.server.rdma_write(self.to_client, content, region)
                    self.assertEqual(self.done().status, Status.SUCCESS)
                self.assertEqual(memoryview(buffer).tobytes(), content)

    def test_cookie_is_a_number(self):
        region = self.region(bytearray(10))
        self.assertIsInstance(region.cookie, int)
        self.assertEqual(int(region), region.cookie)
        self.assertEqual("%d" % region, str(region.cookie))
        self.assertEqual(f"{region:#x}", hex(region.cookie))
        self.assertIn(hex(region.cookie), repr(region))

    def test_region_holds_its_buffer(self):
        buffer = bytearray(100)
        with self.client.get_mr(buffer) as region:
            with self.assertRaises(BufferError):
                buffer.append(0)
        buffer.append(0)
        region.free()               # once more does nothing
        region = self.client.get_mr(buffer)
        self.client.close()         # and the socket's end frees all
        buffer.append(0)
        self.assertIn("freed", repr(region))

    def test_region_outlives_its_descriptor(self):
        buffer = bytearray(100)
        region = self.client.get_mr(buffer)
        with self.client.dup():
            self.client.close()
            with self.assertRaises(BufferError):
                buffer.append(0)
            self.server.rdma_write(self.to_client, b"still", region)
            self.assertEqual(self.done().status, Status.SUCCESS)
            self.assertEqual(buffer[:5], b"still")

    def test_region_outlives_its_name(self):
        buffer = bytearray(100)
        cookie = int(self.client.get_mr(buffer))
        self.server.rdma_write(self.to_client, b"still", cookie)
        self.assertEqual(self.done().status, Status.SUCCESS)
        self.assertEqual(buffer[:5], b"still")

    def test_offset_and_length(self):
        buffer = bytearray(20)
        region = self.region(buffer)
        self.server.rdma_write(self.to_client, b"0123456789", region, 4, offset=3)
        self.assertEqual(self.done().status, Status.SUCCESS)
        self.assertEqual(buffer, b"\0\0\0" + b"0123" + bytes(13))
        with self.assertRaises(ValueError):
            self.server.rdma_write(self.to_client, b"0123", region, 5)

    def test_pieces(self):
        buffer = bytearray(10)
        region = self.region(buffer)
        self.server.rdma_write(self.to_client, [b"ab", bytearray(b"cdef"), b"g"], region)
        self.assertEqual(self.done().status, Status.SUCCESS)
        self.assertEqual(buffer, b"abcdefg\0\0\0")
        first, second = bytearray(3), bytearray(9)
        self.server.rdma_read(self.to_client, [first, second], region, 7)
        self.assertEqual(self.done().status, Status.SUCCESS)
        self.assertEqual((first, second), (b"abc", b"defg" + bytes(5)))

    def test_read(self):
        region = self.region(b"constant", write=False)
        buffer = bytearray(8)
        self.server.rdma_read(self.to_client, buffer, region, msg=b"taken")
        with self.assertRaises(BufferError):
            buffer.append(0)        # the operation may not be through
        self.assertEqual(self.done().status, Status.SUCCESS)
        buffer.append(0)
        self.assertEqual(buffer, b"constant\0")
        self.assertEqual(self.client.recv(10), b"taken")
        with self.assertRaises(BufferError):
            self.server.rdma_read(self.to_client, b"constant", region)

    def test_refused(self):
        buffer = bytearray(8)
        region = self.region(buffer)
        self.server.rdma_write(self.to_client, b"012345678", region, token=3)
        self.assertEqual(self.done(), (3, Status.REMOTE_ERROR))
        self.assertEqual(buffer, bytes(8))

    def test_use_once(self):
        buffer = bytearray(8)
        region = self.client.get_mr(buffer, use_once=True)
        self.server.rdma_write(self.to_client, b"one", region, msg=b"OK")
        self.assertEqual(self.done().status, Status.SUCCESS)
        self.assertEqual(self.client.recv(10), b"OK")
        region.free()               # gone already, and no error
        self.server.rdma_write(self.to_client, b"two", region)
        self.assertEqual(self.done().status, Status.REMOTE_ERROR)
        self.assertEqual(buffer[:3], b"one")

    def test_cookie_beside_the_message(self):
        region = self.region(bytearray(8))
        self.client.sendto(b"here", self.server.getsockname(), cookie=region)
        message = self.server.recvmsg()
        self.assertEqual((message.data, message.cookie), (b"here", region.cookie))
        self.assertEqual(message.address, self.to_client)
        self.assertEqual(message.notifications, ())
        self.assertEqual(message.ancdata, [(rds.SOL_RDS, 2, region.cookie.to_bytes(8, sys.byteorder))])

    def test_recvmsg_gives_notifications(self):
        region = self.region(bytearray(8))
        token = self.server.rdma_write(self.to_client, b"x", region)
        message = self.server.recvmsg()
        self.assertEqual((message.data, message.address), (b"", None))
        self.assertEqual(message.notifications, [(token, Status.SUCCESS)])

    def test_recv_keeps_notifications(self):
        region = self.region(bytearray(8))
        for _ in range(3):
            token = self.server.rdma_write(self.to_client, b"x", region, msg=b"OK")
            self.client.recv(10)
        self.client.sendto(b"a message", self.server.getsockname())
        self.assertEqual(self.server.recv(100), b"a message")
        tokens = [self.done().token for _ in range(3)]
        self.assertEqual(tokens, [token - 2, token - 1, token])

    def test_wait_notification_leaves_messages(self):
        region = self.region(bytearray(8))
        self.client.sendto(b"a message", self.server.getsockname())
        select.select([self.server], [], [], PATIENCE)
        self.server.rdma_write(self.to_client, b"x", region)
        self.assertEqual(self.done().status, Status.SUCCESS)
        self.assertEqual(self.server.recv(100), b"a message")

    def test_wait_notification_times_out(self):
        with self.assertRaises(TimeoutError):
            self.server.wait_notification(0.05)
        with self.assertRaises(BlockingIOError):
            self.server.wait_notification(0)
        self.server.settimeout(0.05)
        with self.assertRaises(TimeoutError):
            self.server.wait_notification()

    def test_notification_wakes_asyncio(self):
        async def write_and_wait():
            loop = asyncio.get_running_loop()
            ready = loop.create_future()
            loop.add_reader(self.server, lambda: ready.done() or ready.set_result(None))
            token = self.server.rdma_write(self.to_client, b"x", region)
            await asyncio.wait_for(ready, PATIENCE)
            return token, self.server.wait_notification()

        region = self.region(bytearray(8))
        self.server.setblocking(False)
        token, notification = asyncio.run(write_and_wait())
        self.assertEqual(notification, (token, Status.SUCCESS))

    def test_limit_has_a_hint(self):
        read_end, write_end = os.pipe()
        pid = os.fork()
        if not pid:                 # what an unprivileged user sees
            try:
                resource.setrlimit(resource.RLIMIT_MEMLOCK, (8192, 8192))
                os.setuid(65534)
                self.client.get_mr(bytearray(65536))
            except OSError as error:
                os.write(write_end, f"{error.errno} {error}".encode())
            os._exit(0)
        os.close(write_end)
        os.waitpid(pid, 0)
        with os.fdopen(read_end) as pipe:
            said = pipe.read()
        self.assertTrue(said.startswith(f"{errno.ENOMEM} "), said)
        self.assertIn("ulimit -l", said)


class TapResult(unittest.TestResult):
    """One line for each test, as it ends."""

    def _line(self, test, good, detail=""):
        for line in detail.splitlines():
            print("#", line)
        name = f"{type(test).__name__}.{test._testMethodName}"
        if not isinstance(test, StandIn):
            name = f"{ADDR} to {PEER}: {name}"
        print(f"{'ok' if good else 'not ok'} {self.testsRun} - {name}", flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.before = len(self.failures) + len(self.errors)

    def stopTest(self, test):
        bad = (self.failures + self.errors)[self.before:]
        self._line(test, not bad, "\n".join(detail for _, detail in bad))


def main(argv):
    if argv[:1] != ["--tap"]:
        unittest.main(argv=[sys.argv[0], *argv])
    loader, module = unittest.defaultTestLoader, sys.modules[__name__]
    suite = (loader.loadTestsFromNames(argv[1:], module) if argv[1:]
             else loader.loadTestsFromModule(module))
    result = TapResult()
    suite.run(result)
    print(f"1..{result.testsRun}")
    return not result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
