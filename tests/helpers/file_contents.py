"""All texts in a file: archives are unpacked, streams decoded, and metadata included."""

from __future__ import annotations

import io
from pathlib import Path

from tests.helpers.identifier_search import PNG, parts


def texts_in_file(file: Path) -> str:
    """All texts in ``file`` as one text to search, without the name of the file."""
    return texts_in_bytes(file.read_bytes())


def texts_in_bytes(data: bytes) -> str:
    """:func:`texts_in_file` of the bytes of a file."""
    texts = []
    for _, part in parts(data):
        texts += [part.decode("latin-1"), part.decode("utf-8", "ignore"), part.decode("utf-16-le", "ignore")]
        if part[:8] == PNG or part[:3] == b"\xff\xd8\xff":
            texts.append(_image(part))
    return "\n".join(texts)


def _image(data: bytes) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        image.load()
        return repr(image.info) + repr(getattr(image, "text", "")) + repr(dict(image.getexif()))
