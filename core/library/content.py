"""What a case shows, as a short name: equal content, equal name."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.imaging.picture import Picture
    from core.imaging.region import Region


def content_hash(data: bytes) -> str:
    """The name of some content: equal bytes, equal text."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def content_of_file(data: bytes, region: Region | None) -> str:
    """Of a picture file's bytes, or of a region of that picture."""
    digest = content_hash(data)
    return digest if region is None else content_hash(f"{digest} {region.to_json()}".encode())


def content_of_pixels(picture: Picture) -> str:
    """Of a picture that is a row of an array."""
    return content_hash(picture.pixels.tobytes())


def content_of_numbers(values: tuple[float, ...]) -> str:
    """Of a table's row."""
    return content_hash(repr(values).encode())
