"""Query, retrieval and sending by DICOMweb (PS3.18): QIDO-RS, WADO-RS and STOW-RS.

Objects are kept and sent byte by byte as they are; a library that decodes each would change them.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.limits import memory_limit
from semblance.core.network.connection import (
    ANSWER_S,
    CONNECT_S,
    certificate_error,
    check_connection,
    is_encrypted,
)
from semblance.core.network.passwords import read_password
from semblance.core.network.studies import (
    MAX_STUDIES,
    FoundStudies,
    Instance,
    Series,
    StudyQuery,
    instance_from,
    series_from,
    study_from,
)

if TYPE_CHECKING:
    from semblance.core.network.servers import Server

_PIECE: Final = 1 << 20
#: An answer to a query is not larger, and has not more values, names and lists.
_MAX_ANSWER: Final = 64 << 20
_MAX_VALUES: Final = 4_000_000
#: A whole answer to a query takes no longer, however slowly it drips.
_WHOLE_ANSWER_S: Final = 3 * ANSWER_S
#: Bytes a second that an object must come with.
_LEAST_SPEED: Final = 100
_STUDY_FIELDS: Final = (
    "StudyDescription",
    "ModalitiesInStudy",
    "NumberOfStudyRelatedSeries",
    "NumberOfStudyRelatedInstances",
)
_SERIES_FIELDS: Final = ("SeriesDescription", "BodyPartExamined", "NumberOfSeriesRelatedInstances")
#: An element's key in JSON, and the parts of a person's name.
_TAG: Final = re.compile(r"[0-9A-Fa-f]{8}")
_NAMES: Final = ("Alphabetic", "Ideographic", "Phonetic")
#: HTTP errors of nginx where it does not accept the certificate of the client.
_CERTIFICATE_CODES: Final = (400, 495, 496)
_MULTIPART: Final = 'multipart/related; type="application/dicom"'


class DicomWeb:
    """A connection to one DICOMweb server. Use it as a context manager, in one thread."""

    def __init__(self, server: Server) -> None:
        """
        Raises:
            SemblanceError: the server cannot be reached, or its password or certificate is missing.
        """
        import requests

        check_connection(server)
        self._server = server
        self._session = requests.Session()
        #: Whether the server said at the last query that it has more answers (PS3.18, 8.3.4.4).
        self._has_more = False
        # Neither proxies nor passwords of the environment are meant for a PACS.
        self._session.trust_env = False
        for adapter in self._session.adapters.values():
            _limit_head(adapter)
        self._session.verify = server.authority or True
        if server.certificate:
            self._session.cert = (server.certificate, server.key) if server.key else server.certificate
        if server.authentication == "basic":
            self._session.auth = (server.user.encode(), read_password(server.name).encode())
        elif server.authentication == "bearer":
            self._session.headers["Authorization"] = f"Bearer {read_password(server.name)}"

    def __enter__(self) -> DicomWeb:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def echo(self) -> None:
        """Ask for one study, which needs the right URL and password.

        Raises:
            SemblanceError: the server does not answer as a DICOMweb server, and why.
        """
        self._query("studies", {"limit": "1"}, ())

    def find_studies(self, query: StudyQuery, *, limit: int = MAX_STUDIES) -> FoundStudies:
        """The studies that fit ``query``, at most ``limit``.

        Raises:
            SemblanceError: the server does not answer, or not as a DICOMweb server.
        """
        keys = {
            "PatientName": query.name_pattern,
            "PatientID": query.patient_id,
            "StudyDate": query.dates,
            "ModalitiesInStudy": query.modality.upper(),
            "StudyDescription": query.description_pattern,
            "AccessionNumber": query.accession,
            "StudyInstanceUID": query.study,
        }
        answers = self._query("studies", keys | {"limit": str(limit + 1)}, _STUDY_FIELDS)
        found = []
        for answer in answers:
            study = study_from(answer)
            if study is not None and query.matches(study, is_certain=answer.is_certain):
                found.append(study)
        return FoundStudies(found[:limit], is_cut=len(answers) > limit or self._has_more)

    def list_series(self, study: str) -> list[Series]:
        """The series of a study.

        Raises:
            SemblanceError: the server does not answer, or not as a DICOMweb server.
        """
        answers = self._query(f"studies/{study}/series", {}, _SERIES_FIELDS)
        return [series for answer in answers if (series := series_from(answer)) is not None]

    def list_instances(self, study: str, series: Sequence[str]) -> list[Instance]:
        """The objects of some ``series`` of a study.

        Raises:
            SemblanceError: the server does not answer, or not as a DICOMweb server.
        """
        found: list[Instance] = []
        for uid in series:
            answers = self._query(f"studies/{study}/series/{uid}/instances", {}, ("SOPClassUID",))
            found += [one for answer in answers if (one := instance_from(answer, uid)) is not None]
        return found

    def get_instances(
        self,
        study: str,
        series: str,
        instance: str,
        keep: Callable[[bytes], object],
        is_cancelled: Callable[[], bool],
    ) -> None:
        """Retrieve a series, or one ``instance`` of it; ``keep`` gets each object in the file format.

        Raises:
            SemblanceError: the server does not answer, or ends before the last object.
        """
        path = f"studies/{study}/series/{series}" + (f"/instances/{instance}" if instance else "")
        accept = f"{_MULTIPART}; transfer-syntax=*"
        with self._request("GET", path, headers={"Accept": accept}) as answer:
            boundary = _boundary(answer.headers.get("Content-Type", ""))
            pieces = self._pieces(answer)
            parts = multipart_parts(pieces, boundary) if boundary else _one_part(pieces)
            while not is_cancelled():
                try:
                    part = next(parts, None)
                except ValueError as error:
                    raise self._unexpected(str(error)) from None
                if part is None:
                    return
                keep(part)

    def store(self, objects: Iterable[bytes]) -> JsonAnswer:
        """Send ``objects``, each in the file format, in one request; returns the answer (PS3.18, table 10.5.3).

        Raises:
            SemblanceError: the server does not answer, or refuses all.
        """
        boundary = f"semblance-{secrets.token_hex(16)}"

        def body() -> Iterator[bytes]:
            for encoded in objects:
                yield f"--{boundary}\r\nContent-Type: application/dicom\r\n\r\n".encode()
                yield encoded
                yield b"\r\n"
            yield f"--{boundary}--\r\n".encode()

        headers = {"Accept": "application/dicom+json", "Content-Type": f"{_MULTIPART}; boundary={boundary}"}
        # 409: some or all of the objects were refused; the answer says which.
        # Not sent piece by piece, which Orthanc before 1.11 and some proxies do not take.
        with self._request(
            "POST", "studies", headers=headers, data=b"".join(body()), allowed=(200, 202, 409)
        ) as answer:
            content = self._content(answer)
        answers = self._answers(content)
        if not answers:
            raise self._unexpected("it is empty")
        return answers[0]

    def _query(self, path: str, keys: Mapping[str, str], fields: Sequence[str]) -> list[JsonAnswer]:
        """Answers of QIDO-RS; no answer where the server has nothing that fits."""
        terms = [f"{key}={_escape(value)}" for key, value in keys.items() if value]
        terms += [f"includefield={field}" for field in fields]
        address = path + ("?" + "&".join(terms) if terms else "")
        headers = {"Accept": "application/dicom+json"}
        with self._request("GET", address, headers=headers, allowed=(200, 204, 206)) as answer:
            self._has_more = "additional results" in answer.headers.get("Warning", "")
            if answer.status_code == 204:
                return []
            return self._answers(self._content(answer))

    def _content(self, answer: Any) -> bytes:
        content, end = bytearray(), time.monotonic() + _WHOLE_ANSWER_S
        for piece in self._pieces(answer):
            content += piece
            if len(content) > _MAX_ANSWER:
                raise self._unexpected("it is too long")
            if time.monotonic() > end:
                raise self._unexpected("it does not end")
        return bytes(content)

    def _answers(self, content: bytes) -> list[JsonAnswer]:
        if not content.strip():
            return []
        # Each takes a hundred bytes and more in memory.
        if sum(content.count(mark) for mark in (b",", b"[", b"{")) > _MAX_VALUES:
            raise self._unexpected("it is too long")
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            raise self._unexpected("it is not JSON") from None
        listed = document if isinstance(document, list) else [document]
        if not all(isinstance(one, dict) and all(map(_TAG.fullmatch, one)) for one in listed):
            raise self._unexpected("it is not DICOM JSON")
        return [JsonAnswer(one) for one in listed]

    @contextlib.contextmanager
    def _request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        data: Any = None,
        allowed: Sequence[int] = (200, 206),
    ) -> Iterator[Any]:
        import requests

        url = f"{self._server.url.rstrip('/')}/{path}"
        with contextlib.ExitStack() as stack:
            try:
                answer = self._session.request(
                    method,
                    url,
                    headers=dict(headers),
                    data=data,
                    stream=True,
                    timeout=(CONNECT_S, ANSWER_S),
                    allow_redirects=False,
                )
            except requests.exceptions.SSLError as error:
                raise certificate_error(self._server, error) from error
            except (requests.exceptions.RequestException, OSError, ValueError) as error:
                raise self._lost(error) from error
            stack.callback(answer.close)
            if answer.status_code not in allowed:
                raise self._refused(answer)
            yield answer

    def _pieces(self, answer: Any) -> Iterator[bytes]:
        """The body as it comes."""
        import urllib3.exceptions

        came, start = 0, time.monotonic()
        try:
            while piece := answer.raw.read1(_PIECE, decode_content=True):
                came += len(piece)
                if (now := time.monotonic()) - start > ANSWER_S:
                    if came < _LEAST_SPEED * ANSWER_S:
                        raise TimeoutError("timed out")
                    came, start = 0, now
                yield piece
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise self._lost(error) from error

    def _refused(self, answer: Any) -> SemblanceError:
        name, code = self._server.name, answer.status_code
        if code in _CERTIFICATE_CODES and is_encrypted(self._server) and self._is_about_certificate(answer):
            return SemblanceError(
                tr_lazy(
                    "The PACS '{name}' refused the certificate of this computer ({code}).",
                    name=name,
                    code=code,
                ),
                "Enter a certificate and key that the PACS trusts.",
            )
        if code in (401, 403):
            return SemblanceError(
                tr_lazy(
                    "The PACS '{name}' does not accept the user or password ({code}).", name=name, code=code
                ),
                "Check the authentication, the user and the password or token.",
            )
        if code == 404:
            return SemblanceError(
                tr_lazy("The PACS '{name}' has nothing at this address (404).", name=name),
                "Check the URL, which often ends in /dicom-web, and whether the study is still there.",
            )
        if 300 <= code < 400:
            return SemblanceError(
                tr_lazy(
                    "The PACS '{name}' points to {address}.",
                    name=name,
                    address=str(answer.headers.get("Location", "?"))[:200],
                ),
                "Enter this address as its URL.",
            )
        return SemblanceError(
            tr_lazy("The PACS '{name}' answered with the HTTP error {code}.", name=name, code=code),
            "Ask who looks after the PACS; its log says more.",
        )

    def _is_about_certificate(self, answer: Any) -> bool:
        """Whether the text of an error is nginx's about the certificate of the client."""
        try:
            return b"SSL certificate" in next(self._pieces(answer), b"")
        except SemblanceError:
            return False

    def _lost(self, error: Exception) -> SemblanceError:
        slow = "timed out" in str(error).lower()
        return SemblanceError(
            tr_lazy("The PACS '{name}' did not answer in time.", name=self._server.name)
            if slow
            else tr_lazy("The connection to the PACS '{name}' was lost.", name=self._server.name),
            "Try it again; what was received is kept.",
        )

    def _unexpected(self, reason: str) -> SemblanceError:
        return SemblanceError(
            tr_lazy(
                "The answer of the PACS '{name}' cannot be used: {reason}.",
                name=self._server.name,
                reason=reason,
            ),
            "Check that the URL is that of its DICOMweb service.",
        )


