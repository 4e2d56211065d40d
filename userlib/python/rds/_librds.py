# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The C library, as ctypes sees it: structs, prototypes, errors."""

import ctypes
import enum
import errno
import os
import socket
from ctypes import (POINTER, Structure, Union, byref, c_char, c_char_p, c_int,
                    c_int32, c_size_t, c_ssize_t, c_uint8, c_uint16, c_uint32,
                    c_uint64, c_void_p)

AF_RDS = 21
SOL_RDS = 276

INFO_COUNTERS = 10000

RDMA_READWRITE = 0x01
RDMA_FENCE = 0x02
RDMA_INVALIDATE = 0x04
RDMA_USE_ONCE = 0x08
RDMA_NOTIFY_ME = 0x20

NOTIFY_MAX = 32

IN_MESSAGE = 0x01
IN_COOKIE = 0x08


class Status(enum.IntEnum):
    """How an RDMA operation ended."""
    SUCCESS = 0
    REMOTE_ERROR = 1        # the peer's key does not allow it
    CANCELED = 2
    DROPPED = 3             # the connection broke: done or not, nobody knows
    OTHER_ERROR = 4


class Call(enum.IntEnum):
    """Which call an error came from, for the hint."""
    ADDR = 0
    OPEN = 1
    CONNECT = 2
    SEND = 3
    RDMA = 4
    GET_MR = 5
    FREE_MR = 6
    RECV = 7
    INFO = 8


# what the socket module's users expect of an unknown host
_RESOLVER_ERRORS = {errno.ENOENT: socket.EAI_NONAME, errno.EAGAIN: socket.EAI_AGAIN}


class Iovec(Structure):
    _fields_ = [("base", c_void_p), ("len", c_size_t)]


class Msghdr(Structure):
    _fields_ = [("name", c_void_p), ("namelen", c_uint32),
                ("iov", POINTER(Iovec)), ("iovlen", c_size_t),
                ("control", c_void_p), ("controllen", c_size_t),
                ("flags", c_int)]


class _SockaddrIn(Structure):
    _fields_ = [("family", c_uint16), ("port", c_uint16), ("addr", c_uint8 * 4),
                ("zero", c_uint8 * 8)]


class _SockaddrIn6(Structure):
    _fields_ = [("family", c_uint16), ("port", c_uint16), ("flowinfo", c_uint32),
                ("addr", c_uint8 * 16), ("scope_id", c_uint32)]


class Addr(Union):
    """struct rds_addr, with the notation of the socket module on the Python side."""
    _fields_ = [("v4", _SockaddrIn), ("v6", _SockaddrIn6)]

    @classmethod
    def parse(cls, address):
        """From (host, port), (host, port, flowinfo, scope_id) or "HOST:PORT"."""
        addr = cls()
        port = 0
        if isinstance(address, tuple):
            host, port = address[:2]
            text = f"[{host}" if ":" in host else host
            if len(address) > 3 and address[3] and "%" not in host:
                text += f"%{address[3]}"
            text += "]" if ":" in host else ""
            if not 0 <= port <= 0xffff:
                raise OverflowError("port must be 0-65535")
        elif isinstance(address, str):
            text = address
        else:
            raise TypeError("an address is (host, port) or 'host:port', not "
                            f"{type(address).__name__}")
        error = lib.rds_addr_parse(byref(addr), text.encode(), port)
        if -error in _RESOLVER_ERRORS:
            hint = error_of(Call.ADDR, error).hint
            raise socket.gaierror(_RESOLVER_ERRORS[-error], f"{text}: {hint}")
        check(Call.ADDR, error)
        return addr

    def to_python(self):
        """(host, port) or (host, port, flowinfo, scope_id); None: no address."""
        if self.v4.family == socket.AF_INET:
            return (socket.inet_ntop(socket.AF_INET, bytes(self.v4.addr)),
                    socket.ntohs(self.v4.port))
        if self.v6.family == socket.AF_INET6:
            return (socket.inet_ntop(socket.AF_INET6, bytes(self.v6.addr)),
                    socket.ntohs(self.v6.port), self.v6.flowinfo, self.v6.scope_id)
        return None

    def __len__(self):
        return lib.rds_addr_len(byref(self))


