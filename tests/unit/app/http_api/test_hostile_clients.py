"""Clients that keep to nothing: the server goes on answering the others, and nothing they send is printed or logged."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import logging
import re
import socket
import ssl
import time

import pytest

from semblance.app.http_api import application, connections
from semblance.app.http_api.application import ServiceSettings
from semblance.core import log
from tests.helpers.certificates import pair
from tests.helpers.hostile_clients import (
    HOLDS,
    WATCHDOG_S,
    RawAnswer,
    ask,
    connect,
    leave_with_reset,
    many,
    read_answers,
    request,
)
from tests.helpers.http_server import TOKEN, running_server

CLOSE = "Connection: close"
PNG = "Content-Type: image/png"
ORIGIN = "https://viewer.example"


@pytest.fixture
def settings(tmp_path):
    # Requests that need a library are answered with an error.
    return ServiceSettings(tmp_path / "none", TOKEN, origins=(ORIGIN,))


@pytest.fixture
def server(settings, caplog):
    caplog.set_level(logging.WARNING)
    with running_server(settings) as running:
        yield running
        assert answers(running)
    assert [one.getMessage() for one in caplog.records] == []


def answers(running) -> bool:
    (answer,) = ask(running.address, request("/openapi.json", CLOSE, token=None))
    return answer.status == 200


def assert_safe(answer: RawAnswer) -> None:
    headers = answer.headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "*" not in policy
    assert "server" not in headers


ANSWERS = {
    "description": (200, request("/openapi.json", CLOSE, token=None)),
    "page of the description": (200, request("/docs", CLOSE, token=None)),
    "its files": (200, request("/static-offline-docs/swagger-ui.css", CLOSE, token=None)),
    "no token": (401, request(token=None) + request("/", CLOSE)),
    "no library": (422, request("/v1/library", CLOSE)),
    "no page": (404, request("/other", CLOSE)),
    "redirection": (307, request("/docs/", CLOSE)),
    "method": (405, request("/v1/library", CLOSE, method="DELETE")),
    "parameter": (422, request("/v1/search?k=0&case=a", CLOSE)),
    "type": (415, request("/v1/search", CLOSE, method="POST")),
    "other host": (421, request("/", CLOSE, host="evil.example")),
    "not HTTP": (400, b"\x16\x03\x01\0\xee\r\n\r\n"),
    "question of a browser": (
        200,
        request(
            "/v1/library", f"Origin: {ORIGIN}", "Access-Control-Request-Method: GET", CLOSE, method="OPTIONS"
        ),
    ),
    "question of another page": (
        400,
        request(
            "/v1/library",
            "Origin: https://evil.example",
            "Access-Control-Request-Method: GET",
            CLOSE,
            method="OPTIONS",
        ),
    ),
    "head too long": (431, request("/", CLOSE, "X: " + "x" * 70_000)),
    "too many headers": (431, request("/", CLOSE, *(f"X{n}: x" for n in range(5000)))),
    "target too long": (431, request("/?" + "x" * 20_000, CLOSE)),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_answer_tells_browsers_to_do_nothing_with_it(server, kind):
    status, sent = ANSWERS[kind]
    first, *_ = ask(server.address, sent)
    # uvicorn refuses a head that comes in parts and is too long before it is a request.
    assert first.status == status or (status, first.status) == (431, 400)
    assert_safe(first)


def test_an_answer_to_a_defect_too(settings, monkeypatch, caplog):
    monkeypatch.setattr(application, "describe_served_library", "no function")
    with running_server(settings) as running:
        (answer,) = ask(running.address, request("/v1/library", CLOSE))
    assert answer.status == 500
    assert_safe(answer)
    assert b"defect" in answer.body
    # It is in the log of the program and nowhere else, since uvicorn prints what is in an error.
    assert {one.name for one in caplog.records} == {log.logger.name}


def test_the_page_of_the_description_runs_its_own_scripts(server):
    (page,) = ask(server.address, request("/docs", CLOSE, token=None))
    policy = page.headers["content-security-policy"]
    (script,) = re.findall(rb"<script>(.*?)</script>", page.body, re.DOTALL)
    assert f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" in policy
    assert "script-src 'self'" in policy and "style-src 'self'" in policy and "connect-src 'self'" in policy
    for address in re.findall(rb'(?:src|href)="([^"]*)"', page.body):
        assert ask(server.address, request(address.decode(), CLOSE, token=None))[0].status == 200


OWN = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost:1",
    "localhost:",
    "127.0.0.1",
    "127.0.0.1:8350",
    "127.8.0.1",
]
OWN += [
    "[::1]",
    "[::1]:8350",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "library.example",
    "LIBRARY.example.:443",
]
FOREIGN = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example:8350",
    "10.0.0.7",
]
FOREIGN += [
    "[2001:db8::1]",
    "localhost@evil.example",
    "evil.example@localhost",
    "localhost/evil",
    "localhost evil",
    "",
]
FOREIGN += [
    "localhost:evil",
    "[::1",
    "::1",
    "[::1%25lo]",
    "localhost,evil.example",
    "*",
    "0.0.0.0",
    "sub.library.example",
]


@pytest.mark.parametrize("host", [*OWN, *FOREIGN])
def test_only_requests_for_a_name_of_this_server_are_answered(hosted, host):
    forwarded = ("X-Forwarded-Host: localhost", "Forwarded: host=localhost")
    sent = [request("/openapi.json", CLOSE, *forwarded, host=host)]
    if host and not {" ", "/"} & set(host):
        # The name in the target counts, whatever the header says.
        sent.append(request(f"http://{host}/openapi.json", CLOSE, *forwarded, host="localhost"))
    for one in sent:
        (answer,) = ask(hosted.address, one)
        # Some make no address at all.
        assert answer.status == 200 if host in OWN else answer.status in (400, 421)


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    with running_server(
        ServiceSettings(tmp_path_factory.mktemp("none"), "token", hosts=["Library.Example"])
    ) as running:
        yield running


CHUNKED, LENGTH = "Transfer-Encoding: chunked", "Content-Length: 5"
ZERO = b"0\r\n\r\n"
#: A request, and the status of its only answer. A second request behind it, which is in no answer, would be smuggled.
MALFORMED = {
    "two lengths": (
        400,
        request("/v1/search", PNG, LENGTH, "Content-Length: 6", method="POST", body=b"hello"),
    ),
    "two lengths in one": (
        400,
        request("/v1/search", PNG, "Content-Length: 5, 6", method="POST", body=b"hello"),
    ),
    "length and chunks": (400, request("/v1/search", PNG, LENGTH, CHUNKED, method="POST", body=ZERO)),
    "chunks and length": (400, request("/v1/search", PNG, CHUNKED, LENGTH, method="POST", body=ZERO)),
    "chunks before 1.1": (400, request("/v1/search", PNG, CHUNKED, method="POST", version="1.0", body=ZERO)),
    "chunks twice": (
        400,
        request("/v1/search", PNG, "Transfer-Encoding: chunked, chunked", method="POST", body=ZERO),
    ),
    "other coding": (400, request("/v1/search", PNG, "Transfer-Encoding: gzip", method="POST", body=ZERO)),
    "hidden coding": (
        400,
        request("/v1/search", PNG, "Transfer-Encoding : chunked", method="POST", body=ZERO),
    ),
    "coding after a tab": (
        400,
        request("/v1/search", PNG, "Transfer-Encoding:\txchunked", method="POST", body=ZERO),
    ),
    "negative length": (400, request("/v1/search", PNG, "Content-Length: -5", method="POST", body=b"hello")),
    "signed length": (400, request("/v1/search", PNG, "Content-Length: +5", method="POST", body=b"hello")),
    "long length": (400, request("/v1/search", PNG, f"Content-Length: {'9' * 5000}", method="POST")),
    "folded line": (400, request("/", "X: a\r\n b\r\n c", "Bad Header: 1")),
    "line without colon": (400, request("/", "X")),
    "NUL in a header": (400, request("/", "X: a\0b")),
    "CR in a header": (400, request("/", "X: a\rb")),
    "two hosts": (400, request("/openapi.json", "Host: localhost", CLOSE)),
    "no host": (400, request("/openapi.json", CLOSE, host=None)),
    "no host before 1.1": (421, request("/openapi.json", CLOSE, host=None, version="1.0")),
    "no version": (400, b"GET /openapi.json\r\n\r\n"),
    "other version": (505, request("/openapi.json", CLOSE, version="9.9")),
    "HTTP/2": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "line feeds": (400, b"\0\n\n"),
    "authority as target": (400, request("localhost:80", CLOSE, method="CONNECT")),
    "star as target": (400, request("*", CLOSE, method="OPTIONS")),
    "scheme as target": (400, request("file:///etc/passwd", CLOSE)),
    "path without a slash": (400, request("openapi.json", CLOSE)),
    "traversal": (404, request("/static-offline-docs/../../../../etc/passwd", CLOSE)),
    "encoded traversal": (
        404,
        request("/static-offline-docs/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd", CLOSE),
    ),
    "encoded twice": (404, request("/static-offline-docs/%252e%252e%252fetc", CLOSE)),
    "absolute path": (404, request("/static-offline-docs/%2fetc%2fpasswd", CLOSE)),
    "backslashes": (404, request("/static-offline-docs/..%5c..%5cetc", CLOSE)),
    "NUL in the path": (404, request("/static-offline-docs/a%00b", CLOSE)),
    "long name": (404, request("/static-offline-docs/" + "a" * 5000, CLOSE)),
    "many ranges": (
        416,
        request("/static-offline-docs/swagger-ui.css", "Range: bytes=9999999-,8888888-", CLOSE),
    ),
    "no UTF-8 in the path": (404, request("/%ff%fe", CLOSE)),
    "line break in the path": (404, request("/%0d%0aSet-Cookie:%20a=b", CLOSE)),
    "token that is no ASCII": (401, request("/v1/library", CLOSE, token="\xe9\xff")),
    "upgrade": (
        404,
        request("/ws", "Connection: upgrade, close", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
    ),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_is_not_clear_is_refused_and_hides_no_second_request(server, kind):
    status, sent = MALFORMED[kind]
    answered = ask(server.address, sent + request("/openapi.json", CLOSE, token=None))
    assert [one.status for one in answered] == [status]
    assert_safe(answered[0])
    assert b"root:" not in answered[0].body and "set-cookie" not in answered[0].headers


CHUNKS = {
    "huge chunk": b"7fffffffffffffff\r\nabc",
    "endless size": b"f" * 70_000,
    "negative size": b"-1\r\nabc",
    "no number": b"xyz\r\nabc",
    "long extension": b"3;" + b"x" * 70_000,
    "no end of line": b"3\r\nabcdef\r\n",
}


@pytest.mark.parametrize("token", ["token", "no token"])
@pytest.mark.parametrize("kind", CHUNKS)
def test_a_chunk_that_is_none_ends_the_request(server, monkeypatch, kind, token):
    monkeypatch.setattr(application, "BODY_S", 1.0)
    monkeypatch.setattr(connections, "HEAD_S", 1.0)
    given = {"token": None} if token == "no token" else {}
    sent = request("/v1/search", PNG, CHUNKED, method="POST", body=b"1\r\na\r\n" + CHUNKS[kind], **given)
    answered = ask(server.address, sent)
    assert {one.status for one in answered} <= {400, 401, 408}
    assert len(answered) == 1


def test_one_who_waits_for_permission_to_send_gets_it_or_a_refusal(server):
    expect = request("/v1/search", PNG, LENGTH, "Expect: 100-continue", CLOSE, method="POST")
    with connect(server.address) as opened:
        opened.sendall(expect)
        assert opened.recv(1000).startswith(b"HTTP/1.1 100 ")
        opened.sendall(b"hello")
        assert [one.status for one in read_answers(opened)] == [422]
    refused = request("/v1/search", PNG, LENGTH, "Expect: 100-continue", CLOSE, method="POST", token=None)
    assert [one.status for one in ask(server.address, refused)] == [401]


def whole(size: int) -> bytes:
    return request("/v1/search", PNG, f"Content-Length: {size}", method="POST", body=bytes(size))


LEAVES = {
    "at once": b"",
    "within the first line": b"GET /v1",
    "within the head": request()[:-2],
    "within the image": whole(5000)[:-100],
    "within a chunk": request("/v1/search", PNG, CHUNKED, method="POST", body=b"ff\r\nabc"),
    "before the answer": whole(5000),
    "before a large answer": request("/static-offline-docs/swagger-ui-bundle.js", token=None),
    "before several answers": request("/openapi.json", token=None) * 20,
}


@pytest.mark.parametrize("how", ["close", "reset", "half"])
@pytest.mark.parametrize("when", LEAVES)
def test_one_who_leaves_is_not_worth_a_line(server, when, how):
    for _ in range(3):
        opened = connect(server.address)
        opened.sendall(LEAVES[when])
        if how == "half":
            opened.shutdown(socket.SHUT_WR)
            # An empty connection is closed by the limit of its time.
            if LEAVES[when]:
                read_answers(opened)
        if how == "reset":
            leave_with_reset(opened)
        opened.close()


def test_the_work_for_one_who_left_ends(server, settings):
    """Its place is free for the next one."""
    assert application.MAX_REQUESTS < 100
    for _ in range(100):
        opened = connect(server.address)
        opened.sendall(request("/v1/library"))
        leave_with_reset(opened)
    end = time.monotonic() + WATCHDOG_S
    while ask(server.address, request("/v1/library", CLOSE))[0].status == 503:
        assert time.monotonic() < end


@pytest.mark.parametrize("kind", HOLDS)
def test_many_who_hold_connections_keep_nobody_out(settings, monkeypatch, caplog, kind):
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 8)
    monkeypatch.setattr(connections, "HEAD_S", 3600.0)
    monkeypatch.setattr(connections, "READ_S", 3600.0)
    with running_server(settings) as running, many(running.address, 40, *HOLDS[kind]):
        for _ in range(5):
            assert answers(running)
    assert caplog.records == []


@pytest.mark.parametrize("kind", HOLDS)
def test_one_who_takes_too_long_is_ended(settings, monkeypatch, kind):
    monkeypatch.setattr(connections, "HEAD_S", 0.3)
    monkeypatch.setattr(connections, "READ_S", 0.3)
    first, again = HOLDS[kind]
    with running_server(settings) as running, connect(running.address, receive_bytes=2048) as opened:
        opened.sendall(first)
        end = time.monotonic() + WATCHDOG_S
        with contextlib.suppress(ConnectionError):
            opened.settimeout(0.1)
            while time.monotonic() < end:
                if again:
                    opened.sendall(again)
                    time.sleep(0.05)
                elif kind == "reading nothing":
                    # Only what is sent shows whether the other side is still there.
                    opened.sendall(b" ")
                    time.sleep(0.05)
                else:
                    with contextlib.suppress(TimeoutError):
                        if not opened.recv(65536):
                            break
        assert time.monotonic() < end


def test_many_whose_handshake_does_not_begin_keep_nobody_out(settings, monkeypatch, tmp_path, caplog):
    from semblance.app.http_api import server as server_module

    own = pair(tmp_path, "own")
    tls = ssl.create_default_context(cafile=str(own.certificate))
    made = server_module.make_server
    context = server_module.watching_tls(own.certificate, own.key, None)
    monkeypatch.setattr("tests.helpers.http_server.make_server", lambda asked: made(asked, context))
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 8)
    sent = request("/openapi.json", CLOSE, token=None)

    def encrypted_answer(address: str) -> int:
        with connect(address.replace("127.0.0.1", "localhost"), tls=tls) as opened:
            opened.sendall(sent)
            return read_answers(opened)[0].status

    with running_server(settings) as running:
        for first in (b"", b"\x16\x03", b"GET / HTTP/1.1\r\n\r\n" * 3):
            with many(running.address, 40, first, b""):
                for _ in range(3):
                    assert encrypted_answer(running.address) == 200
        plain = ask(running.address, sent)
        assert plain == []
        monkeypatch.setattr(connections, "HEAD_S", 0.3)
        with connect(running.address) as opened:
            assert read_answers(opened) == []
    assert caplog.records == []


def test_images_that_are_still_coming_count_as_requests(settings, monkeypatch):
    monkeypatch.setattr(application, "MAX_REQUESTS", 3)
    begun = request("/v1/search", PNG, "Content-Length: 9999", method="POST", body=b"x")
    with running_server(settings) as running, contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connect(running.address)).sendall(begun)
        end = time.monotonic() + WATCHDOG_S
        while (status := ask(running.address, request("/v1/library", CLOSE))[0].status) != 503:
            assert time.monotonic() < end, status
