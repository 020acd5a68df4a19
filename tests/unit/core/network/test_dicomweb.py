"""DICOMweb against a small server in this process: what is asked, what comes back, and malformed answers."""

from __future__ import annotations

import contextlib
import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from semblance.core.errors import SemblanceError
from semblance.core.network import dicomweb
from semblance.core.network.dicomweb import DicomWeb, multipart_parts
from semblance.core.network.servers import DICOMWEB, Server, find_server
from semblance.core.network.studies import StudyQuery
from tests.helpers.dicom_files import ROOT, ct_slice, encoded

JSON = "application/dicom+json"
MULTIPART = 'multipart/related; type="application/dicom"; boundary=xx'
OBJECTS = [encoded(ct_slice(np.full((8, 8), i, np.int16), i)) for i in range(3)]


def multipart(objects: list[bytes], *, lengths: bool = False) -> bytes:
    parts = [
        b"--xx\r\nContent-Type: application/dicom\r\n"
        + (b"Content-Length: %d\r\n" % len(one) if lengths else b"")
        + b"\r\n"
        + one
        + b"\r\n"
        for one in objects
    ]
    return b"".join(parts) + b"--xx--\r\n"


@contextlib.contextmanager
def answering(
    status: int = 200, content: bytes = b"[]", kind: str = JSON, *, length: int | None = None, **headers
):
    """A server with one answer to everything; gives its URL and the requests it got."""
    asked: list[tuple[str, str, dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append((self.command, self.path, dict(self.headers), body))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content) if length is None else length))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
            self.close_connection = True

        do_GET = do_POST = answer  # noqa: N815 - so called by the library

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/dicom-web", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_query_has_no_escapes_and_is_filtered_here():
    def study(uid, name):
        return {
            "0020000D": {"vr": "UI", "Value": [uid]},
            "00100010": {"vr": "PN", "Value": [{"Alphabetic": name}]},
        }

    answers = [study("1.2", "Doe^Jöhn"), study("1.3", "Doen^J"), {}]
    with answering(content=json.dumps(answers).encode()) as (url, asked), DicomWeb(find_server(url)) as web:
        (found,) = web.find_studies(StudyQuery(name="doe, jöhn", dates="20240101-", description="a/b & c"))
    assert found.study_instance_uid == "1.2"
    path = asked[0][1]
    assert "PatientName=doe?j*hn*&" in path
    assert "StudyDate=20240101-&StudyDescription=*a?b???c*&" in path
    assert "%" not in path


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
def test_parts_come_byte_by_byte_as_they_are(lengths, size):
    # A boundary within an object must not end it where its length is known.
    objects = [*OBJECTS, b"", b"\r\n--x\r\n--" * 9]
    message = b"preamble\r\n" + multipart(objects, lengths=lengths)
    pieces = (message[start : start + size] for start in range(0, len(message), size))
    assert list(multipart_parts(pieces, b"xx")) == objects


def test_a_message_that_ends_early_gives_its_whole_parts_and_an_error():
    message = multipart(OBJECTS)
    parts = multipart_parts([message[:-20]], b"xx")
    assert [next(parts), next(parts)] == OBJECTS[:2]
    with pytest.raises(ValueError, match="ends before"):
        next(parts)


def retrieve(web: DicomWeb) -> list[bytes]:
    kept: list[bytes] = []
    web.get_instances("1.2", "1.3", "", kept.append, lambda: False)
    return kept


def refuses(ask, says: str) -> None:
    with pytest.raises(SemblanceError, match=says):
        ask()


def test_objects_are_retrieved_and_sent_unchanged():
    with (
        answering(content=multipart(OBJECTS), kind=MULTIPART) as (url, asked),
        DicomWeb(find_server(url)) as web,
    ):
        assert retrieve(web) == OBJECTS
    assert asked[0][2]["Accept"] == 'multipart/related; type="application/dicom"; transfer-syntax=*'
    answer = {"00081199": {"vr": "SQ", "Value": [{"00081155": {"vr": "UI", "Value": ["1.2"]}}]}}
    with answering(content=json.dumps(answer).encode()) as (url, asked), DicomWeb(find_server(url)) as web:
        (stored,) = web.store(OBJECTS).get("ReferencedSOPSequence")
        assert stored.get("ReferencedSOPInstanceUID") == ["1.2"]
    boundary = asked[0][2]["Content-Type"].rpartition("boundary=")[2]
    assert list(multipart_parts([asked[0][3]], boundary.encode())) == OBJECTS


def test_passwords_go_where_they_belong(monkeypatch):
    monkeypatch.setenv("SEMBLANCE_PACS_PASSWORD", "pass:wörd")
    with answering() as (url, asked):
        with DicomWeb(Server("a", DICOMWEB, url=url, authentication="basic", user="me")) as web:
            web.echo()
        with DicomWeb(Server("a", DICOMWEB, url=url, authentication="none")) as web:
            web.echo()
        monkeypatch.setenv("SEMBLANCE_PACS_PASSWORD", "token")
        with DicomWeb(Server("a", DICOMWEB, url=url, authentication="bearer")) as web:
            web.echo()
    sent = [headers.get("Authorization") for _, _, headers, _ in asked]
    assert sent == ["Basic bWU6cGFzczp3w7ZyZA==", None, "Bearer token"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"status": 401}, "does not accept the user or password"),
        ({"status": 404}, "nothing at this address"),
        ({"status": 500}, "the HTTP error 500"),
        ({"status": 302, "Location": "https://elsewhere/"}, "points to https://elsewhere/"),
        ({"content": b"<html>"}, "not JSON"),
        ({"content": b"[" * 100_000}, "not JSON"),
        ({"content": b'{"error": 1}'}, "not DICOM JSON"),
        ({"content": b'[["x"]]'}, "not DICOM JSON"),
        ({"content": b"[]", "length": 50}, "lost"),
        ({"content": b"xx", "Content-Encoding": "gzip"}, "lost"),
    ],
)
def test_a_malformed_answer_to_a_query_is_an_error_that_says_what_is_wrong(answer, says):
    with answering(**answer) as (url, _), DicomWeb(find_server(url)) as web:
        refuses(web.echo, says)


@pytest.mark.parametrize("content", [b"", b"--xx", b"--xx\r\n\r\n", multipart(OBJECTS)[:-30], b"\0" * 999])
def test_a_malformed_retrieval_is_an_error(content):
    with answering(content=content, kind=MULTIPART) as (url, _), DicomWeb(find_server(url)) as web:
        refuses(partial(retrieve, web), "cannot be used")


def test_an_answer_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr(dicomweb, "_WHOLE_ANSWER_S", 0.0)
    with answering(content=b"[]") as (url, _), DicomWeb(find_server(url)) as web:
        refuses(web.echo, "does not end")


def test_no_answer_of_204_is_no_study():
    with answering(204, b"") as (url, _), DicomWeb(find_server(url)) as web:
        assert web.find_studies(StudyQuery()) == []


def test_series_of_nothing_and_uids_that_are_paths_are_left_out():
    answers = [
        {"0020000E": {"vr": "UI", "Value": ["../x"]}},
        {"0020000E": {"vr": "UI", "Value": [f"{ROOT}.2"]}},
    ]
    with answering(content=json.dumps(answers).encode()) as (url, _), DicomWeb(find_server(url)) as web:
        assert [one.series_instance_uid for one in web.list_series("1.2")] == [f"{ROOT}.2"]
