"""A connection tried before a library uses it, because libraries do not report why one failed."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.network.servers import DICOMWEB, Server

#: Seconds to wait for a connection, and for the next part of an answer.
CONNECT_S: Final = 10.0
ANSWER_S: Final = 60.0


def tls_context(server: Server) -> ssl.SSLContext | None:
    """The certificates for a connection to ``server``; ``None`` where it is not encrypted.

    Raises:
        SemblanceError: a file of a certificate cannot be read.
    """
    if not is_encrypted(server):
        return None
    try:
        context = ssl.create_default_context(cafile=server.authority or None)
        if server.certificate:
            context.load_cert_chain(server.certificate, server.key or None)
    except (OSError, ssl.SSLError) as error:
        raise certificate_error(server, error) from error
    return context


def listener_tls(server: Server) -> ssl.SSLContext | None:
    """The certificates for connections that ``server`` makes to this computer.

    Raises:
        SemblanceError: a file of a certificate is missing or cannot be read.
    """
    if not server.tls:
        return None
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=server.authority or None)
        if not server.certificate:
            raise SemblanceError(
                "A PACS that connects with TLS needs a certificate of this computer.",
                "Enter the certificate and its key at the server.",
            )
        context.load_cert_chain(server.certificate, server.key or None)
    except (OSError, ssl.SSLError) as error:
        raise certificate_error(server, error) from error
    return context


def watching_tls(certificate: Path, key: Path | None, authority: Path | None) -> ssl.SSLContext:
    """The certificates for connections of any sender to this computer. With an ``authority`` a sender needs a
    certificate that it signed.

    Raises:
        SemblanceError: a file is missing or cannot be read.
    """
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority)
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        files = [str(file) for file in (authority, certificate, key) if file is not None]
        raise _file_error(
            files, tr_lazy("The certificate {file} cannot be used.", file=certificate), error
        ) from error
    if authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def certificate_error(server: Server, error: Exception) -> SemblanceError:
    """What is wrong with the files of the certificates of ``server``."""
    otherwise = tr_lazy("The certificates of the PACS '{name}' cannot be used.", name=server.name)
    return _file_error((server.authority, server.certificate, server.key), otherwise, error)


def _file_error(files: Sequence[str], otherwise: str, error: Exception) -> SemblanceError:
    for file in files:
        if file and not Path(file).is_file():
            return SemblanceError(
                tr_lazy("The certificate {file} is not there.", file=file), "Choose its file again."
            )
    hint = tr_lazy("They must be PEM files, and the key must fit: {reason}.", reason=_reason(error))
    return SemblanceError(otherwise, hint)


def is_encrypted(server: Server) -> bool:
    """Whether connections to ``server`` use TLS."""
    return server.url.lower().startswith("https") if server.kind == DICOMWEB else server.tls


def host_and_port(server: Server) -> tuple[str, int]:
    """Where ``server`` listens."""
    if server.kind != DICOMWEB:
        return server.host, server.port
    parts = urlsplit(server.url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def check_connection(server: Server, *, timeout: float = CONNECT_S) -> None:
    """Connect to ``server`` once, with the TLS handshake, and close the connection.

    Raises:
        SemblanceError: no such host, nothing listens there, no answer, or a certificate is refused: which of them.
    """
    host, port = host_and_port(server)
    context = tls_context(server)
    where = f"{host}:{port}"
    try:
        with contextlib.closing(socket.create_connection((host, port), timeout)) as plain:
            if context is not None:
                try:
                    handshaken = context.wrap_socket(plain, server_hostname=host)
                except ConnectionResetError as error:
                    raise _no_tls(where, error) from error
                with handshaken as encrypted:
                    # With TLS 1.3 the server refuses a client certificate only after the handshake.
                    encrypted.settimeout(0.3)
                    with contextlib.suppress(TimeoutError):
                        encrypted.recv(1)
    except (socket.gaierror, UnicodeError) as error:
        raise SemblanceError(
            tr_lazy("There is no computer named {host}.", host=host),
            "Check the host of the PACS, and that this computer is in its network.",
        ) from error
    except ConnectionRefusedError as error:
        raise SemblanceError(
            tr_lazy("{where} refused the connection: nothing listens there.", where=where),
            "Check the port, and that the PACS is running.",
        ) from error
    except ssl.SSLCertVerificationError as error:
        raise SemblanceError(
            tr_lazy(
                "The certificate of {where} is not trusted: {reason}.",
                where=where,
                reason=error.verify_message or _reason(error),
            ),
            "Enter the file of the authority that signed it, or ask for a valid certificate.",
        ) from error
    except ssl.SSLError as error:
        if "CERTIFICATE" in str(error).upper() or "ALERT" in str(error).upper():
            raise SemblanceError(
                tr_lazy(
                    "{where} refused the certificate of this computer: {reason}.",
                    where=where,
                    reason=_reason(error),
                ),
                "Enter a certificate and key that the PACS trusts.",
            ) from error
        raise _no_tls(where, error) from error
    except TimeoutError as error:
        raise SemblanceError(
            tr_lazy("{where} did not answer within {seconds:g} s.", where=where, seconds=timeout),
            "Check the host, and whether a firewall lies between.",
        ) from error
    except OSError as error:
        raise SemblanceError(
            tr_lazy("{where} cannot be reached: {reason}.", where=where, reason=_reason(error)),
            "Check the network, the host and the port.",
        ) from error


def _no_tls(where: str, error: Exception) -> SemblanceError:
    return SemblanceError(
        tr_lazy("{where} does not speak TLS: {reason}.", where=where, reason=_reason(error)),
        "Check the port, or switch TLS off.",
    )


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return str(reason).strip().rstrip(".").replace("_", " ").lower()
