"""Senders that do not keep to DICOM: messages byte by byte, and many connections that are held."""

from __future__ import annotations

import contextlib
import io
import random
import socket
import struct
from typing import Any

import numpy as np
from pydicom import dcmread
from pynetdicom import AE
from pynetdicom.sop_class import CTImageStorage, Verification

from tests.helpers.dicom_files import ct_slice, encoded
from tests.helpers.held_connections import held

#: Seconds after which a test gives up.
WATCHDOG_S = 60.0


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
    "a command that does not end": (request_association(), data(bytes(100), command=True, last=False)),
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


def store(port: int, instance: str = "1.2.3.4", **options: Any) -> int | None:
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


def many(
    port: int, count: int, first: bytes, again: bytes
) -> contextlib.AbstractContextManager[list[socket.socket]]:
    """``count`` senders that hold their connections."""
    return held(lambda: socket.create_connection(("127.0.0.1", port), WATCHDOG_S), count, first, again)
