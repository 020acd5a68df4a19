"""Look for words in the bytes of a file, in all its containers and encodings."""

from __future__ import annotations

import base64
import contextlib
import io
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from semblance.core.imaging.dicom.identity import elements

ENCODINGS = (
    "utf-8", "utf-16-le", "utf-16-be", "latin-1", "iso8859_2", "iso8859_5", "iso8859_7", "shift_jis", "euc_kr",
    "gb18030", "iso2022_jp", "iso2022_kr",
)  # fmt: skip
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{24,}={0,2}")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){12,}")
PNG = b"\x89PNG\r\n\x1a\n"
_MOST_DEPTH = 6


@dataclass
class Searched:
    """What was looked at, and ``found``: (file, container, word, encoding)."""

    files: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    found: list[tuple[str, str, str, str]] = field(default_factory=list)

    def report(self) -> str:
        parts = ", ".join(f"{name} {count:,}" for name, count in sorted(self.parts.items()))
        return f"{self.files:,} files; parts: {parts}; {len(ENCODINGS)} encodings; found: {len(self.found)}"


class IdentifierSearch:
    """Searches files for ``words``, of which letter case does not matter, and for ``numbers`` as four bytes."""

    def __init__(self, words: tuple[str, ...], numbers: tuple[int, ...] = ()) -> None:
        self.searched = Searched()
        self._patterns: list[tuple[str, str, re.Pattern[bytes]]] = []
        for word in words:
            seen: set[bytes] = set()
            for encoding in ENCODINGS:
                forms: set[bytes] = set()
                for form in {word, word.upper(), word.title(), word.lower(), word.casefold()}:
                    with contextlib.suppress(UnicodeEncodeError):
                        # Without the escape before it and the one behind it, which belong to the text around it.
                        forms.add(_ESCAPES.sub(b"", form.encode(encoding)))
                forms = {form for form in forms if len(form) >= 4} - seen
                seen |= forms
                if forms:
                    pattern = b"|".join(map(re.escape, sorted(forms)))
                    self._patterns.append((word, encoding, re.compile(pattern, re.IGNORECASE)))
            if word.isascii() and len(word) >= 7:
                backwards = re.compile(re.escape(word.encode()[::-1]), re.IGNORECASE)
                self._patterns.append((word, "backwards", backwards))
        for number in numbers:
            # A row of digits of binary numbers: within a word of eight bytes too.
            both = b"|".join(re.escape(struct.pack(f"{order}I", number)) for order in "<>")
            self._patterns.append((str(number), "binary", re.compile(both)))

    def file(self, path: Path, name: str = "") -> None:
        """Search a file and its name below the folder of the export."""
        self.bytes(path.read_bytes(), name or path.name)
        self._search((name or path.name).encode(), path.name, "name of the file")

    def folder(self, folder: Path) -> None:
        """Search all files of a folder and their names."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.file(path, str(path.relative_to(folder)))

    def bytes(self, data: bytes, name: str) -> None:
        """Search the content of a file called ``name``."""
        self.searched.files += 1
        seen: set[bytes] = set()
        for kind, part in parts(data):
            if part not in seen:
                seen.add(part)
                self._search(part, name, kind)

    def _search(self, data: bytes, name: str, kind: str) -> None:
        self.searched.parts[kind] += 1
        for word, encoding, pattern in self._patterns:
            if encoding == "binary" and kind not in ("file", "inflated data set"):
                continue
            if pattern.search(data):
                self.searched.found.append((name, kind, word, encoding))


_ESCAPES = re.compile(rb"\x1b[\x24\x28\x29].{1,2}?(?=[^A-Z0-9])|\x1b\$?[()][A-Z0-9]|\x1b\$[@AB]|\x0e|\x0f")


def parts(data: bytes, kind: str = "file", depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """(kind, bytes) of ``data`` and of all that is packed into it."""
    yield kind, data
    if depth < _MOST_DEPTH:
        for inner_kind, inner in _unpacked(data):
            yield from parts(inner, inner_kind, depth + 1)


def _unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data[:2] == b"PK":
        yield from _of_zip(data)
    elif data[:4] == b"%PDF":
        yield from _of_pdf(data)
    elif data[:8] == PNG:
        yield from _of_png(data)
    elif data[128:132] == b"DICM":
        yield from _of_dicom(data)
    elif data[:2] == b"\x1f\x8b":
        with contextlib.suppress(zlib.error):
            yield "gzip", zlib.decompress(data, 31)
    elif data[:15] == b"SQLite format 3":
        return
    elif _is_text(data):
        for match in _BASE64.finditer(data):
            with contextlib.suppress(ValueError):
                yield "base64", base64.b64decode(match.group() + b"=" * (-len(match.group()) % 4))
        for match in _HEX.finditer(data):
            yield "hexadecimal", bytes.fromhex(match.group().decode())


def _is_text(data: bytes) -> bool:
    return b"\0" not in data[:4096]


def _of_zip(data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        yield "comment of a zip", archive.comment
        for entry in archive.infolist():
            yield "name in a zip", entry.filename.encode()
            yield "comment of an entry", entry.comment + entry.extra
            yield "entry of a zip", archive.read(entry)


def _of_pdf(data: bytes) -> Iterator[tuple[str, bytes]]:
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(data))
    yield "metadata of a PDF", f"{reader.metadata!r}{reader.xmp_metadata!r}".encode()
    for name, contents in reader.attachments.items():
        yield "name of an attachment", name.encode()
        for content in contents:
            yield "attachment", content
    for page in reader.pages:
        yield "text of a PDF", page.extract_text().encode()
    for number in range(1, int(reader.trailer["/Size"])):
        with contextlib.suppress(Exception):
            part = reader.get_object(number)
            yield "object of a PDF", repr(part).encode()
            if isinstance(part, pypdf.generic.StreamObject):
                yield "stream of a PDF", part.get_data()


def _of_png(data: bytes) -> Iterator[tuple[str, bytes]]:
    place = 8
    while place + 12 <= len(data):
        length, kind = int.from_bytes(data[place : place + 4], "big"), data[place + 4 : place + 8]
        content = data[place + 8 : place + 8 + length]
        if kind in (b"zTXt", b"iCCP", b"iTXt"):
            start = content.find(b"\x78")
            while start >= 0:
                with contextlib.suppress(zlib.error):
                    yield "packed text of a PNG", zlib.decompress(content[start:])
                    break
                start = content.find(b"\x78", start + 1)
        place += 12 + length


def _of_dicom(data: bytes) -> Iterator[tuple[str, bytes]]:
    import pydicom

    dataset = pydicom.dcmread(io.BytesIO(data), force=True)
    if dataset.file_meta.get("TransferSyntaxUID") == "1.2.840.10008.1.2.1.99":
        start = data.find(b"1.2.840.10008.1.2.1.99") + 22
        for offset in range(start, start + 200):
            with contextlib.suppress(zlib.error):
                found = zlib.decompressobj(-15).decompress(data[offset:])
                if len(found) > 64:
                    yield "inflated data set", found
                    break
    with contextlib.suppress(Exception):
        yield "texts of a data set", str(dataset).encode("utf-8", "replace")
    for element in elements(dataset):
        if isinstance(element.value, bytes) and len(element.value) > 8:
            yield "bytes of an element", element.value
            if element.keyword == "PixelData" and element.value[:4] == b"\xfe\xff\x00\xe0":
                for fragment in pydicom.encaps.generate_fragments(element.value):
                    yield "fragment of pixels", fragment
        elif element.VR != "SQ":
            yield "value of an element", str(element.value).encode("utf-8", "replace")
