"""Senders that keep to nothing: the listener goes on taking images of the others, and ends in time."""

from __future__ import annotations

import contextlib
import io
import random
import socket
import ssl
import struct
import threading
import time

import numpy as np
import pytest
from pydicom import dcmread
from pynetdicom import AE
from pynetdicom.sop_class import CTImageStorage, Verification

from semblance.core.errors import SemblanceError
from semblance.core.network import listener
from semblance.core.network.connection import watching_tls
from semblance.core.network.listener import Listener
from semblance.core.network.received_files import ReceivedFiles
from tests.helpers.certificates import pair
from tests.helpers.dicom_files import ct_slice, encoded

#: Seconds after which a test gives up.
WATCHDOG_S = 60.0
STORED = 0x0000


def pdu(kind: int, content: bytes, length: int | None = None) -> bytes:
    return struct.pack(">BBL", kind, 0, len(content) if length is None else length) + content


def item(kind: int, content: bytes) -> bytes:
    return struct.pack(">BBH", kind, 0, len(content)) + content


def request_association(sop_class: str = CTImageStorage, calling: bytes = b"HOSTILE") -> bytes:
    context = item(0x30, sop_class.encode()) + item(0x40, b"1.2.840.10008.1.2")
    user = item(0x51, struct.pack(">L", 16384)) + item(0x52, b"1.2.3")
    content = struct.pack(">HH", 1, 0) + b"SEMBLANCE".ljust(16) + calling.ljust(16) + bytes(32)
    content += item(0x10, b"1.2.840.10008.3.1.1.1") + item(0x20, b"\1\0\0\0" + context) + item(0x50, user)
    return pdu(1, content)


def data(content: bytes, *, command: bool, last: bool) -> bytes:
    header = (1 if command else 0) | (2 if last else 0)
    return pdu(4, struct.pack(">LBB", len(content) + 2, 1, header) + content)


def element(number: int, value: bytes) -> bytes:
    return struct.pack("<HHL", 0, number, len(value)) + value


STORE = b"".join(
    (
        element(0x0002, CTImageStorage.encode() + b"\0"),
        element(0x0100, struct.pack("<H", 1)),
        element(0x0110, struct.pack("<H", 1)),
        element(0x0700, struct.pack("<H", 0)),
        element(0x0800, struct.pack("<H", 1)),
        element(0x1000, b"1.2.3\0"),
    )
)
STORE_COMMAND = element(0, struct.pack("<L", len(STORE))) + STORE
ECHO = b"".join(
    (
        element(0x0002, Verification.encode() + b"\0"),
        element(0x0100, struct.pack("<H", 0x30)),
        element(0x0110, struct.pack("<H", 1)),
        element(0x0800, struct.pack("<H", 0x101)),
    )
)
#: What each of many senders sends at first, and then again and again.
HOLDS = {
    "nothing": (b"", b""),
    "half a request": (request_association()[:40], b""),
    "a request byte by byte": (request_association()[:40], b"\0"),
    "a part of huge length": (pdu(1, b"", 0xFFFFFFFF), b"x"),
    "a part of a type that is none": (pdu(99, b"abc"), b""),
    "an association and nothing": (request_association(), b""),
    "an association and questions": (
        request_association(Verification),
        data(element(0, struct.pack("<L", len(ECHO))) + ECHO, command=True, last=True),
    ),
    "a command that does not end": (
        request_association(),
        data(bytes(100), command=True, last=False),
    ),
    "an object that does not come": (
        request_association() + data(STORE_COMMAND, command=True, last=True),
        b"",
    ),
    "an object that does not end": (
        request_association() + data(STORE_COMMAND, command=True, last=True),
        data(bytes(2), command=False, last=False),
    ),
    "half a part of an object": (
        request_association() + data(STORE_COMMAND, command=True, last=True) + pdu(4, b"\0\0\1\0", 1000),
        b"",
    ),
    "an object of huge length": (
        request_association()
        + data(STORE_COMMAND, command=True, last=True)
        + pdu(4, b"\0\0\1\0", 0x7FFFFFFF),
        b"",
    ),
}


@pytest.fixture
def received(tmp_path):
    return ReceivedFiles(tmp_path / "received")


def store(port: int, instance: str = "1.2.3.4", **options) -> int | None:
    """The status that a sender of one image gets."""
    made = ct_slice(np.arange(64, dtype=np.int16).reshape(8, 8))
    made.SOPInstanceUID = instance
    dataset = dcmread(io.BytesIO(encoded(made)))
    entity = AE(ae_title="SCANNER")
    entity.acse_timeout = entity.dimse_timeout = entity.network_timeout = WATCHDOG_S
    entity.add_requested_context(CTImageStorage)
    opened = entity.associate("127.0.0.1", port, ae_title="SEMBLANCE", **options)
    if not opened.is_established:
        return None
    answer = opened.send_c_store(dataset)
    opened.release()
    return answer.get("Status")


