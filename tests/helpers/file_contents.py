"""All texts in a file: archives are unpacked, streams decoded, and metadata included."""

from __future__ import annotations

import base64
import io
import re
import zipfile
from pathlib import Path

_DATA_URL = re.compile(rb"data:[\w/+.-]+;base64,([A-Za-z0-9+/=\s]+)")


def texts_in_file(file: Path) -> str:
    """All texts in ``file`` as one text to search, without the name of the file."""
    return texts_in_bytes(file.read_bytes())


def texts_in_bytes(data: bytes) -> str:
    """:func:`texts_in_file` of the bytes of a file."""
    texts = [data.decode("latin-1"), data.decode("utf-8", "ignore"), data.decode("utf-16-le", "ignore")]
    texts += [texts_in_bytes(base64.b64decode(part)) for part in _DATA_URL.findall(data)]
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            texts.append(archive.comment.decode("latin-1"))
            for entry in archive.infolist():
                texts += [
                    entry.filename,
                    entry.comment.decode("latin-1"),
                    texts_in_bytes(archive.read(entry)),
                ]
    elif data[:4] == b"%PDF":
        texts.append(_pdf(data))
    elif data[:8] == b"\x89PNG\r\n\x1a\n" or data[:3] == b"\xff\xd8\xff":
        texts.append(_image(data))
    elif data[128:132] == b"DICM":
        texts.append(_dicom(data))
    return "\n".join(texts)


def _pdf(data: bytes) -> str:
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(data))
    texts = [repr(reader.metadata), repr(reader.xmp_metadata), repr(reader.attachments)]
    texts += [page.extract_text() for page in reader.pages]
    for number in range(1, len(reader.xref[0]) + 1 if reader.xref else 1):
        part = reader.get_object(number)
        texts.append(repr(part))
        if isinstance(part, pypdf.generic.StreamObject) and "/Subtype" not in part:
            texts.append(part.get_data().decode("latin-1"))
    return "\n".join(texts)


def _image(data: bytes) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        image.load()
        return repr(image.info) + repr(getattr(image, "text", "")) + repr(dict(image.getexif()))


def _dicom(data: bytes) -> str:
    import pydicom

    dataset = pydicom.dcmread(io.BytesIO(data))
    texts = [str(dataset.file_meta), str(dataset)]
    texts += [
        texts_in_bytes(e.value) for e in dataset.iterall() if isinstance(e.value, bytes) and len(e.value) > 8
    ]
    return "\n".join(texts)
