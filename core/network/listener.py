"""A DIMSE listener: receives objects sent to this computer (C-STORE) and the results of storage commitment.

It is started for C-MOVE and storage commitment and ends with them, or is left running by ``semblance pacs watch``.
"""

from __future__ import annotations

import contextlib
import copy
import socket
import threading
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Final, Self

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.log import logger
from semblance.core.network.association import (
    MAX_PDU,
    keep_object,
    limit_waiting,
    silence_library,
    waiting_bytes,
)
from semblance.core.network.connection import ANSWER_S
from semblance.core.network.connection_limits import ConnectionLimits, is_loopback
from semblance.core.network.servers import check_ae_title

if TYPE_CHECKING:
    import ssl

#: Connections at a time, those of one computer, and those that wait to be accepted. pynetdicom looks at each a
#: thousand times a second.
MAX_CONNECTIONS, MAX_OF_ADDRESS, _QUEUE = 20, 10, 128
#: Seconds that one who has connected may take to ask for an association.
REQUEST_S: Final = 5.0
_SUCCESS: Final = 0x0000
_PROCESSING_FAILURE: Final = 0x0110


def check_listening(host: str, *, is_encrypted: bool, has_known_senders: bool) -> None:
    """
    Raises:
        BadArguments: other computers reach ``host``, and anybody there could read what is sent, or send something.
    """
    if is_loopback(host) or (is_encrypted and has_known_senders):
        return
    if is_encrypted:
        message = tr_lazy("Other computers reach {host}, and every one of them could send images.", host=host)
    else:
        message = tr_lazy(
            "Other computers reach {host}, and what they send would not be encrypted.", host=host
        )
    raise BadArguments(
        message,
        "Name a certificate and its key, and the AE titles that may send or the authority of their certificates. "
        "Or listen on 127.0.0.1.",
    )


class Listener:
    """Listens from ``__enter__`` to ``__exit__``.

    ``keep`` gets each object in the file format, in a thread of the sender's association; the sender gets
    success only after it returned, and a failure if it raised. Only the AE titles ``allowed`` may
    send; none means any. ``report`` gets the data set of each result of storage commitment. With ``tls``
    ``refused`` gets why a connection could not be encrypted.
    """

    def __init__(
        self,
        host: str,
        port: int,
        ae_title: str,
        keep: Callable[[bytes], object],
        *,
        allowed: Collection[str] = (),
        report: Callable[[Any], object] | None = None,
        tls: ssl.SSLContext | None = None,
        refused: Callable[[str], object] = lambda _: None,
    ) -> None:
        check_ae_title(ae_title)
        for title in allowed:
            check_ae_title(title)
        self.host, self.port = host, port
        self._ae_title, self._allowed = ae_title, list(allowed)
        self._keep, self._report, self._refused = keep, report, refused
        self._tls = None if tls is None else _LaterHandshake(tls)
        self._entity: Any = None
        self._lock = threading.Lock()
        self._limits = ConnectionLimits[_Connection](
            MAX_CONNECTIONS, MAX_OF_ADDRESS, lambda one: one.waiting_since()
        )
        self._connections: dict[socket.socket, _Connection] = {}

    def __enter__(self) -> Self:
        """
        Raises:
            SemblanceError: the port is taken or not allowed.
        """
        from pynetdicom import AE, AllStoragePresentationContexts, evt
        from pynetdicom._globals import ALL_TRANSFER_SYNTAXES
        from pynetdicom.sop_class import StorageCommitmentPushModel, Verification

        silence_library()
        entity = AE(ae_title=self._ae_title)
        entity.require_called_aet = True
        entity.require_calling_aet = self._allowed
        entity.maximum_pdu_size = MAX_PDU
        # It would count those that have only connected, and refuse every sender while they wait.
        entity.maximum_associations = 10 * MAX_CONNECTIONS
        entity.acse_timeout = REQUEST_S
        entity.dimse_timeout = entity.network_timeout = ANSWER_S
        for context in AllStoragePresentationContexts:
            entity.add_supported_context(context.abstract_syntax, ALL_TRANSFER_SYNTAXES)
        entity.add_supported_context(Verification)
        if self._report is not None:
            # We asked for the commitment, so here the one that connects provides the service.
            entity.add_supported_context(StorageCommitmentPushModel, scu_role=True, scp_role=True)
        handlers = [
            (evt.EVT_C_STORE, self._store),
            (evt.EVT_N_EVENT_REPORT, self._take_report),
            (evt.EVT_CONN_OPEN, self._opened),
        ]
        try:
            server = entity.start_server(
                (self.host, self.port), block=False, evt_handlers=handlers, ssl_context=self._tls
            )
        except OSError as error:
            raise SemblanceError(
                tr_lazy(
                    "Cannot listen on {host}:{port}: {reason}.",
                    host=self.host,
                    port=self.port,
                    reason=error.strerror or str(error),
                ),
                "Choose another port, or end the program that uses it.",
            ) from error
        # Before a connection gets an association, which takes time and memory.
        server.verify_request = self._admit
        server.contexts = _Contexts(server.contexts)
        server.socket.listen(_QUEUE)
        self._entity, self.port = entity, server.server_address[1]
        return self

    def wait_for_ends(self, seconds: float) -> None:
        """Let the associations end, for ``seconds`` at most: closed at once, the last one would not get its answer."""
        end = time.monotonic() + seconds
        with self._lock:
            started = [one.thread for one in self._connections.values() if one.is_started]
        for thread in started:
            thread.join(max(0.0, end - time.monotonic()))

    def __exit__(self, *_: object) -> None:
        for opened in self._entity.active_associations:
            with contextlib.suppress(Exception):
                # One that has not asked for an association yet cannot be aborted.
                opened.abort() if opened.is_established else opened.kill()
        self._entity.shutdown()
        for one in list(self._connections.values()):
            one.end()
            if one.is_started:
                one.thread.join(ANSWER_S)
            _close(one.sockets)

    def _admit(self, request: socket.socket, address: Any) -> bool:
        """Whether a new connection is taken; the one that has waited longest ends for it where there are too many."""
        made = _Connection(request)
        with self._lock:
            for its_request, one in list(self._connections.items()):
                if one.has_ended:
                    _close(one.sockets)
                    self._limits.remove(one)
                    del self._connections[its_request]
            ended = self._limits.admit(made, address[0])
            if ended is made:
                return False
            self._connections[request] = made
        if ended is not None:
            ended.end()
        return True

    def _opened(self, event: Any) -> None:
        request = event.assoc.dul.socket.socket
        with self._lock:
            connection = self._connections.setdefault(request, _Connection(request))
        connection.thread = event.assoc
        _catch_errors(event.assoc, "run")
        # That of a report has a thread of its own.
        _catch_errors(event.assoc, "_serve_request")
        limit_waiting(
            event,
            ANSWER_S,
            connection.sockets,
            came=connection.note,
            held=lambda: self._held_beside(connection),
        )
        if self._tls is not None:
            self._handshake_first(event.assoc.dul.socket, connection.sockets[0])

    def _held_beside(self, connection: _Connection) -> int:
        """Bytes of messages of the other associations."""
        with self._lock:
            others = [
                one.thread
                for one in self._connections.values()
                if one is not connection and not one.has_ended
            ]
        return sum(waiting_bytes(one) for one in others if one is not None)

    def _handshake_first(self, connection: Any, encrypted: Any) -> None:
        """Let ``connection`` do the handshake of TLS before it reads, in the thread of its association."""
        import ssl

        receive = connection.recv

        def receive_after_handshake(count: int) -> bytearray:
            encrypted.settimeout(REQUEST_S)
            try:
                encrypted.do_handshake()
            except ssl.SSLEOFError:
                # Who only looks whether something listens closes the connection at once.
                raise
            except ssl.SSLError as error:
                self._refused(str(error.reason or error).replace("_", " ").lower())
                raise
            encrypted.settimeout(ANSWER_S)
            connection.recv = receive
            received: bytearray = receive(count)
            return received

        connection.recv = receive_after_handshake

    def _store(self, event: Any) -> Any:
        with self._lock:
            connection = next(one for one in self._connections.values() if one.thread is event.assoc)
        connection.is_storing = True
        try:
            return keep_object(event, self._keep)[0]
        finally:
            connection.is_storing = False
            connection.note()

    def _take_report(self, event: Any) -> tuple[int, None]:
        try:
            if self._report is not None:
                self._report(event.event_information)
        except Exception:  # noqa: BLE001 - the bytes are a stranger's
            return _PROCESSING_FAILURE, None
        return _SUCCESS, None