@contextlib.contextmanager
def many(port: int, count: int, first: bytes, again: bytes):
    """``count`` senders that hold their connections."""
    opened: list[socket.socket] = []
    ended = threading.Event()

    def hold() -> None:
        while len(opened) < count:
            one = socket.create_connection(("127.0.0.1", port), WATCHDOG_S)
            opened.append(one)
            with contextlib.suppress(OSError):
                one.sendall(first)
        while not ended.wait(0.1):
            for one in opened if again else ():
                with contextlib.suppress(OSError):
                    one.sendall(again)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        while len(opened) < count:
            time.sleep(0.01)
        yield opened
    finally:
        ended.set()
        thread.join()
        for one in opened:
            one.close()


@pytest.mark.parametrize("kind", HOLDS)
def test_many_who_hold_connections_keep_no_image_out(received, monkeypatch, kind):
    monkeypatch.setattr(listener, "_REQUEST_S", 3600.0)
    monkeypatch.setattr(listener, "ANSWER_S", 3600.0)
    monkeypatch.setattr(listener, "MAX_OF_ADDRESS", 6)
    with (
        Listener("127.0.0.1", 0, "SEMBLANCE", received.put) as opened,
        many(opened.port, 15, *HOLDS[kind]),
    ):
        monkeypatch.setattr(listener, "ANSWER_S", WATCHDOG_S)
        assert [store(opened.port, f"1.2.3.{n}") for n in range(3)] == [STORED] * 3
    assert len(list(received.folder.glob("*/*/*.dcm"))) == 3


@pytest.mark.parametrize("kind", HOLDS)
def test_one_who_takes_too_long_is_ended(received, monkeypatch, kind):
    monkeypatch.setattr(listener, "_REQUEST_S", 0.5)
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
    monkeypatch.setattr(listener, "_REQUEST_S", 3600.0)
    monkeypatch.setattr(listener, "MAX_OF_ADDRESS", 6)
    own = pair(tmp_path, "own")
    context = watching_tls(own.certificate, own.key, None)
    trusted = ssl.create_default_context(cafile=str(own.certificate))
    with (
        Listener("127.0.0.1", 0, "SEMBLANCE", received.put, tls=context) as opened,
        many(opened.port, 15, b"\x16\x03", b""),
    ):
        monkeypatch.setattr(listener, "_REQUEST_S", WATCHDOG_S)
        assert store(opened.port, tls_args=(trusted, "localhost")) == STORED


def release() -> bytes:
    return pdu(5, bytes(4))


#: What a sender may send, in any order and damaged.
PARTS = [
    request_association(),
    request_association(Verification),
    request_association("1.2.840.10008.1.20.1"),
    request_association("not a UID"),
    request_association(calling=b"\\\0\xff"),
    data(STORE_COMMAND, command=True, last=True),
    data(STORE_COMMAND, command=True, last=False),
    data(bytes(50), command=False, last=True),
    data(element(0, struct.pack("<L", len(ECHO))) + ECHO, command=True, last=True),
    data(element(0x0100, struct.pack("<H", 0x0FFF)), command=True, last=True),
    data(element(0x0100, struct.pack("<H", 0x0100)), command=True, last=True),
    pdu(2, bytes(100)),
    pdu(3, b"\0\1\1\1"),
    release(),
    pdu(6, bytes(4)),
    pdu(7, bytes(4)),
    pdu(4, b"\0\0\0\0"),
    pdu(4, b""),
    pdu(1, b""),
]


def sent_at_random(seed: int) -> bytes:
    """Parts in a random order, mostly after a request for an association, some with a few other bytes."""
    rng = random.Random(seed)
    parts = [rng.choice(PARTS[:5])] if rng.random() < 0.8 else []
    parts += rng.choices(PARTS, k=rng.randint(0, 5))
    sent = bytearray(b"".join(parts))
    for _ in range(rng.choice([0, 0, 1, 3, 10])):
        if sent:
            sent[rng.randrange(len(sent))] = rng.randrange(256)
    return bytes(sent)


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 3000), marks=pytest.mark.long)])
def test_no_order_of_what_is_sent_raises_in_a_thread(received, monkeypatch, seeds):
    """Python prints what a thread raises, and pytest fails for it."""
    monkeypatch.setattr(listener, "_REQUEST_S", 0.5)
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
