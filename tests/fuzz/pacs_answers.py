"""Malformed answers of a PACS: recorded conversations whose answers are damaged, cut, repeated without end or sent
byte by byte, and what the program makes of them."""

from __future__ import annotations

import base64
import contextlib
import functools
import gzip
import json
import os
import random
import resource
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.errors import SemblanceError
from semblance.core.limits import MEMORY_VARIABLE
from semblance.core.network import association, client, connection, dicomweb, dimse
from semblance.core.network.received_files import ReceivedFiles
from semblance.core.network.servers import Server, find_server
from semblance.core.network.studies import StudyQuery
from semblance.core.workflows.network.send_files import send
from tests.fuzz.mutations import TOKENS, mutated
from tests.helpers.dicom_files import CT, ROOT, ct_series, ct_slice, encoded
from tests.helpers.pacs_scp import running_archive

STUDY, SERIES = f"{ROOT}.1", f"{ROOT}.2"
UIDS = [f"{SERIES}.{number}" for number in (1, 2, 3)]
#: Seconds of the program's own limits here, and those that the whole of a task may take on a busy computer.
_TIMEOUT_S, _WHOLE_S = 0.4, 15.0
#: The limit of memory here, and what the process may grow by: copies of the largest message that is taken.
_MEMORY_MB, _GROWTH_BYTES = 32, 400 << 20
#: How often an answer is repeated "without end", in bytes.
_ENDLESS_BYTES = 1 << 30
WHOLE, DRIP, ENDLESS, ENDLESS_BODY, CLOSED, OPEN = (
    "whole",
    "drip",
    "endless",
    "endless body",
    "closed",
    "open",
)
_MODES = (WHOLE,) * 12 + (DRIP, ENDLESS, ENDLESS_BODY, CLOSED, CLOSED, OPEN)


@dataclass(frozen=True)
class Conversation:
    """``task``: what is asked; ``answers``: what the PACS sends after each thing that comes, in one connection; at the
    answer ``at`` it does as ``mode`` says."""

    task: str
    answers: list[bytes]
    mode: str = WHOLE
    at: int = 0

    def packed(self) -> bytes:
        listed = [base64.b64encode(one).decode() for one in self.answers]
        return json.dumps([self.task, listed, self.mode, self.at]).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Conversation:
        task, answers, mode, at = json.loads(data)
        return cls(task, [base64.b64decode(one) for one in answers], mode, at)

    def damaged(self, number: int, seed: int, words: Sequence[bytes]) -> Conversation:
        rng = random.Random(f"{seed}:{number}:answer")
        at, mode = rng.randrange(len(self.answers)), rng.choice(_MODES)
        answers = list(self.answers)
        if mode == WHOLE or rng.random() < 0.3:
            answers[at] = mutated(answers[at], number, seed, words=words)
        if mode == CLOSED:
            answers = [*answers[:at], answers[at][: rng.randrange(len(answers[at]) + 1)]]
        if rng.random() < 0.05:
            answers[at : at + 1] = [answers[at]] * 2
        return Conversation(self.task, answers, mode, at)


#: Lengths of PDUs and elements, commands' statuses, result sources.
DIMSE_WORDS = (
    b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\xfe\xff\0\xe0", b"\0\0\0\xff",
    b"\x01\0\0\0", b"\0\xff\0\xff", b"\0\xa7\0\xc0", b"\x04\x00\x00\x00", b"\x07\0\0\0",
)  # fmt: skip
HTTP_WORDS = (
    *TOKENS, b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 302 Found", b"99999999999", b"--xx--", b"--xx\r\n\r\n",
    b"chunked", b"gzip", b"deflate", b"Location: http://127.0.0.1:1/", b'"vr": "SQ"', b'"vr": "UN"',
)  # fmt: skip


# DIMSE


def dimse_seeds(place: Path) -> list[bytes]:
    """Conversations with a PACS, recorded between it and the program."""
    out = []
    with running_archive(ct_series(place / "pacs", 3)) as archive:
        for task in _TASKS:
            with _recording(archive.port) as (port, answers):
                _do(task, find_server(f"ARCHIVE@127.0.0.1:{port}"), place / "recorded")
            out.append(Conversation(task, answers).packed())
    return out


