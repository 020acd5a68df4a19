"""Clients that do not keep to HTTP: requests byte by byte, and many connections that are held."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.helpers.held_connections import held
from tests.helpers.http_server import TOKEN

#: Seconds after which a test gives up.
WATCHDOG_S = 60.0


@dataclass(frozen=True)
class RawAnswer:
    status: int
    headers: dict[str, str]
    body: bytes


def connect(address: str, *, tls: ssl.SSLContext | None = None, receive_bytes: int = 0) -> socket.socket:
    parts = urlsplit(address)
    assert parts.hostname is not None
    family = socket.AF_INET6 if ":" in parts.hostname else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    if receive_bytes:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    opened.settimeout(WATCHDOG_S)
    opened.connect((parts.hostname, parts.port))
    return opened if tls is None else tls.wrap_socket(opened, server_hostname=parts.hostname)


def request(
    target: str = "/v1/library",
    *lines: str,
    method: str = "GET",
    version: str = "1.1",
    host: str | None = "localhost",
    token: str | None = TOKEN,
    body: bytes = b"",
) -> bytes:
    head = [f"{method} {target} HTTP/{version}"]
    head += [] if host is None else [f"Host: {host}"]
    head += [] if token is None else [f"Authorization: Bearer {token}"]
    return "\r\n".join([*head, *lines, "", ""]).encode("latin-1") + body


def read_answers(opened: socket.socket) -> list[RawAnswer]:
    """Everything until the server closes the connection."""
    received = bytearray()
    # A server may reset what still had bytes of the client to read.
    with contextlib.suppress(ConnectionError):
        while part := opened.recv(65536):
            received += part
    answers = []
    while received:
        head, _, rest = bytes(received).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)}
        length = int(headers.get("content-length", 0))
        answers.append(RawAnswer(int(first.split()[1]), headers, rest[:length]))
        received = bytearray(rest[length:])
    return answers


def ask(address: str, sent: bytes) -> list[RawAnswer]:
    """Send bytes, end the sending side if the server waits for more, and read all answers."""
    with connect(address) as opened:
        opened.sendall(sent)
        return read_answers(opened)


def leave_with_reset(opened: socket.socket) -> None:
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    opened.close()


#: What each of many clients sends at first, and then again and again.
HOLDS = {
    "nothing": (b"", b""),
    "a head that does not end": (request()[:-2], b"X"),
    "an image that does not end, without a token": (
        request("/v1/search", "Content-Type: image/png", "Content-Length: 9999", method="POST", token=None),
        b"x",
    ),
    "nothing after an answer": (request("/openapi.json", token=None), b""),
    "a second request that does not end": (request("/openapi.json", token=None) + request()[:-2], b"x"),
    "reading nothing": (request("/static-offline-docs/swagger-ui-bundle.js", token=None) * 2, b""),
}


def many(
    address: str, count: int, first: bytes, again: bytes
) -> contextlib.AbstractContextManager[list[socket.socket]]:
    """``count`` clients that hold their connections and hardly read."""
    return held(lambda: connect(address, receive_bytes=2048), count, first, again)
