"""Senders that keep to nothing: the listener goes on taking images of the others, and ends in time."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.network import listener
from semblance.core.network.connection import watching_tls
from semblance.core.network.listener import Listener
from semblance.core.network.received_files import ReceivedFiles
from tests.helpers.certificates import pair
from tests.helpers.hostile_senders import (
    HOLDS,
    STORE_COMMAND,
    WATCHDOG_S,
    data,
    many,
    request_association,
    sent_at_random,
    store,
)

STORED = 0x0000


@pytest.fixture
def received(tmp_path):
    return ReceivedFiles(tmp_path / "received")


@pytest.mark.parametrize("kind", HOLDS)
def test_many_who_hold_connections_keep_no_image_out(received, monkeypatch, kind):
    monkeypatch.setattr(listener, "REQUEST_S", 3600.0)
    monkeypatch.setattr(listener, "ANSWER_S", 3600.0)
    monkeypatch.setattr(listener, "MAX_OF_ADDRESS", 6)
    with Listener("127.0.0.1", 0, "SEMBLANCE", received.put) as opened, many(opened.port, 15, *HOLDS[kind]):
        monkeypatch.setattr(listener, "ANSWER_S", WATCHDOG_S)
        assert [store(opened.port, f"1.2.3.{n}") for n in range(3)] == [STORED] * 3
    assert len(list(received.folder.glob("*/*/*.dcm"))) == 3


@pytest.mark.parametrize("kind", HOLDS)
def test_one_who_takes_too_long_is_ended(received, monkeypatch, kind):
    monkeypatch.setattr(listener, "REQUEST_S", 0.5)
    monkeypatch.setattr(listener, "ANSWER_S", 0.5)
    # What asks and is answered may stay as long as it likes.
    if kind == "an association and questions":
        monkeypatch.setitem(HOLDS, kind, (HOLDS[kind][0], b""))
    first, again = HOLDS[kind]
    with (
        Listener("127.0.0.1", 0, "SEMBLANCE", received.put) as opened,
        socket.create_connection(("127.0.0.1", opened.port), WATCHDOG_S) as one,
    ):
        one.sendall(first)
        one.settimeout(0.05)
        end = time.monotonic() + WATCHDOG_S
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < end:
                with contextlib.suppress(TimeoutError):
                    if not one.recv(65536):
                        break
                if again:
                    one.sendall(again)
        assert time.monotonic() < end
        assert store(opened.port) == STORED


def test_the_objects_of_all_senders_together_are_bounded(received, monkeypatch):
    monkeypatch.setenv("SEMBLANCE_MEMORY_MB", "1")
    begun = request_association() + data(STORE_COMMAND, command=True, last=True)
    part = data(bytes(100_000), command=False, last=False)
    with Listener("127.0.0.1", 0, "SEMBLANCE", received.put) as opened, contextlib.ExitStack() as stack:
        senders = []
        for _ in range(5):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", opened.port), WATCHDOG_S))
            one.sendall(begun)
            senders.append(one)
        ended = set()
        end = time.monotonic() + WATCHDOG_S
        for _ in range(8):
            for one in senders:
                try:
                    one.sendall(part)
                except ConnectionError:
                    ended.add(one)
                    continue
            time.sleep(0.05)
        while not ended and time.monotonic() < end:
            for one in senders:
                try:
                    one.sendall(data(b"ab", command=False, last=False))
                except ConnectionError:
                    ended.add(one)
            time.sleep(0.05)
    assert ended


@pytest.mark.parametrize("what", ["full", "read-only", "other"])
def test_a_sender_learns_that_its_image_is_not_on_the_disk(received, monkeypatch, what):
    problems = {
        "full": SemblanceError("The disk is full."),
        "read-only": PermissionError(30, "Read-only file system"),
        "other": RuntimeError("a defect"),
    }

    def fail(*_: object, **__: object) -> None:
        raise problems[what]

    with Listener("127.0.0.1", 0, "SEMBLANCE", received.put) as opened:
        with monkeypatch.context() as patched:
            patched.setattr("semblance.core.network.received_files.write_file", fail)
            status = store(opened.port)
        assert status is not None and status >> 12 in (0xA, 0xC)
        assert not list(received.folder.glob("*/*/*.dcm"))
        assert store(opened.port) == STORED


def test_many_whose_handshake_does_not_begin_keep_no_image_out(received, monkeypatch, tmp_path):
    monkeypatch.setattr(listener, "REQUEST_S", 3600.0)
    monkeypatch.setattr(listener, "MAX_OF_ADDRESS", 6)
    own = pair(tmp_path, "own")
    context = watching_tls(own.certificate, own.key, None)
    trusted = ssl.create_default_context(cafile=str(own.certificate))
    with (
        Listener("127.0.0.1", 0, "SEMBLANCE", received.put, tls=context) as opened,
        many(opened.port, 15, b"\x16\x03", b""),
    ):
        monkeypatch.setattr(listener, "REQUEST_S", WATCHDOG_S)
        assert store(opened.port, tls_args=(trusted, "localhost")) == STORED


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 3000), marks=pytest.mark.long)])
def test_no_order_of_what_is_sent_raises_in_a_thread(received, monkeypatch, seeds):
    """Python prints what a thread raises, and pytest fails for it."""
    monkeypatch.setattr(listener, "REQUEST_S", 0.5)
    monkeypatch.setattr(listener, "ANSWER_S", 2.0)
    with Listener("127.0.0.1", 0, "SEMBLANCE", received.put, report=lambda _: None) as opened:
        for seed in seeds:
            with (
                socket.create_connection(("127.0.0.1", opened.port), WATCHDOG_S) as one,
                contextlib.suppress(ConnectionError, TimeoutError),
            ):
                one.sendall(sent_at_random(seed))
                if seed % 2:
                    one.settimeout(0.05)
                    one.recv(65536)
        monkeypatch.setattr(listener, "ANSWER_S", WATCHDOG_S)
        assert store(opened.port) == STORED


def test_it_ends_while_senders_hold_it_up(received):
    with contextlib.ExitStack() as stack:
        for kind in ("nothing", "an association and nothing", "half a part of an object"):
            listening = stack.enter_context(Listener("127.0.0.1", 0, "SEMBLANCE", received.put))
            stack.enter_context(many(listening.port, 4, *HOLDS[kind]))
    assert not [one for one in threading.enumerate() if "Acceptor" in one.name]