@contextlib.contextmanager
def _recording(target: int) -> Iterator[tuple[int, list[bytes]]]:
    """A port that passes everything on to ``target``, and what came back, each time the other side had spoken."""
    listening, answers = socket.create_server(("127.0.0.1", 0)), list[bytes]()
    lock, spoke = threading.Lock(), [True]
    threads = []

    def forward(source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                with lock:
                    if is_answer and spoke[0]:
                        answers.append(b"")
                    spoke[0] = not is_answer
                    if is_answer:
                        answers[-1] += piece
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = listening.accept()
                there = socket.create_connection(("127.0.0.1", target))
                for ends in ((here, there, False), (there, here, True)):
                    threads.append(threading.Thread(target=forward, args=ends))
                    threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield listening.getsockname()[1], answers
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting.join()
        for thread in threads:
            thread.join(_WHOLE_S)


def read_dimse(data: bytes, place: Path) -> bool:
    return _read(data, place, lambda port: find_server(f"ARCHIVE@127.0.0.1:{port}"))


# DICOMweb


def _http(body: bytes, kind: str, status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}"]
    if "Transfer_Encoding" not in headers:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _json(*documents: dict[str, Any], **headers: str) -> bytes:
    return _http(json.dumps(documents).encode(), "application/dicom+json", **headers)


def _element(vr: str, *values: object) -> dict[str, Any]:
    return {"vr": vr, "Value": list(values)}


def web_seeds(_: Path) -> list[bytes]:
    """Answers as a DICOMweb server gives them, and such that are made to fill the memory or to point elsewhere."""
    study = {"0020000D": _element("UI", STUDY), "00100010": _element("PN", {"Alphabetic": "Doe^J"})}
    study |= {"00201208": _element("IS", 3), "00080061": _element("CS", "CT")}
    instances = [{"00080018": _element("UI", uid), "00080016": _element("UI", CT)} for uid in UIDS]
    objects = [encoded(ct_slice(np.full((16, 16), number, np.int16), number)) for number in range(3)]
    parts = b"".join(
        b"--xx\r\nContent-Type: application/dicom\r\nContent-Length: %d\r\n\r\n%b\r\n" % (len(one), one)
        for one in objects
    )
    related = 'multipart/related; type="application/dicom"; boundary=xx'
    whole = _http(parts + b"--xx--\r\n", related)
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(parts) + 8, parts + b"--xx--\r\n")
    stored = {
        "00081199": _element("SQ", *({"00081155": _element("UI", uid)} for uid in UIDS)),
        "00081198": _element("SQ", {"00081155": _element("UI", "1.2"), "00081197": _element("US", 272)}),
    }
    packed = gzip.compress(json.dumps([study]).encode())
    many = b"[" + b"[]," * (2 << 20) + b"[]]"
    long = json.dumps([{"00100020": _element("LO", *["x"] * 1000)}] * 3000).encode()
    found = [
        Conversation("find", [_json(study)]),
        Conversation("find", [_http(packed, "application/json", Content_Encoding="gzip")]),
        Conversation("find", [_http(_bomb(), "application/json", Content_Encoding="gzip")]),
        Conversation("find", [_http(many, "application/json")]),
        Conversation("find", [_http(long, "application/json")]),
        Conversation("find", [_http(b"", "text/html", "302 Found", Location="http://127.0.0.1:1/")]),
        Conversation("instances", [_json(*instances)]),
        Conversation("get", [whole]),
        Conversation("get", [_http(chunked, related, Transfer_Encoding="chunked")]),
        Conversation("get", [_http(objects[0], "application/dicom")]),
        Conversation(
            "send", [_http(json.dumps(stored).encode(), "application/dicom+json"), _json(*instances)]
        ),
    ]
    return [one.packed() for one in found]


