"""A DIMSE listener: receives objects sent to this computer (C-STORE) and the results of storage commitment.

It is started for C-MOVE and storage commitment and ends with them, or is left running by ``semblance pacs watch``.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Final, Self

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.network.association import MAX_PDU, keep_object, limit_waiting, silence_library
from semblance.core.network.connection import ANSWER_S
from semblance.core.network.servers import check_ae_title

if TYPE_CHECKING:
    import ssl

#: Seconds that one who has connected may take to ask for an association.
_REQUEST_S: Final = 5.0
_SUCCESS: Final = 0x0000
_PROCESSING_FAILURE: Final = 0x0110


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
        self._associations: list[tuple[threading.Thread, list[socket.socket]]] = []

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
        entity.acse_timeout = _REQUEST_S
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
        self._entity, self.port = entity, server.server_address[1]
        return self

    def wait_for_ends(self, seconds: float) -> None:
        """Let the associations end, for ``seconds`` at most: closed at once, the last one would not get its answer."""
        end = time.monotonic() + seconds
        with self._lock:
            started = [thread for thread, _ in self._associations if thread.ident is not None]
        for thread in started:
            thread.join(max(0.0, end - time.monotonic()))

    def __exit__(self, *_: object) -> None:
        for opened in self._entity.active_associations:
            with contextlib.suppress(Exception):
                # One that has not asked for an association yet cannot be aborted.
                opened.abort() if opened.is_established else opened.kill()
        self._entity.shutdown()
        for thread, sockets in self._associations:
            thread.join(ANSWER_S)
            _close(sockets)

    def _opened(self, event: Any) -> None:
        sockets: list[socket.socket] = []
        with self._lock:
            # Several may connect at the same time, so that the thread of one need not have been started yet.
            ended = [one for one in self._associations if one[0].ident is not None and not one[0].is_alive()]
            for one in ended:
                _close(one[1])
                self._associations.remove(one)
            self._associations.append((event.assoc, sockets))
        limit_waiting(event, ANSWER_S, sockets)
        if self._tls is not None:
            self._handshake_first(event.assoc.dul.socket, sockets[0])

    def _handshake_first(self, connection: Any, encrypted: Any) -> None:
        """Let ``connection`` do the handshake of TLS before it reads, in the thread of its association."""
        import ssl

        receive = connection.recv

        def receive_after_handshake(count: int) -> bytearray:
            encrypted.settimeout(_REQUEST_S)
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
        return keep_object(event, self._keep)[0]

    def _take_report(self, event: Any) -> tuple[int, None]:
        try:
            if self._report is not None:
                self._report(event.event_information)
        except Exception:  # noqa: BLE001 - the bytes are a stranger's
            return _PROCESSING_FAILURE, None
        return _SUCCESS, None


class _LaterHandshake:
    """A context for pynetdicom, which would wait for the handshake of one sender in the thread that accepts all."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def wrap_socket(self, plain: socket.socket, *, server_side: bool) -> ssl.SSLSocket:
        return self._context.wrap_socket(plain, server_side=server_side, do_handshake_on_connect=False)


def _close(sockets: list[socket.socket]) -> None:
    for one in sockets:
        one.close()
