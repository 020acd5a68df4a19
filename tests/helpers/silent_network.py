"""A network between a program and a server of this computer: it is slow, holds data back, loses packets, or is cut."""

from __future__ import annotations

import contextlib
import ctypes
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator

#: Linux's options of sockets for a filter of packets.
_ATTACH_FILTER, _DETACH_FILTER = 26, 27


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.POINTER(_Instruction)))


def _lose_packets(end: socket.socket) -> None:
    """Have the kernel drop what arrives at ``end``, before it is acknowledged."""
    return_none = _Instruction(0x06, 0, 0, 0)
    end.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, bytes(_Program(1, ctypes.pointer(return_none))))


class Network:
    """Passes bytes on to a port of this computer from another, :attr:`port`."""

    def __init__(self, port: int) -> None:
        self._to, self._flows, self._is_silent, self._delay = port, threading.Event(), False, 0.0
        self._lock, self._ends = threading.Lock(), set[socket.socket]()
        self._flows.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._accepts = threading.Thread(target=self._accept, daemon=True)
        self._accepts.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._to))
            except ConnectionError:  # the server was killed
                client.close()
                continue
            with self._lock:
                self._ends |= {client, server}
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _carry(self, *ends: socket.socket) -> None:
        other = {ends[0]: ends[1], ends[1]: ends[0]}
        with contextlib.suppress(OSError, ValueError):  # cut
            open_ends = list(ends)
            while open_ends:
                for one in select.select(open_ends, [], [])[0]:
                    data = one.recv(65536)
                    self._flows.wait()
                    time.sleep(self._delay)
                    if self._is_silent:
                        # Nobody learns that the other end is closed, either.
                        return
                    if data:
                        other[one].sendall(data)
                    else:
                        other[one].shutdown(socket.SHUT_WR)
                        open_ends.remove(one)
        if not self._is_silent:
            self._close(set(ends))

    def _close(self, ends: set[socket.socket]) -> None:
        with self._lock:
            self._ends -= ends
        for end in ends:
            with contextlib.suppress(OSError):  # at its end already
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def hold(self) -> None:
        """Acknowledge what is sent, and keep it back, until :meth:`cut`."""
        self._flows.clear()

    def slow_down(self, seconds: float) -> None:
        """Everything takes ``seconds`` longer, until :meth:`recover`."""
        self._delay = seconds

    def fall_silent(self) -> None:
        """Lose every packet in both directions, also of new connections, and tell nobody, until :meth:`recover`."""
        self._is_silent = True
        with self._lock:
            for end in (self._listener, *self._ends):
                with contextlib.suppress(OSError):  # closed
                    _lose_packets(end)

    def recover(self) -> None:
        """New connections work again, as fast as ever."""
        self._is_silent, self._delay = False, 0.0
        with contextlib.suppress(OSError):  # it did not lose packets
            self._listener.setsockopt(socket.SOL_SOCKET, _DETACH_FILTER, 0)

    def cut(self) -> None:
        """End all connections."""
        with self._lock:
            ends = set(self._ends)
        self._close(ends)
        self._flows.set()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # ends accept() on Linux
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepts.join(5)
        self.cut()


#: Only Linux has the filters that lose packets.
LOSES_PACKETS = sys.platform == "linux"


@contextlib.contextmanager
def network_to(port: int) -> Iterator[Network]:
    network = Network(port)
    try:
        yield network
    finally:
        network.close()
