# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""RdmaSocket, a socket.socket of family AF_RDS."""

import collections
import ctypes
import errno
import itertools
import math
import select
import socket
import struct
import time
from ctypes import byref

from . import _librds
from ._librds import (AF_RDS, Addr, Call, Incoming, Iovec, Msghdr, Notify,
                      Outgoing, Rdma, Snapshot, Status, lib, libc_call)
from ._memory import Exported, MemoryRegion

_MESSAGE_MAX = 1 << 20          # bytes of payload
_CONTROL_SIZE = 32 * _librds.NOTIFY_MAX
_CMSGHDR = struct.Struct("@Nii")
_CMSG_ALIGN = struct.calcsize("@N")
_OWN_TOKENS = 1 << 63           # tokens that nobody gave count up from here
_CONGESTION_RETRY = 0.02        # seconds; a readable socket hides the wake-up

Notification = collections.namedtuple("Notification", "token status")
Notification.__doc__ = """The end of an RDMA operation: its token and a Status."""

_MessageFields = collections.namedtuple("Message", "data ancdata msg_flags address")


class Message(_MessageFields):
    """What recvmsg() gives: the tuple that socket.socket.recvmsg() does, and

    cookie         the key that the peer sent along, or None
    notifications  list of Notification; then there is no message: address is None
    """

    cookie = None
    notifications = ()


def _status(number):
    try:
        return Status(number)
    except ValueError:
        return number               # a newer kernel knows more


def _aligned(size):
    return (size + _CMSG_ALIGN - 1) & -_CMSG_ALIGN


def _pack_ancdata(ancdata):
    packed = bytearray()
    for level, kind, data in ancdata:
        data = bytes(data)
        packed += _CMSGHDR.pack(_CMSGHDR.size + len(data), level, kind) + data
        packed += bytes(_aligned(len(packed)) - len(packed))
    return packed


def _unpack_ancdata(control):
    ancdata = []
    while len(control) >= _CMSGHDR.size:
        size, level, kind = _CMSGHDR.unpack_from(control)
        if size < _CMSGHDR.size:
            break
        ancdata.append((level, kind, bytes(control[_CMSGHDR.size:size])))
        control = control[_aligned(size):]
    return ancdata


def _as_list(buffers):
    """One buffer, or a list or tuple of them."""
    return list(buffers) if isinstance(buffers, (list, tuple)) else [buffers]


def _iovecs(exports, limit=None):
    """The memory of @exports, cut to @limit bytes in all."""
    iovecs = []
    for exported in exports:
        size = exported.length if limit is None else min(exported.length, limit)
        if limit is not None:
            limit -= size
        iovecs.append(exported.iovec(size))
        if limit == 0:
            break
    if limit:
        raise ValueError("length is more than the buffer holds")
    return (Iovec * len(iovecs))(*iovecs)


class _Held(list):
    """Exported buffers, released together."""

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.release()

    def add(self, buffers, writable=False):
        self.extend(Exported(buffer, writable) for buffer in buffers)
        return self

    def release(self):
        for exported in self:
            exported.release()