class _Connection:
    """One connection to the listener."""

    def __init__(self, request: socket.socket) -> None:
        self._request = request
        #: The association, once there is one.
        self.thread: Any = None
        self.sockets: list[socket.socket] = []
        #: Whether an object of it is being stored.
        self.is_storing = False
        self._since = time.monotonic()

    @property
    def is_started(self) -> bool:
        # Several may connect at the same time, so that the thread of one need not have been started yet.
        return self.thread is not None and self.thread.ident is not None

    @property
    def has_ended(self) -> bool:
        return self.is_started and not self.thread.is_alive()

    def note(self) -> None:
        """Something came, or was answered."""
        if self.thread.is_established:
            self._since = time.monotonic()

    def waiting_since(self) -> float | None:
        """The time since which the sender does nothing; ``None`` while an object of it is being stored."""
        is_queued = self.is_started and self.thread.dimse.msg_queue.qsize() > 0
        return None if is_queued or self.is_storing else self._since

    def end(self) -> None:
        """End the connection; the association notices."""
        with contextlib.suppress(OSError):
            # Without the words of TLS, which another thread may be reading.
            socket.socket.shutdown(self._request, socket.SHUT_RDWR)
        if self.thread is not None and not self.thread.is_established:
            # It would wait for a request all the time that it has.
            self.thread.dul.to_user_queue.put(None)


def _catch_errors(association: Any, method: str) -> None:
    """Log what a method raises where its thread would print it: a stranger caused it."""
    call = getattr(association, method)

    def call_and_log(*arguments: Any) -> None:
        try:
            call(*arguments)
        except Exception as error:  # noqa: BLE001 - the bytes are a stranger's
            logger.warning("an association failed: %s", error)

    setattr(association, method, call_and_log)


class _Contexts(list[Any]):
    """The contexts that are offered, of which pynetdicom makes a copy for each that connects."""

    def __deepcopy__(self, _: object) -> list[Any]:
        # That of all transfer syntaxes too takes 0.2 s. They stay as they are.
        return [copy.copy(one) for one in self]


class _LaterHandshake:
    """A context for pynetdicom, which would wait for the handshake of one sender in the thread that accepts all."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def wrap_socket(self, plain: socket.socket, *, server_side: bool) -> ssl.SSLSocket:
        return self._context.wrap_socket(plain, server_side=server_side, do_handshake_on_connect=False)


def _close(sockets: list[socket.socket]) -> None:
    for one in sockets:
        one.close()
