# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Python buffers whose addresses the kernel is given, and regions made of them."""

import ctypes
import errno
from ctypes import byref, c_int, c_uint64, c_void_p, py_object

from . import _librds
from ._librds import Call, Iovec, lib

_PyBUF_SIMPLE = 0
_PyBUF_WRITABLE = 1


class _PyBuffer(ctypes.Structure):
    # struct Py_buffer, part of CPython's stable ABI since 3.11 and unchanged since 3.3
    _fields_ = [("buf", c_void_p), ("obj", py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", c_int), ("ndim", c_int),
                ("format", ctypes.c_char_p), ("shape", c_void_p), ("strides", c_void_p),
                ("suboffsets", c_void_p), ("internal", c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = (py_object, ctypes.POINTER(_PyBuffer), c_int)
_get_buffer.restype = c_int         # errors become exceptions: pythonapi sees to that
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = (ctypes.POINTER(_PyBuffer),)
_release_buffer.restype = None


class Exported:
    """The memory of a bytes-like object, which can neither move nor be freed meanwhile."""

    def __init__(self, obj, writable=False):
        self._view = _PyBuffer()
        self._held = False
        _get_buffer(obj, byref(self._view), _PyBUF_WRITABLE if writable else _PyBUF_SIMPLE)
        self._held = True
        self.address = self._view.buf or 0
        self.length = self._view.len

    def iovec(self, length=None):
        return Iovec(self.address, self.length if length is None else length)

    def release(self):
        if self._held:
            self._held = False
            _release_buffer(byref(self._view))

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.release()

    def __del__(self):
        self.release()


class MemoryRegion:
    """A buffer that peers may reach; made by RdmaSocket.get_mr().

    cookie is the key to send to the peer; int(mr), "%d" % mr and f"{mr:#x}" give
    it, too.  The region lives until free(), the end of its with block, or the
    close of its socket; so long, the buffer stays alive and cannot be resized.
    """

    def __init__(self, sock, buffer, flags):
        self._sock = sock
        self._flags = flags
        writable = bool(flags & _librds.RDMA_READWRITE)
        try:
            self._exported = Exported(buffer, writable)
        except BufferError as error:
            if not writable:
                raise
            raise BufferError(f"{error} Give get_mr() write=False if peers shall only "
                              "read it.") from None
        self.length = self._exported.length
        cookie = c_uint64()
        result = lib.rds_get_mr(sock.fileno(), self._exported.address, self.length,
                                flags, byref(cookie))
        if result < 0:
            self._exported.release()
            raise _librds.error_of(Call.GET_MR, result)
        self.cookie = cookie.value

    def free(self, invalidate=True):
        """Revoke the cookie; the buffer is all the caller's again."""
        if self._sock is None:
            return
        flags = _librds.RDMA_INVALIDATE if invalidate else 0
        result = lib.rds_free_mr(self._sock.fileno(), self.cookie, flags)
        # a use-once region may be gone already: the peer decides when
        used = result == -errno.EINVAL and self._flags & _librds.RDMA_USE_ONCE
        if result < 0 and not used:
            raise _librds.error_of(Call.FREE_MR, result)
        self._sock._regions.discard(self)
        self._forget()

    def _forget(self):
        # the socket is closed: the kernel has revoked the cookie by itself
        self._sock = None
        self._exported.release()

    def __index__(self):
        return self.cookie

    __int__ = __index__

    def __format__(self, spec):
        return format(self.cookie, spec)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.free()

    def __repr__(self):
        state = "freed" if self._sock is None else f"{self.length} bytes"
        return f"<rds.MemoryRegion cookie={self.cookie:#x} {state}>"