def _limit_head(adapter: Any) -> None:
    """Let the connections of ``adapter`` end where the head of an answer does not come as a whole in time.

    The libraries only bound the wait for its next byte.
    """
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    class Limited:
        sock: socket.socket | None

        def getresponse(self) -> Any:
            opened, timer = self.sock, threading.Timer(ANSWER_S, lambda: _end(opened))
            timer.start()
            try:
                return super().getresponse()  # type: ignore[misc]
            finally:
                timer.cancel()

    plain = type("Plain", (Limited, HTTPConnection), {})
    encrypted = type("Encrypted", (Limited, HTTPSConnection), {})
    adapter.poolmanager.pool_classes_by_scheme = {
        "http": type("PlainPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
        "https": type("EncryptedPool", (HTTPSConnectionPool,), {"ConnectionCls": encrypted}),
    }


def _end(opened: socket.socket | None) -> None:
    if opened is not None:
        with contextlib.suppress(OSError):
            opened.shutdown(socket.SHUT_RDWR)


class JsonAnswer:
    """One data set of an answer in JSON (PS3.18, annex F), of which only texts and sequences are asked for.

    pydicom's own reader takes a minute where someone made an answer of many values.
    """

    def __init__(self, elements: Mapping[str, Any]) -> None:
        self._elements = elements
        #: Whether the server could read all of its texts, and in the right character set.
        self.is_certain = True

    def get(self, keyword: str) -> list[Any]:
        """The values of an element: texts and numbers, names as ``Alphabetic=Ideographic=Phonetic``, or data sets."""
        from pydicom.datadict import tag_for_keyword

        element = self._elements.get(f"{tag_for_keyword(keyword) or 0:08X}")
        values = element.get("Value") if isinstance(element, dict) else None
        if not isinstance(element, dict) or not isinstance(values, list):
            return []
        if element.get("vr") == "SQ":
            return [JsonAnswer(one) for one in values if isinstance(one, dict)]
        if element.get("vr") == "PN":
            named = [one for one in values if isinstance(one, dict)]
            values = ["=".join(str(one.get(kind, "")) for kind in _NAMES).rstrip("=") for one in named]
        return [
            self._read(one) if isinstance(one, str) else one
            for one in values
            if isinstance(one, str | int | float)
        ]

    def _read(self, text: str) -> str:
        """``text``, from UTF-8 that the server took for Latin-1 too."""
        if text.isascii():
            return text
        if "\ufffd" in text:
            self.is_certain = False
        try:
            return text.encode("latin-1").decode("utf-8")
        except UnicodeError:
            return text


def multipart_parts(pieces: Iterable[bytes], boundary: bytes) -> Iterator[bytes]:
    """The bodies of the parts of a multipart message (RFC 2046, section 5.1), one after the other.

    Raises:
        ValueError: the message ends before its last boundary, or a part is too large.
    """
    source, buffer, delimiter = iter(pieces), bytearray(b"\r\n"), b"\r\n--" + boundary
    longest = memory_limit()
    ended = False

    def more() -> bool:
        nonlocal ended
        piece = next(source, None)
        ended = piece is None
        buffer.extend(piece or b"")
        return not ended

    def find(text: bytes, start: int) -> int:
        searched = start
        while (place := buffer.find(text, searched)) < 0:
            searched = max(start, len(buffer) - len(text) + 1)
            if len(buffer) > longest:
                raise ValueError("a part is too large")
            if not more():
                raise ValueError("it ends before its last part")
        return place

    del buffer[: find(delimiter, 0) + len(delimiter)]
    while True:
        while len(buffer) < 2 and more():
            pass
        if buffer[:2] == b"--":
            return
        header_end = find(b"\r\n\r\n", 0)
        length = re.search(rb"(?im)^content-length:[ \t]*(\d{1,15})[ \t]*\r?$", bytes(buffer[:header_end]))
        start = header_end + 4
        # With a length there is no need to look at every byte.
        skip = start
        if length is not None and int(length[1]) <= longest:
            while len(buffer) < start + int(length[1]) + len(delimiter) and more():
                pass
            if buffer.startswith(delimiter, start + int(length[1])):
                skip = start + int(length[1])
        end = find(delimiter, skip)
        yield bytes(buffer[start:end])
        del buffer[: end + len(delimiter)]


def _one_part(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The whole of a message that has no parts.

    Raises:
        ValueError: it is too large.
    """
    whole, longest = bytearray(), memory_limit()
    for piece in pieces:
        whole += piece
        if len(whole) > longest:
            raise ValueError("a part is too large")
    yield bytes(whole)


def _boundary(content_type: str) -> bytes:
    """The boundary of a multipart message; empty where it is none."""
    if not content_type.lower().lstrip().startswith("multipart/"):
        return b""
    found = re.search(r'boundary=(?:"([^"]{1,200})"|([^\s;]{1,200}))', content_type, re.IGNORECASE)
    return (found[1] or found[2]).encode("latin-1", "replace") if found else b""


def _escape(value: str) -> str:
    """A value of a query as every server reads it.

    Orthanc takes %xx for what it says, so any other character than the plain ones is asked for with ``?``, or ``*``
    where its number of bytes is not one. The answers are filtered afterwards.
    """
    return re.sub(r"[^A-Za-z0-9*?._~-]", lambda found: "?" if found[0].isascii() else "*", value)