def _bomb() -> bytes:
    """1 GB of nothing, packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(1 << 24)) for _ in range(64)) + packer.flush()


def read_web(data: bytes, place: Path) -> bool:
    return _read(data, place, lambda port: find_server(f"http://127.0.0.1:{port}/dicom-web"))


# Both

_TASKS = ("find", "instances", "get", "send")


def _do(task: str, server: Server, place: Path) -> None:
    received = ReceivedFiles(place / "received")
    keep = functools.partial(received.put, study=STUDY)
    if task == "find":
        client.find_studies(server, [StudyQuery(name="doe")])
    elif task == "instances":
        client.list_instances(server, STUDY, [SERIES])
    elif task == "send":
        if not (place / "out").exists():
            ct_series(place / "out", 3)
        send(server, place / "out")
    elif server.kind == "dicomweb":
        with dicomweb.DicomWeb(server) as web:
            web.get_instances(STUDY, SERIES, "", keep, lambda: False)
    else:
        dimse.get_instances(server, STUDY, [(SERIES, UIDS)], [CT], keep, lambda: False)


def _read(data: bytes, place: Path, server: Callable[[int], Server]) -> bool:
    """Do the task of a conversation with a PACS that answers so; whether it succeeded.

    Raises:
        AssertionError: it took too long or too much memory, left a thread or a part of an object, or said nothing.
    """
    talk = Conversation.unpacked(data)
    _limit()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    threads = set(threading.enumerate())
    succeeded = True
    with _answering(talk) as port:
        try:
            _do(talk.task, server(port), place)
        except SemblanceError as error:
            assert error.message, "an error without a text"
            succeeded = False
        took = time.monotonic() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert took < _WHOLE_S, f"took {took:.1f} s"
    assert grown << 10 < _GROWTH_BYTES, f"grew by {grown >> 10} MB"
    left = [one for one in threading.enumerate() if one not in threads]
    for one in left:
        one.join(_WHOLE_S)
    assert not any(one.is_alive() for one in left), f"left {left}"
    parts = [one.name for one in place.rglob(".*.part")]
    assert not parts, f"left {parts}"
    return succeeded


def _limit() -> None:
    """Short waits and little memory, so that what has no limit is seen soon."""
    os.environ[MEMORY_VARIABLE] = str(_MEMORY_MB)
    for module in (connection, association, dicomweb):
        module.ANSWER_S = module.CONNECT_S = _TIMEOUT_S  # type: ignore[attr-defined]
    association._RELEASE_S, dicomweb._WHOLE_ANSWER_S = _TIMEOUT_S, 3 * _TIMEOUT_S


@contextlib.contextmanager
def _answering(talk: Conversation) -> Iterator[int]:
    """A port that answers as ``talk`` says; the connection that only looks whether somebody is there has no answer."""
    listening, ended, sockets = (
        socket.create_server(("127.0.0.1", 0)),
        threading.Event(),
        list[socket.socket](),
    )

    def serve() -> None:
        remaining = list(enumerate(talk.answers))
        with contextlib.suppress(OSError):
            while True:
                here, _ = listening.accept()
                sockets.append(here)
                here.settimeout(_WHOLE_S)
                with contextlib.suppress(OSError):
                    while remaining and here.recv(1 << 20):
                        place, answer = remaining.pop(0)
                        _send(here, answer, talk.mode if place == talk.at else WHOLE, ended)
                    if not remaining and talk.mode != OPEN:
                        here.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        ended.set()
        for one in [listening, *sockets]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        thread.join()


def _send(to: socket.socket, answer: bytes, mode: str, ended: threading.Event) -> None:
    if mode == DRIP:
        for place in range(len(answer)):
            to.sendall(answer[place : place + 1])
            if ended.wait(_TIMEOUT_S / 4):
                return
        return
    to.sendall(answer)
    if mode in (ENDLESS, ENDLESS_BODY):
        # A whole answer again and again, or what comes after its head.
        more = answer if mode == ENDLESS else answer[-max(1, len(answer) // 2) :]
        more *= max(1, (1 << 16) // max(1, len(more)))
        for _ in range(_ENDLESS_BYTES // max(1, len(more))):
            if ended.is_set():
                return
            to.sendall(more)