class RdmaSocket(socket.socket):
    """A reliable datagram socket with RDMA.

    Addresses are (host, port) for IPv4, (host, port, flowinfo, scope_id) for
    IPv6, or strings "HOST:PORT".  Time-outs set with settimeout() hold for
    every call that waits.

    Each RDMA operation ends with one Notification.  recvmsg() returns them as
    they come; recv() and its kin look for messages and keep notifications for
    wait_notification().
    """

    def __init__(self, family=AF_RDS, type=socket.SOCK_SEQPACKET, proto=0, fileno=None):
        self._regions = set()
        self._in_flight = {}        # token -> buffers of its operations, in order
        self._notifications = collections.deque()
        self._tokens = itertools.count(_OWN_TOKENS)
        self._original = None       # what this is a dup() of
        self._duplicated = False
        try:
            super().__init__(family, type, proto, fileno)
        except OSError as error:
            raise _librds.error_of(Call.OPEN, -error.errno) from None

    # -- addresses

    def bind(self, address):
        addr = Addr.parse(address)
        _librds.check(Call.OPEN, lib.rds_bind(self.fileno(), byref(addr)))

    def connect(self, address):
        addr = Addr.parse(address)
        _librds.check(Call.CONNECT, libc_call("connect", self.fileno(), byref(addr), len(addr)))

    def connect_ex(self, address):
        try:
            self.connect(address)
        except OSError as error:
            return error.errno
        return 0

    def getsockname(self):
        addr = Addr()
        result = lib.rds_local_addr(self.fileno(), byref(addr))
        if result == -errno.ENOTCONN:
            return ("0.0.0.0", 0)   # as for any other unbound socket
        _librds.check(Call.OPEN, result)
        return addr.to_python()

    def getpeername(self):
        addr = Addr()
        _librds.check(Call.CONNECT, lib.rds_peer_addr(self.fileno(), byref(addr)))
        return addr.to_python()

    # -- waiting

    def _retry(self, call, function, events, flags=0):
        """function() until it no longer would block, as the time-out wants it."""
        timeout = self.gettimeout()
        may_wait = timeout and not flags & socket.MSG_DONTWAIT
        deadline = time.monotonic() + timeout if may_wait else None
        while True:
            result = function()
            if result >= 0:
                return result
            if result == -errno.EINTR:
                continue            # signal handlers have run and did not raise
            congested = result == -errno.ENOBUFS and events == select.POLLOUT
            if not may_wait or not (congested or _librds.would_block(result)):
                raise _librds.error_of(call, result)
            self._wait(call, deadline, events, congested)

    def _wait(self, call, deadline, events, congested):
        left = deadline - time.monotonic()
        if left <= 0:
            raise _librds.error_of(call, -errno.ETIMEDOUT)
        poller = select.poll()
        if congested:
            # the socket is writable all the time; a map from the peer ends this
            poller.register(self, select.POLLWRBAND)
            left = min(left, _CONGESTION_RETRY)
        else:
            poller.register(self, events)
        poller.poll(math.ceil(left * 1000))

    # -- sending

    def _send(self, call, buffers, address, flags, **parts):
        addr = Addr.parse(address) if address is not None else None
        with _Held().add(buffers) as payload:
            iov = _iovecs(payload)
            out = Outgoing(iov=iov, iovcnt=len(iov), **parts)
            if addr is not None:
                out.to = ctypes.pointer(addr)
            return self._retry(call, lambda: lib.rds_sendmsg(self.fileno(), byref(out), flags),
                               select.POLLOUT, flags)

    def send(self, data, flags=0):
        return self._send(Call.SEND, [data], None, flags)

    def sendall(self, data, flags=0):
        self.send(data, flags)      # a message goes whole or not at all

    def sendto(self, data, *flags_and_address, cookie=0):
        """sendto(data, address) or sendto(data, flags, address).

        @cookie, or a MemoryRegion of this socket, travels beside the payload and
        comes out as the cookie of the peer's recvmsg().
        """
        if len(flags_and_address) not in (1, 2):
            raise TypeError("sendto() takes data, perhaps flags, and an address")
        flags = flags_and_address[0] if len(flags_and_address) == 2 else 0
        return self._send(Call.SEND, [data], flags_and_address[-1], flags, dest=int(cookie))

    def sendmsg(self, buffers, ancdata=(), flags=0, address=None):
        addr = Addr.parse(address) if address is not None else None
        control = _pack_ancdata(ancdata)
        with _Held().add([*buffers, control]) as held:
            iov = _iovecs(held[:-1])
            msg = Msghdr(iov=iov, iovlen=len(iov), controllen=len(control))
            msg.control = held[-1].address if control else None
            if addr is not None:
                msg.name, msg.namelen = ctypes.addressof(addr), len(addr)
            return self._retry(Call.SEND,
                               lambda: libc_call("sendmsg", self.fileno(), byref(msg), flags),
                               select.POLLOUT, flags)

    # -- RDMA

    def get_mr(self, buffer, *, write=True, use_once=False, invalidate=False):
        """Register a buffer (mmap, bytearray, memoryview, array, numpy, ...).

        Whoever has the cookie of the MemoryRegion may read and write those bytes.
        write=False: read-only buffers will do; only a read-only mapping makes sure
        that peers cannot write.  @use_once: the first operation revokes the cookie.
        """
        flags = ((_librds.RDMA_READWRITE if write else 0) |
                 (_librds.RDMA_USE_ONCE if use_once else 0) |
                 (_librds.RDMA_INVALIDATE if invalidate else 0))
        region = MemoryRegion(self, buffer, flags)
        self._regions.add(region)
        return region

    def rdma_write(self, address, buffer, cookie, length=None, token=None, msg=b"", *,
                   offset=0, fence=False):
        """Write a buffer into the peer's, then deliver msg to the peer.

        buffer  bytes-like, or a list of them; the first @length bytes are sent
        cookie  the peer's; the bytes go to @offset from the start of its buffer
        token   comes back in the Notification; None: a fresh one
        Returns the token.  The buffer stays exported until the notification was
        received: change it before, and the peer may get either content.
        """
        return self._rdma("write", address, buffer, cookie, length, token, msg, offset, fence)

    def rdma_read(self, address, buffer, cookie, length=None, token=None, msg=b"", *,
                  offset=0, fence=False):
        """Read from the peer's buffer into a writable one; otherwise as rdma_write().

        The bytes are there once the notification has come.  @fence: what is sent
        later waits for the read to end.
        """
        return self._rdma("read", address, buffer, cookie, length, token, msg, offset, fence)

    def _rdma(self, direction, address, buffer, cookie, length, token, msg, offset, fence):
        token = next(self._tokens) if token is None else token
        local = _Held().add(_as_list(buffer), writable=direction == "read")
        try:
            iov = _iovecs(local, length)
            flags = _librds.RDMA_NOTIFY_ME | (_librds.RDMA_FENCE if fence else 0)
            op = Rdma(cookie=int(cookie), offset=offset, iov=iov, iovcnt=len(iov),
                      flags=flags, token=token)
            self._send(Call.RDMA, [msg], address, 0, **{direction: ctypes.pointer(op)})
        except BaseException:
            local.release()
            raise
        self._in_flight.setdefault(token, collections.deque()).append(local)
        return token

    def _take(self, notifications):
        """Take note of what the kernel reported: those buffers are free again."""
        taken = []
        for notify in notifications:
            held = self._in_flight.get(notify.token)
            if held:
                held.popleft().release()
            if held is not None and not held:
                del self._in_flight[notify.token]
            taken.append(Notification(notify.token, _status(notify.status)))
        return taken

    def wait_notification(self, timeout=...):
        """The next Notification, of whichever operation; messages stay queued.

        Waits up to @timeout seconds, None for ever; left out: the socket's time-out.
        """
        if self._notifications:
            return self._notifications.popleft()
        timeout = self.gettimeout() if timeout is ... else timeout
        deadline = None if timeout is None else time.monotonic() + timeout
        notify = Notify()
        result = -errno.EINTR
        while result == -errno.EINTR:
            left = -1
            if deadline is not None:
                left = math.ceil(max(0, deadline - time.monotonic()) * 1000)
            result = lib.rds_wait_notify(self.fileno(), byref(notify), left)
        if result == -errno.ETIMEDOUT and timeout == 0:
            result = -errno.EAGAIN
        _librds.check(Call.RECV, result)
        return self._take([notify])[0]

    # -- receiving

    def _receive(self, buffers, flags):
        """One recvmsg(2) into buffers: bytes, what came with them, flags, raw control."""
        addr, incoming = Addr(), Incoming()
        control = bytearray(_CONTROL_SIZE)
        with _Held().add([*buffers, control], writable=True) as held:
            iov = _iovecs(held[:-1])
            msg = Msghdr(name=ctypes.addressof(addr), iov=iov, iovlen=len(iov),
                         control=held[-1].address)

            def receive():
                msg.namelen, msg.controllen = ctypes.sizeof(addr), _CONTROL_SIZE
                return libc_call("recvmsg", self.fileno(), byref(msg), flags)

            size = self._retry(Call.RECV, receive, select.POLLIN, flags)
            _librds.check(Call.RECV, lib.rds_parse_msghdr(byref(msg), byref(incoming)))
        return size, incoming, msg.flags, memoryview(control)[:msg.controllen]

    def _receive_message(self, buffers, flags):
        """The same for messages only; notifications are kept for later."""
        while True:
            received = self._receive(buffers, flags)
            incoming = received[1]
            self._notifications += self._take(incoming.notify[:incoming.nr_notify])
            if incoming.what & _librds.IN_MESSAGE or not received[3]:
                return received

    def recvmsg_into(self, buffers, ancbufsize=0, flags=0):
        """As socket.socket's; ancbufsize is ignored, there is always enough room."""
        buffers = list(buffers)
        if self._notifications:
            return self._message(0, Incoming(), 0, b"")
        size, incoming, msg_flags, control = self._receive(buffers, flags)
        self._notifications += self._take(incoming.notify[:incoming.nr_notify])
        return self._message(size, incoming, msg_flags, control)

    def _message(self, data, incoming, msg_flags, control):
        message = Message(data, _unpack_ancdata(control), msg_flags,
                          incoming.from_.to_python())
        if incoming.what & _librds.IN_COOKIE:
            message.cookie = incoming.cookie
        if not incoming.what & _librds.IN_MESSAGE:
            message.notifications = list(self._notifications)
            self._notifications.clear()
        return message

    def recvmsg(self, bufsize=_MESSAGE_MAX, ancbufsize=0, flags=0):
        """The next message, or the notifications that are due: a Message.

        ancbufsize is ignored: there is always room for what RDS sends.
        """
        buffer = bytearray(bufsize)
        message = self.recvmsg_into([buffer], ancbufsize, flags)
        whole = message._replace(data=bytes(memoryview(buffer)[:message.data]))
        whole.__dict__.update(message.__dict__)
        return whole

    def recv_into(self, buffer, nbytes=0, flags=0):
        return self.recvfrom_into(buffer, nbytes, flags)[0]

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        view = memoryview(buffer).cast("B")
        if nbytes < 0 or nbytes > len(view):
            raise ValueError("nbytes is negative or more than the buffer holds")
        size, incoming, _flags, _control = self._receive_message([view[:nbytes or None]], flags)
        return size, incoming.from_.to_python()

    def recvfrom(self, bufsize, flags=0):
        buffer = bytearray(bufsize)
        size, address = self.recvfrom_into(buffer, 0, flags)
        return bytes(memoryview(buffer)[:size]), address

    def recv(self, bufsize, flags=0):
        return self.recvfrom(bufsize, flags)[0]

    # -- the rest

    def counters(self):
        """The kernel's RDS counters, {name: value}."""
        snapshot = Snapshot()
        _librds.check(Call.INFO, lib.rds_snapshot(self.fileno(), _librds.INFO_COUNTERS,
                                                  byref(snapshot)))
        try:
            records = [_librds.InfoCounter.from_address(snapshot.data + i * snapshot.stride)
                       for i in range(snapshot.count)]
            return {record.name.decode(): record.value for record in records}
        finally:
            lib.rds_snapshot_free(byref(snapshot))

    def dup(self):
        """Another descriptor of the same kernel socket; regions last as long as either."""
        copy = super().dup()
        copy._original = self
        self._duplicated = True
        return copy

    def close(self):
        super().close()
        # Peers may reach the memory for as long as the kernel has the socket.  With a
        # duplicate, or a file made of it, the buffers stay held until nobody refers to any.
        if self.fileno() >= 0 or self._duplicated:
            return
        for region in self._regions:
            region._forget()
        self._regions.clear()
        for held in itertools.chain.from_iterable(self._in_flight.values()):
            held.release()
        self._in_flight.clear()
