"""Connections to a PostgreSQL server, its transactions, and its errors in the user's words."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shutil
import socket
import ssl
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from semblance.core.errors import AccessRefused, BadInput, SemblanceError, ServerUnavailable, WrongPassword
from semblance.core.language import LazyText, tr_lazy
from semblance.core.library.database import BUSY_S
from semblance.core.library.location import ServerAddress, local_folder
from semblance.core.library.server.tables import LOBBY, schema_of
from semblance.core.network.keyring_entries import NoKeyring, no_keyring_error, read_entry, write_entry

#: The message that asks a PostgreSQL server to encrypt the connection (protocol 3.0, SSLRequest), and its yes.
_REQUEST, _YES = struct.pack("!ii", 8, 80877103), b"S"
#: Where the driver finds the certificates of authorities if the address names none.
_DEFAULT = Path(".postgresql", "root.crt")


def certificate_problem(parameters: Mapping[str, Any], seconds: float) -> str:
    """What OpenSSL says of the certificate of the server that ``parameters`` of the driver name, without its host name;
    "" where it verifies or does not show one within so many ``seconds``."""
    host, root = str(parameters.get("host", "localhost")), parameters.get("sslrootcert", "")
    file = None if root == "system" else str(root or Path.home() / _DEFAULT)
    try:
        context = ssl.create_default_context(cafile=file)
        context.check_hostname = False
        place = (str(parameters.get("hostaddr", host)), int(parameters.get("port", 5432)))
        with socket.create_connection(place, timeout=seconds) as connection:
            connection.sendall(_REQUEST)
            if connection.recv(1) == _YES:
                context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        return str(error.verify_message)
    except (OSError, ValueError):
        # The error of the driver is shown as it is.
        return ""
    return ""


_SERVICE = "semblance-library"
_HINT = tr_lazy("Unlock it, install one (GNOME Keyring, KWallet), or enter the password at each start.")


def stored_password(address: ServerAddress) -> str:
    """The password that the keyring has for ``address``; "" where there is none, or where the environment has one."""
    if os.environ.get("PGPASSWORD"):
        return ""
    # Without a keyring there is nothing in it.
    with contextlib.suppress(NoKeyring, ImportError):
        return read_entry(_SERVICE, str(address.with_project("")), hint=_HINT)
    return ""


def store_password(address: ServerAddress, password: str) -> None:
    """Keep ``password`` in the keyring; "" removes it from there.

    Raises:
        NoKeyring: there is none.
    """
    try:
        write_entry(_SERVICE, str(address.with_project("")), password, hint=_HINT)
    except ImportError as error:
        raise no_keyring_error(_HINT) from error


#: Seconds until a server that does not answer is given up.
CONNECT_S = 10
#: After so many seconds of silence each side sends so many probes with this distance. Nothing sent stays unanswered for
#: longer than all of it, so that the lock of a writer whose network is gone is free before others give up waiting.
_IDLE_S, _PROBE_S, _PROBES = 10, 2, 3
_SILENCE_MS = 1000 * (_IDLE_S + _PROBE_S * _PROBES)
#: Seconds that the server waits for an answer of a computer that writes, because others wait for it.
_WRITER_S = 3


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise SemblanceError(
            "A library on a server needs packages that are not installed.",
            'Install them: pip install "semblance-retrieval[server]"',
        ) from error
    return psycopg


def connection_parameters(address: ServerAddress, *, writable: bool) -> dict[str, Any]:
    """What the driver connects to ``address`` with; what the address sets itself comes before defaults."""
    psycopg = _driver()
    try:
        given = psycopg.conninfo.conninfo_to_dict(str(address.with_project("")))
    except psycopg.ProgrammingError as error:
        raise BadInput(
            tr_lazy("The address {address} cannot be used: {reason}.", address=address, reason=_line(error)),
            "Give one such as postgresql://HOST/DATABASE.",
        ) from error
    settings = [f"search_path={schema_of(address)},public", f"lock_timeout={BUSY_S}s", "timezone=UTC"]
    # Otherwise a server waits for hours for a client that vanished.
    settings += [
        f"tcp_keepalives_idle={_IDLE_S}",
        f"tcp_keepalives_interval={_PROBE_S}",
        f"tcp_keepalives_count={_PROBES}",
        f"tcp_user_timeout={_SILENCE_MS}",
    ]
    if not writable:
        settings.append("default_transaction_read_only=on")
    options = " ".join([given.pop("options", ""), *(f"-c {one}" for one in settings)]).strip()
    defaults = {
        "connect_timeout": CONNECT_S,
        "application_name": "Semblance",
        "keepalives_idle": _IDLE_S,
        "keepalives_interval": _PROBE_S,
        "keepalives_count": _PROBES,
        "tcp_user_timeout": _SILENCE_MS,
    }
    return {**defaults, **given, "options": options, **with_kept_password(address).secrets.values}


def with_kept_password(address: ServerAddress) -> ServerAddress:
    """``address`` with the password that the keyring has for it, where it has none."""
    return address if address.password else address.with_password(stored_password(address))


def connect(address: ServerAddress, *, writable: bool) -> sa.Engine:
    """An engine on ``address``. Lost connections are made again."""
    psycopg = _driver()
    parameters = connection_parameters(address, writable=writable)
    engine = sa.create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(**parameters),
        poolclass=sa.QueuePool,
        hide_parameters=True,
    )

    @sa.event.listens_for(engine, "checkin")
    def _note_use(_connection: Any, record: Any) -> None:
        record.info[_USED] = time.monotonic()

    @sa.event.listens_for(engine, "checkout")
    def _check(connection: Any, record: Any, _proxy: object) -> None:
        used = record.info.get(_USED)
        if used is None or (time.monotonic() - used < _SURE_S and not _has_input(connection)):
            return
        try:
            engine.dialect.do_ping(connection)
        except psycopg.Error as error:
            # The pool makes another.
            raise sa.exc.InvalidatePoolError from error

    return engine


#: A connection that was used less than so many seconds ago is asked only where the server has sent something since, as
#: it does before it closes one: a search takes ten connections, and each question is a way to the server and back.
_SURE_S = 2.0
_USED = "used"


def _has_input(connection: Any) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return bool(selector.select(0))


#: The server soon ends the transaction of a writer that vanished, or all others would wait for it. Then a row is locked
#: until the transaction ends. Only who may write can lock it. One message: each is a way to the server and back.
_BEGIN = (
    "BEGIN; SELECT set_config('tcp_keepalives_idle', '1', true), set_config('tcp_keepalives_interval', '1', true),"
    f" set_config('tcp_keepalives_count', '{_WRITER_S - 1}', true),"
    f" set_config('tcp_user_timeout', '{_WRITER_S}s', true), {LOBBY}.take_turn(current_schema())"
)


@contextlib.contextmanager
def transaction(engine: sa.Engine, address: ServerAddress) -> Iterator[sa.Connection]:
    """A write transaction: all of it is stored, or nothing; waits for another writer of the library. ``engine``: one
    that begins none itself."""
    with server_errors(address), engine.connect() as connection, connection.begin():
        connection.exec_driver_sql(_BEGIN)
        yield connection


@contextlib.contextmanager
def removal_of_refused(address: ServerAddress) -> Iterator[None]:
    """Remove what this computer has of a library where the server does not let the user read it any more."""
    try:
        yield
    except AccessRefused as error:
        # An account that was removed looks like a wrong password.
        if with_kept_password(address).secrets.values or not isinstance(error, WrongPassword):
            shutil.rmtree(local_folder(address), ignore_errors=True)
        raise


@contextlib.contextmanager
def server_errors(address: ServerAddress) -> Iterator[None]:
    """Turn errors of the server into errors that name it."""
    try:
        yield
    except DBAPIError as error:
        raise _plain_error(address, error) from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadInput(
            tr_lazy("The catalogue of {library} is damaged: a text in it cannot be read.", library=address),
            "Restore a backup.",
        ) from error
    except UnicodeEncodeError as error:
        raise _text_error(address) from error
    except OSError as error:
        raise SemblanceError(
            tr_lazy(
                "The files of {library} on this computer cannot be used: {reason}.",
                library=address,
                reason=error.strerror or error,
            ),
            "Check the free space and the permissions of the user's cache folder.",
        ) from error


def _text_error(address: ServerAddress) -> SemblanceError:
    return SemblanceError(
        tr_lazy("A name cannot be stored in {library}: it has characters that are no text.", library=address),
        "Rename the file, or correct the table, and import it again.",
    )


#: State of SQL (a code, or its first two characters) -> what it means.
_DISK_FULL, _READ_ONLY, _LOCKED, NO_RIGHTS = "53100", "25006", "55P03", "42501"
_PASSWORD, _REFUSED, _NO_DATABASE, _NO_TABLE = "28P01", "28000", "3D000", ("42P01", "3F000")
_CONFLICTS = ("40001", "40P01", "23505", "23503")
_NO_TEXT = ("22021", "22P05")
_AWAY = ("08", "57")


def _plain_error(address: ServerAddress, error: DBAPIError) -> SemblanceError:  # noqa: PLR0911
    state = str(getattr(error.orig, "sqlstate", None) or "")
    text = str(error.orig).lower()
    if (entry := connection_error(address, str(error.orig), state)) is not None:
        return entry
    if (refused := _refusal(address, error, state)) is not None:
        return refused
    if state == _LOCKED:
        return SemblanceError(
            tr_lazy("The library {library} is busy in another program.", library=address),
            "Close the other one, or wait, then try again.",
        )
    if state in _CONFLICTS:
        return SemblanceError(
            tr_lazy("Another program changed {library} at the same time.", library=address), "Try again."
        )
    if state in _NO_TABLE:
        return not_a_library_error(address)
    if state == _READ_ONLY:
        return not_writable_error(address)
    if state == _DISK_FULL:
        return SemblanceError(
            tr_lazy("The disk of the server {host} is full.", host=address.host),
            "Tell its administrator. Finished work is saved.",
        )
    if state in _NO_TEXT or "nul (0x00)" in text:
        return _text_error(address)
    lost = error.connection_invalidated or isinstance(error, InterfaceError)
    if lost or state[:2] in _AWAY or (not state and isinstance(error, OperationalError)):
        return unavailable_error(address, _line(error.orig))
    return SemblanceError(
        tr_lazy("The library {library} could not be used: {what}.", library=address, what=_line(error.orig)),
        "Tell the administrator of the server.",
    )


#: What the driver says where no encrypted connection is made -> what it means.
_NO_ENCRYPTION = ("does not support ssl", "sslmode value")
_CERTIFICATE = ("certificate", "ssl error", "sslrootcert", "ssl negotiation")


#: What the server says to an account that is gone or closed, or has lost the database.
_WITHDRAWN = re.compile(
    r'role ".*" (does not exist|is not permitted to log in)|permission denied for database'
)
#: What a server says that will soon answer.
_SOON = ("starting up", "shutting down", "recovery", "not yet accepting", "too many", "slots", "terminating")


def _not_let_in(address: ServerAddress, what: str) -> tuple[str, str]:
    return (
        tr_lazy("The server {host} does not let this user in: {what}.", host=address.host, what=what),
        tr_lazy("An administrator gives access with CREATE ROLE and in pg_hba.conf."),
    )


def _certificate_error(address: ServerAddress, what: str) -> SemblanceError:
    """The error for a certificate that does not prove that this is the server of ``address``."""
    if what.endswith("certificate verify failed"):
        given = _driver().conninfo.conninfo_to_dict(str(address))
        what = certificate_problem(given, CONNECT_S) or what
    reason = what.lower()
    if "does not match host name" in reason:
        hint = tr_lazy(
            "Write the name that the certificate has into the address. If it is the right one already, this may be"
            " another computer: tell the administrator."
        )
    elif "expired" in reason:
        hint = tr_lazy("Its administrator has to renew it. Check the date of this computer too.")
    elif "not yet valid" in reason:
        hint = tr_lazy(
            "Check the date of this computer. If it is right, tell the administrator of the server."
        )
    else:
        hint = tr_lazy(
            "Ask its administrator for the certificate of the authority and add sslrootcert=FILE to the address."
            " With sslrootcert=system, those count that this computer trusts."
        )
    return SemblanceError(
        tr_lazy(
            "The certificate of the server {host} could not be verified: {what}.",
            host=address.host,
            what=what,
        ),
        hint,
    )


def connection_error(address: ServerAddress, what: str, state: str = "") -> SemblanceError | None:  # noqa: PLR0911
    """The error for what the driver says where it cannot connect, with the ``state`` of SQL; ``None``: no such case."""
    text, line = what.lower(), _line(what)
    if state == _PASSWORD or "password authentication failed" in text or "no password supplied" in text:
        return WrongPassword(
            tr_lazy("The server {host} refused the user or the password.", host=address.host),
            "Check both. A password may also be in the file .pgpass or in the variable PGPASSWORD.",
        )
    if state == _NO_DATABASE or ("database" in text and "does not exist" in text):
        return BadInput(
            tr_lazy("The server {host} has no database '{name}'.", host=address.host, name=address.name),
            "An administrator creates one with createdb.",
        )
    if "pg_hba.conf" in text:
        # It may let the same user in from another network.
        return SemblanceError(*_not_let_in(address, line))
    if state == _REFUSED or _WITHDRAWN.search(text):
        return AccessRefused(*_not_let_in(address, line))
    if state:
        return None
    if "resolve host" in text or "translate host name" in text:
        return ServerUnavailable(
            tr_lazy("There is no server named {host}.", host=address.host),
            tr_lazy("Check the name, and that this computer is connected to its network."),
        )
    if "connection refused" in text:
        return ServerUnavailable(
            tr_lazy("No PostgreSQL server answers at {host}: the connection was refused.", host=address.host),
            tr_lazy("Check the address and the port, and that the server is running."),
        )
    if _NO_ENCRYPTION[0] in text:
        return SemblanceError(
            tr_lazy(
                "The server {host} does not encrypt connections, as the address wants.", host=address.host
            ),
            "Ask its administrator to set up TLS. Do not leave it out on a network that others use.",
        )
    if _NO_ENCRYPTION[1] in text:
        return BadInput(
            tr_lazy("The address {address} cannot be used: {reason}.", address=address, reason=line),
            "Write sslmode=verify-full, or leave it out.",
        )
    if any(word in text for word in _CERTIFICATE):
        return _certificate_error(address, line.rpartition("failed: ")[2])
    if "fatal:" in text and not any(word in text for word in _SOON):
        return SemblanceError(*_not_let_in(address, line))
    return None


def _refusal(address: ServerAddress, error: DBAPIError, state: str) -> SemblanceError | None:
    """The error where the rights of the user do not suffice; ``None`` where it is something else."""
    if state == NO_RIGHTS and "row-level security" in str(error.orig):
        return SemblanceError(
            tr_lazy("You may only change your own marks and concepts in {library}.", library=address),
            "Nothing was changed. A curator can change those of others.",
        )
    if state == NO_RIGHTS:
        return no_right_error(address, _line(error.orig))
    return None


def _line(error: object) -> str:
    """The first line of a message of the server, without its full stop."""
    return next(iter(str(error).strip().splitlines()), "").removesuffix(".")


def unavailable_error(address: ServerAddress, what: str | LazyText) -> ServerUnavailable:
    """The error for a server that does not answer, or not any more."""
    return ServerUnavailable(
        tr_lazy("The server {host} does not answer: {what}.", host=address.host, what=what),
        tr_lazy("Check the address and the network. Finished work is saved."),
    )


def no_right_error(address: ServerAddress, what: str) -> AccessRefused:
    """The error for something that the server does not allow the user."""
    return AccessRefused(
        tr_lazy("You have no right to do this in {library}: {what}.", library=address, what=what),
        tr_lazy("Ask the administrator of the server for the right."),
    )


def away_error(address: ServerAddress) -> ServerUnavailable:
    """The error for a change while the server does not answer."""
    return ServerUnavailable(
        tr_lazy("The server {host} does not answer, so nothing can be changed.", host=address.host),
        tr_lazy("Nothing is kept for later. Do it again when the server answers."),
    )


def not_a_library_error(address: ServerAddress) -> BadInput:
    """The error for a database without a library."""
    return BadInput(
        tr_lazy("{library} holds no library yet.", library=address),
        "`semblance import SOURCE --library ADDRESS` creates it, or `semblance library move`.",
    )


def not_writable_error(address: ServerAddress) -> SemblanceError:
    """The error for a change of a library that can only be read."""
    return SemblanceError(
        tr_lazy("You may only read the library {library}.", library=address),
        "Ask the administrator of the server for the right to change it.",
    )
