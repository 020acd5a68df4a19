"""Everything a file tells, however deep: texts and bytes, unpacked, decoded and with their metadata."""

from __future__ import annotations

import base64
import io
import re
import zipfile
from pathlib import Path

_IN_LINE = re.compile(rb"data:[\w/+.-]+;base64,([A-Za-z0-9+/=\s]+)")


def told_by(file: Path) -> str:
    """All that can be found in ``file``, in one text to search; its name is not part of it."""
    return told_by_bytes(file.read_bytes())


def told_by_bytes(data: bytes) -> str:
    """:func:`told_by` of the bytes of a file."""
    told = [data.decode("latin-1"), data.decode("utf-8", "ignore"), data.decode("utf-16-le", "ignore")]
    told += [told_by_bytes(base64.b64decode(found)) for found in _IN_LINE.findall(data)]
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            told.append(archive.comment.decode("latin-1"))
            for entry in archive.infolist():
                told += [entry.filename, entry.comment.decode("latin-1"), told_by_bytes(archive.read(entry))]
    elif data[:4] == b"%PDF":
        told.append(_pdf(data))
    elif data[:8] == b"\x89PNG\r\n\x1a\n" or data[:3] == b"\xff\xd8\xff":
        told.append(_image(data))
    elif data[128:132] == b"DICM":
        told.append(_dicom(data))
    return "\n".join(told)


def _pdf(data: bytes) -> str:
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(data))
    told = [repr(reader.metadata), repr(reader.xmp_metadata), repr(reader.attachments)]
    told += [page.extract_text() for page in reader.pages]
    for number in range(1, len(reader.xref[0]) + 1 if reader.xref else 1):
        found = reader.get_object(number)
        told.append(repr(found))
        if isinstance(found, pypdf.generic.StreamObject) and "/Subtype" not in found:
            told.append(found.get_data().decode("latin-1"))
    return "\n".join(told)


def _image(data: bytes) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        image.load()
        return repr(image.info) + repr(getattr(image, "text", "")) + repr(dict(image.getexif()))


def _dicom(data: bytes) -> str:
    import pydicom

    dataset = pydicom.dcmread(io.BytesIO(data))
    told = [str(dataset.file_meta), str(dataset)]
    told += [
        told_by_bytes(e.value) for e in dataset.iterall() if isinstance(e.value, bytes) and len(e.value) > 8
    ]
    return "\n".join(told)
