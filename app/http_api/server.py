"""Answer HTTP requests on a library until Ctrl-C."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from semblance.app.http_api.application import Settings, make_application
from semblance.core.errors import BadArguments, BadInput, SemblanceError

#: Characters of a token at least, and at most.
_SHORTEST_TOKEN, _LONGEST_TOKEN = 16, 1000
#: Seconds in which requests may end when the server does.
_END_S = 5


def new_token() -> str:
    """A random token."""
    return secrets.token_urlsafe(32)


def read_token(file: Path) -> str:
    """The token in ``file``.

    Raises:
        BadInput: it cannot be read.
        BadArguments: it is not a token.
    """
    try:
        with file.open(encoding="ascii") as opened:
            token = opened.read(_LONGEST_TOKEN + 2).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The token in {file} cannot be read: {error}.", "Choose another file.") from None
    if not (_SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN and token.isprintable() and " " not in token):
        raise BadArguments(
            f"The token in {file} is not {_SHORTEST_TOKEN} to {_LONGEST_TOKEN} letters, digits and signs.",
            "Write one line with a longer token into the file.",
        )
    return token


def serve(
    settings: Settings,
    host: str,
    port: int,
    *,
    ready: Callable[[str], None],
    certificate: Path | None = None,
    key: Path | None = None,
) -> None:
    """Answer until Ctrl-C. ``ready`` is called with the address, such as ``http://127.0.0.1:8350``, once requests are
    taken. ``port`` 0: a free one.

    Raises:
        BadArguments: other computers could read what is sent.
        SemblanceError: the address or certificate cannot be used.
    """
    if not _is_loopback(host) and certificate is None:
        raise BadArguments(
            f"Other computers reach {host}, and what is sent would not be encrypted.",
            "Give --certificate and --key, or listen at 127.0.0.1.",
        )
    config = uvicorn.Config(
        make_application(settings),
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
        timeout_graceful_shutdown=_END_S,
    )
    try:
        # Reads the certificate.
        config.load()
    except OSError as error:
        raise SemblanceError(
            f"The certificate cannot be used: {error.strerror or error}.", "Check --certificate and --key."
        ) from error
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        raise SemblanceError(
            f"The address {host}:{port} cannot be used: {error.strerror or error}.",
            "Choose another one with --listen.",
        ) from error
    with listener:
        shown = f"[{host}]" if ":" in host else host
        scheme = "http" if certificate is None else "https"
        ready(f"{scheme}://{shown}:{listener.getsockname()[1]}")
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
