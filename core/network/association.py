"""Associations with a DIMSE server (PS3.8): opened with a clear reason where that fails, and always closed."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.limits import memory_limit
from semblance.core.network.connection import ANSWER_S, CONNECT_S, check_connection, tls_context

if TYPE_CHECKING:
    from semblance.core.network.servers import Server

#: Bytes of one message part that we take. Larger parts are faster.
MAX_PDU: Final = 1 << 18
#: Bytes of one message part that a server may send in spite of :data:`MAX_PDU`.
_LONGEST_PDU: Final = 1 << 24
#: Bytes of one message part before there is an association: the longest request for one, with all contexts, is smaller.
_LONGEST_REQUEST: Final = 1 << 20
#: Bytes a second that a message must come with, after the time to wait for one part of it.
_LEAST_SPEED: Final = 10_000
#: Messages that wait to be read; more are not taken from the connection before.
_WAITING_MESSAGES: Final = 8
#: The associations of a listener may hold so many times the memory that one message may take.
_TOGETHER: Final = 2
#: A whole answer to a query takes no longer than so many waits for one part of it.
_WHOLE_ANSWER: Final = 3
#: Seconds to wait for the other side to agree to the end.
_RELEASE_S: Final = 5.0
_PENDING: Final = (0xFF00, 0xFF01)
#: Status of C-STORE, and the longest comment on it.
_SUCCESS: Final = 0x0000
_CANNOT_UNDERSTAND: Final = 0xC000
_OUT_OF_RESOURCES: Final = 0xA700
_COMMENT: Final = 64
#: (source, reason) of a rejection (PS3.8, table 9-21) -> what it means.
_CALLING, _CALLED = (1, 3), (1, 7)


@contextlib.contextmanager
def association(
    server: Server,
    contexts: Sequence[Any],
    *,
    roles: Sequence[Any] = (),
    handlers: Sequence[Any] = (),
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Any]:
    """An association with ``server`` for presentation ``contexts`` of pynetdicom.

    It is aborted if the block raises, and once ``is_cancelled`` returns true, which ends every wait for an answer.

    Raises:
        SemblanceError: there is none, and why.
    """
    from pynetdicom import AE, evt

    timeout = ANSWER_S
    check_connection(server)
    entity = AE(ae_title=server.own_ae_title)
    entity.acse_timeout = entity.dimse_timeout = entity.network_timeout = timeout
    entity.connection_timeout = CONNECT_S
    context = tls_context(server)
    sockets: list[socket.socket] = []
    silence_library()
    opened = entity.associate(
        server.host,
        server.port,
        contexts=list(contexts),
        ae_title=server.ae_title,
        max_pdu=MAX_PDU,
        ext_neg=list(roles),
        tls_args=None if context is None else (context, server.host),
        evt_handlers=[(evt.EVT_CONN_OPEN, limit_waiting, [timeout, sockets]), *handlers],
    )
    try:
        if not opened.is_established:
            raise _refusal(server, opened)
        with _cancelling(opened, is_cancelled):
            try:
                yield opened
            except (
                ArithmeticError,
                AttributeError,
                LookupError,
                RuntimeError,
                TypeError,
                ValueError,
            ) as error:
                # What pynetdicom raises where an answer is not as the standard has it.
                raise SemblanceError(
                    tr_lazy("The PACS '{name}' answered with something that is not DICOM.", name=server.name),
                    "Ask who looks after the PACS; its log says more.",
                ) from error
            if opened.is_established and not is_cancelled():
                opened.acse_timeout = _RELEASE_S
                opened.release()
    finally:
        if opened.is_established:
            opened.abort()
        if opened.ident is not None:
            # A rejected association has not started its thread. Answers that were not read to their end halt it.
            opened._reactor_checkpoint.set()
            opened.kill()
            opened.join(timeout)
        for one in sockets:
            one.close()


def abort(opened: Any) -> None:
    """Abort ``opened``, and let what waits for an answer end at once."""
    opened.abort()
    # As pynetdicom does where the other side aborts.
    opened.dimse.msg_queue.put((None, None))


@contextlib.contextmanager
def _cancelling(opened: Any, is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Abort ``opened`` once ``is_cancelled``, also while something waits for its answer."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.1):
            if is_cancelled():
                abort(opened)
                return

    watcher = threading.Thread(target=watch, name="semblance-association")
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def answers(
    responses: Any, server: Server, what: str, *, seconds: float | None = None, most: int | None = None
) -> Iterator[Any]:
    """The data sets of the pending ``responses`` of a query or retrieval, ``None`` where one has none.

    Raises:
        SemblanceError: it failed, the connection was lost, or it does not end after ``seconds`` or ``most`` responses.
    """
    start = time.monotonic()
    for count, (status, identifier) in enumerate(responses):
        if (seconds is not None and time.monotonic() - start > seconds) or (
            most is not None and count > most
        ):
            raise SemblanceError(
                tr_lazy(
                    "The answer of the PACS '{name}' to {what} does not end.", name=server.name, what=what
                ),
                "Ask for less, or ask who looks after the PACS.",
            )
        check_status(status, server, what)
        if status.Status in _PENDING:
            yield identifier


def check_status(status: Any, server: Server, what: str) -> None:
    """
    Raises:
        SemblanceError: ``status`` is that of a failure, or empty because the connection was lost.
    """
    code = status.get("Status") if status else None
    if code is None:
        raise SemblanceError(
            tr_lazy(
                "The connection to the PACS '{name}' was lost during {what}.", name=server.name, what=what
            ),
            "Try it again; what was received is kept.",
        )
    # Warnings (0xBxxx) come with what could be done.
    if code == 0 or code in _PENDING or code >> 12 == 0xB:
        return
    comment = str(status.get("ErrorComment", "") or "").strip().rstrip(".")
    raise SemblanceError(
        tr_lazy(
            "The PACS '{name}' answered {what} with the error {code}{comment}.",
            name=server.name,
            what=what,
            code=f"0x{code:04X}",
            comment=f" ({comment})" if comment else "",
        ),
        "Ask who looks after the PACS whether it allows this, and for this AE title.",
    )


def keep_object(event: Any, keep: Callable[[bytes], object]) -> tuple[Any, Exception | None]:
    """Let ``keep`` have the object of a C-STORE request; returns the status to answer, and what went wrong.

    The status has a comment (0000,0902) where it is a failure (PS3.4, B.2.3; PS3.7, C.1).
    """
    problem: SemblanceError | None = None
    try:
        keep(event.encoded_dataset())
    except BadInput as error:
        code, problem = _CANNOT_UNDERSTAND, error
    except SemblanceError as error:
        code, problem = _OUT_OF_RESOURCES, error
    except Exception as error:  # noqa: BLE001 - the bytes are a stranger's
        return _CANNOT_UNDERSTAND, error
    if problem is None:
        return _SUCCESS, None
    from pydicom import Dataset

    status = Dataset()
    status.Status = code
    status.ErrorComment = problem.message.encode("ascii", "replace").decode().replace("\\", "/")[:_COMMENT]
    return status, problem


def echo(server: Server) -> None:
    """Ask a DIMSE ``server`` whether it is there (C-ECHO, PS3.7 section 9.1.5).

    Raises:
        SemblanceError: it is not, and why.
    """
    from pynetdicom import build_context
    from pynetdicom.sop_class import Verification

    with association(server, [build_context(Verification)]) as opened:
        check_status(opened.send_c_echo(), server, "C-ECHO")


def query_seconds() -> float:
    """Seconds that a whole answer to a query may take."""
    return _WHOLE_ANSWER * ANSWER_S


def limit_waiting(
    event: Any,
    timeout: float,
    sockets: list[socket.socket],
    *,
    came: Callable[[], object] = lambda: None,
    held: Callable[[], int] = lambda: 0,
) -> None:
    """Bound what pynetdicom leaves without end: the wait for a message part and for a message, the length of both, and
    what waits to be read.

    The socket is added to ``sockets``, since pynetdicom does not close it where the other side ended the connection.
    ``came`` is called for each message part, and ``held`` gives the bytes that other associations hold.
    """
    opened = event.assoc
    plain = opened.dul.socket.socket
    plain.settimeout(timeout)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sockets.append(plain)
    longest = memory_limit()
    unfinished: tuple[Any, float] = (None, 0.0)

    def receive(count: int) -> bytearray:
        nonlocal unfinished
        now = time.monotonic()
        end = now + timeout
        message = opened.dimse.message
        if message is not unfinished[0]:
            unfinished = (message, now)
        if count > (_LONGEST_PDU if opened.is_established else _LONGEST_REQUEST):
            raise OSError("it is too long")
        if message is not None:
            size = _size(message)
            if max(size, (size + held()) / _TOGETHER) > longest:
                raise OSError("it is too long")
            if now - unfinished[1] > timeout + size / _LEAST_SPEED:
                raise TimeoutError
        while (
            opened.dimse.msg_queue.qsize() > _WAITING_MESSAGES or waiting_bytes(opened, queued=True) > longest
        ):
            if time.monotonic() > end or opened.dul._kill_thread:
                raise TimeoutError
            time.sleep(0.001)
        received, done = bytearray(count), 0
        view = memoryview(received)
        while done < count:
            if time.monotonic() > end:
                raise TimeoutError
            got = plain.recv_into(view[done:])
            if not got:
                break
            done += got
        view.release()
        del received[done:]
        came()
        return received

    act = opened.dul.state_machine.do_action

    def act_or_end(event_name: str) -> None:
        try:
            act(event_name)
        except Exception:  # noqa: BLE001 - it is raised for what comes out of order, in a thread that would print it
            opened.dul.kill_dul()
            with contextlib.suppress(OSError):
                socket.socket.shutdown(plain, socket.SHUT_RDWR)

    opened.dul.socket.recv = receive
    opened.dul.state_machine.do_action = act_or_end


def waiting_bytes(opened: Any, *, queued: bool = False) -> int:
    """Bytes of messages in memory that came over an association, or only of those that are ``queued``."""
    waiting = [getattr(message, "DataSet", None) for _, message in list(opened.dimse.msg_queue.queue)]
    size = sum(0 if one is None else int(one.getbuffer().nbytes) for one in waiting)
    message = opened.dimse.message
    return size if queued or message is None else size + _size(message)


def _size(message: Any) -> int:
    return int(message.data_set.tell()) + int(message.encoded_command_set.tell())


def silence_library() -> None:
    """pynetdicom logs what it raises or returns too; its texts may name patients."""
    library = logging.getLogger("pynetdicom")
    library.propagate = False
    library.setLevel(logging.CRITICAL)


def _refusal(server: Server, opened: Any) -> SemblanceError:
    where = f"{server.host}:{server.port}"
    answer = opened.acceptor.primitive
    source = getattr(answer, "result_source", None), getattr(answer, "diagnostic", None)
    if opened.is_rejected and source == _CALLED:
        return SemblanceError(
            tr_lazy("{where} does not know the AE title {title}.", where=where, title=server.ae_title),
            "Check the AE title of the PACS; capitals count.",
        )
    if opened.is_rejected and source == _CALLING:
        return SemblanceError(
            tr_lazy(
                "{where} does not accept the AE title {title} of this computer.",
                where=where,
                title=server.own_ae_title,
            ),
            "Ask who looks after the PACS to enter it there, with the address of this computer.",
        )
    if opened.is_rejected:
        return SemblanceError(
            tr_lazy("{where} rejected the association ({source}).", where=where, source=_numbers(source)),
            "Try it later, or ask who looks after the PACS.",
        )
    if answer is not None and not opened.accepted_contexts:
        return SemblanceError(
            tr_lazy("{where} offers none of the services that are needed.", where=where),
            "Ask who looks after the PACS whether it allows them, or use DICOMweb.",
        )
    return SemblanceError(
        tr_lazy("{where} takes connections but does not answer as a DICOM server.", where=where),
        "Check the port, TLS and the AE titles. Some servers end the connection where an AE title is wrong.",
    )


def _numbers(values: tuple[object, object]) -> str:
    return ", ".join(str(value) for value in values)