class Notify(Structure):
    _fields_ = [("token", c_uint64), ("status", c_int32)]


class Rdma(Structure):
    _fields_ = [("cookie", c_uint64), ("offset", c_uint64), ("length", c_uint64),
                ("iov", POINTER(Iovec)), ("iovcnt", c_size_t),
                ("flags", c_uint64), ("token", c_uint64)]


class Outgoing(Structure):
    _fields_ = [("to", POINTER(Addr)), ("iov", POINTER(Iovec)), ("iovcnt", c_size_t),
                ("write", POINTER(Rdma)), ("read", POINTER(Rdma)), ("map", c_void_p),
                ("dest", c_uint64), ("reserved", c_uint64 * 4)]


class Incoming(Structure):
    _fields_ = [("what", c_uint32), ("nr_notify", c_uint32), ("len", c_size_t),
                ("cookie", c_uint64), ("cong", c_uint64), ("from_", Addr),
                ("pad", c_uint32), ("notify", Notify * NOTIFY_MAX),
                ("reserved", c_uint64 * 8)]


class InfoCounter(Structure):
    _pack_ = 1
    _fields_ = [("name", c_char * 32), ("value", c_uint64)]


class Snapshot(Structure):
    _fields_ = [("data", c_void_p), ("stride", c_size_t), ("count", c_size_t)]


_PROTOTYPES = {
    "rds_addr_parse": (c_int, POINTER(Addr), c_char_p, c_uint16),
    "rds_addr_len": (c_uint32, POINTER(Addr)),
    "rds_bind": (c_int, c_int, POINTER(Addr)),
    "rds_local_addr": (c_int, c_int, POINTER(Addr)),
    "rds_peer_addr": (c_int, c_int, POINTER(Addr)),
    "rds_sendmsg": (c_ssize_t, c_int, POINTER(Outgoing), c_int),
    "rds_get_mr": (c_int, c_int, c_void_p, c_size_t, c_uint64, POINTER(c_uint64)),
    "rds_free_mr": (c_int, c_int, c_uint64, c_uint64),
    "rds_parse_msghdr": (c_int, POINTER(Msghdr), POINTER(Incoming)),
    "rds_wait_notify": (c_int, c_int, POINTER(Notify), c_int),
    "rds_snapshot": (c_int, c_int, c_int, POINTER(Snapshot)),
    "rds_snapshot_free": (None, POINTER(Snapshot)),
    "rds_explain": (c_char_p, c_int, c_int),
    "rds_version": (c_char_p,),
}


def _load():
    """librds of the source tree that this file is part of, else the installed one."""
    here = os.path.dirname(os.path.realpath(__file__))
    built = os.path.join(here, "..", "..", "librds.so.0")
    name = os.environ.get("RDS_LIBRARY") or (built if os.path.exists(built) else "librds.so.0")
    try:
        loaded = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f"cannot load {name}: {error}; install librds, or name it in "
                          "the environment variable RDS_LIBRARY") from error
    for function, (result, *arguments) in _PROTOTYPES.items():
        getattr(loaded, function).restype = result
        getattr(loaded, function).argtypes = arguments
    return loaded


lib = _load()
_libc = ctypes.CDLL(None, use_errno=True)
for _name in "sendmsg", "recvmsg":
    getattr(_libc, _name).restype = c_ssize_t
    getattr(_libc, _name).argtypes = (c_int, POINTER(Msghdr), c_int)
_libc.connect.argtypes = (c_int, POINTER(Addr), c_uint32)


def libc_call(name, *args):
    """A system call with librds's error convention."""
    result = getattr(_libc, name)(*args)
    return -ctypes.get_errno() if result < 0 else result


def version():
    """The version of the C library in use."""
    return lib.rds_version().decode()


def error_of(call, result):
    """The OSError for a negative result: errno's own subclass, with a hint."""
    number = -result
    reason = os.strerror(number)
    hint = lib.rds_explain(call, number).decode()
    error = OSError(number, reason if hint == reason else f"{reason}: {hint}")
    error.hint = hint
    return error


def check(call, result):
    if result < 0:
        raise error_of(call, result)
    return result


def would_block(result):
    return result in (-errno.EAGAIN, -errno.EWOULDBLOCK)
