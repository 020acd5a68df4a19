"""The connections of ``semblance serve``: how many there are, and how long one may take for what."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
import time
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from semblance.app.http_api.guard import SAFE_HEADERS, problem_response
from semblance.core.network.connection_limits import ConnectionLimits

#: Connections at a time, and those of one computer.
MAX_CONNECTIONS, MAX_OF_ADDRESS = 200, 100
#: Connections that asyncio accepts at once, before it looks at one of them, and those that wait for that.
BACKLOG, _QUEUE = 64, 2048
#: The state of a request that has the token.
ADMITTED = "is_admitted"
#: Seconds in which the head of a request has to come, the handshake of TLS included, and the answer has to be read.
HEAD_S, READ_S = 10.0, 120.0


class HttpServer(uvicorn.Server):
    """uvicorn with limits on its connections, which it does not have itself.

    uvicorn would wait without end for a request and for the reader of an answer, and does not count connections that
    have not sent a request, so that a few hundred of them would use up the files that a process may open.
    """

    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None) -> None:
        super().__init__(config)
        config.http = cast(Any, self._connect)
        self._tls = tls
        total = min(MAX_CONNECTIONS, max(1, _open_files() // 4))
        self._limits = ConnectionLimits[_Connection](
            total, min(MAX_OF_ADDRESS, total), lambda one: one.waiting_since()
        )

    def _connect(self, **options: Any) -> _Connection:
        return _Connection(self._limits, self._tls, **options)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, with a longer queue than asyncio has, which would let clients wait seconds where many come."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_QUEUE)

    async def on_tick(self, counter: int) -> bool:
        """Called by uvicorn ten times a second."""
        now = time.monotonic()
        for connection in self._limits.connections():
            connection.end_if_late(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the connections too that uvicorn does not know yet: their handshake would hold the end up."""
        for connection in self._limits.connections():
            if not connection.is_known:
                connection.abort()
        await super().shutdown(sockets)


class _Connection(H11Protocol):
    """One connection, encrypted if there is a context for ``tls``."""

    def __init__(
        self, limits: ConnectionLimits[_Connection], tls: ssl.SSLContext | None, **options: Any
    ) -> None:
        super().__init__(**options)
        self._limits, self._tls = limits, tls
        self._plain: asyncio.Transport | None = None
        self._handshake: asyncio.Task[None] | None = None
        #: Whether uvicorn knows the connection, and what came before.
        self.is_known, self._early = False, b""
        #: Whether what comes is not read as HTTP any more.
        self._is_refused = False
        #: Since when a request is awaited or answered, and since when a part of an answer has not been read.
        self._since = time.monotonic()
        self._unread_since: float | None = None

    def waiting_since(self) -> float | None:
        """The time since which the other side does nothing that is needed to go on; ``None`` while there is work for
        one who has the token."""
        if self._unread_bytes():
            return self._unread_since or time.monotonic()
        is_admitted = self._is_answering() and self.cycle.scope["state"].get(ADMITTED, False)
        return None if is_admitted else self._since

    def end_if_late(self, now: float) -> None:
        """End the connection if the other side takes too long."""
        if not self._unread_bytes():
            self._unread_since = None
            if not self._is_answering() and now - self._since > HEAD_S:
                self.abort()
        elif self._unread_since is None:
            self._unread_since = now
        elif now - self._unread_since > READ_S:
            self.abort()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def abort(self) -> None:
        """End the connection at once."""
        self._limits.remove(self)
        if self._plain is not None:
            self._plain.abort()

    def _unread_bytes(self) -> int:
        transports = {self._plain, self.transport if self.is_known else None} - {None}
        return sum(one.get_write_buffer_size() for one in transports if one is not None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._plain = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername") or ("",)
        ended = self._limits.admit(self, str(address[0]))
        if ended is self:
            if self._tls is None:
                self._plain.write(_head_and_body(503, "Too many connections are at work. Try again later."))
            self._plain.abort() if self._tls is not None else self._plain.close()
            return
        if ended is not None:
            ended.abort()
        if self._tls is None:
            self.is_known = True
            super().connection_made(self._plain)
        else:
            self._plain.pause_reading()
            self._handshake = self.loop.create_task(self._encrypt(self._plain, self._tls))

    async def _encrypt(self, plain: asyncio.Transport, tls: ssl.SSLContext) -> None:
        encrypted = None
        # A handshake that fails is the other side's affair.
        with contextlib.suppress(OSError, EOFError, ssl.CertificateError):
            encrypted = await self.loop.start_tls(
                plain, self, tls, server_side=True, ssl_handshake_timeout=HEAD_S, ssl_shutdown_timeout=HEAD_S
            )
        if encrypted is None or encrypted.is_closing():
            self.abort()
            return
        self.is_known = True
        super().connection_made(encrypted)
        early, self._early = self._early, b""
        if early:
            super().data_received(early)

    def connection_lost(self, error: Exception | None) -> None:
        self._limits.remove(self)
        if self.is_known:
            super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        if not self.is_known:
            # The first bytes may come before the handshake has been noticed, and after the connection was refused.
            self._early += data if self._handshake is not None else b""
        elif not self._is_refused:
            super().data_received(data)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._since = time.monotonic()

    def on_response_complete(self) -> None:
        self._since = time.monotonic()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        self._is_refused, self._since = True, time.monotonic()
        # Within an answer no other one can begin.
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE) or self.transport.is_closing():
            self.transport.close()
            return
        self.transport.write(_head_and_body(400, "This is not a request of HTTP/1.1."))
        if self._is_answering() or not self.transport.can_write_eof():
            self.transport.close()
        else:
            # Closed with bytes to read, the other side would not get the answer. The time for a head bounds it.
            self.transport.write_eof()


def _head_and_body(status: int, detail: str) -> bytes:
    """An answer without the help of uvicorn."""
    answer = problem_response(status, detail, SAFE_HEADERS | {"connection": "close"})
    head = b"".join(name + b": " + value + b"\r\n" for name, value in answer.raw_headers)
    return b"HTTP/1.1 %d \r\n%s\r\n%s" % (status, head, bytes(answer.body))


def _open_files() -> int:
    """How many files and connections this process may have open."""
    if sys.platform == "win32":
        return 4 * MAX_CONNECTIONS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 4 * MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else soft
