"""Answer HTTP requests on a library until Ctrl-C."""

from __future__ import annotations

import contextlib
import secrets
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import uvicorn

from semblance.app.http_api.application import ServiceSettings, make_application
from semblance.app.http_api.connections import BACKLOG, HttpServer
from semblance.app.http_api.guard import MAX_HEAD_BYTES
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.network.connection import watching_tls
from semblance.core.network.connection_limits import is_loopback

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


def make_server(settings: ServiceSettings, tls: ssl.SSLContext | None = None) -> HttpServer:
    """The server of ``settings.library``; it has no address yet."""
    config = uvicorn.Config(
        make_application(settings),
        ws="none",
        lifespan="on",
        log_config=None,
        # What goes wrong is in the log of the program, without what a client sent.
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_graceful_shutdown=_END_S,
    )
    return HttpServer(config, tls)


def serve(
    settings: ServiceSettings,
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
    if not is_loopback(host):
        if certificate is None:
            raise BadArguments(
                f"Other computers reach {host}, and what is sent would not be encrypted.",
                "Give --certificate and --key, or listen at 127.0.0.1.",
            )
        settings = replace(settings, hosts=(*settings.hosts, socket.gethostname()))
    server = make_server(settings, None if certificate is None else watching_tls(certificate, key, None))
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
            server.run(sockets=[listener])
