"""Hashes of the content of cases: equal content has equal hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from semblance.core.imaging.image import Image
    from semblance.core.imaging.region import Region
    from semblance.core.imaging.volume import Stack, Volume

_PIECE = 1 << 20


def content_hash(data: bytes) -> str:
    """The BLAKE2b hash of ``data`` as 32 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def content_hash_of_stream(file: BinaryIO) -> str:
    """:func:`content_hash` of all bytes from the position of ``file`` on, read in pieces."""
    digest = hashlib.blake2b(digest_size=16)
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()


def content_of_file(data: bytes, region: Region | None) -> str:
    """The hash of an image file's bytes, or of a region of that image."""
    return content_of_part(content_hash(data), region)


def content_of_part(digest: str, region: Region | None) -> str:
    """The hash of a region of the content that ``digest`` is the hash of."""
    return digest if region is None else content_hash(f"{digest} {region.to_json()}".encode())


def content_of_slices(hashes: Iterable[str], region: Region | None) -> str:
    """The hash of a volume whose slices, in order, are files of these hashes (a frame follows after "!").

    For a single whole file the same as :func:`content_of_file`.
    """
    parts = list(hashes)
    one = len(parts) == 1 and "!" not in parts[0]
    return content_of_part(parts[0] if one else content_hash(" ".join(parts).encode()), region)


def content_of_pixels(image: Image, region: Region | None = None) -> str:
    """The hash of an image that is a row of an array."""
    return content_of_part(content_hash(image.pixels.tobytes()), region)


def hash_of_volume(volume: Volume) -> str:
    """The hash of all voxels of an array, for :func:`content_of_part`."""
    return content_hash(volume.voxels.tobytes())


def content_of_numbers(values: tuple[float, ...]) -> str:
    """The hash of ready numbers."""
    return content_hash(repr(values).encode())


def contents_of_rows(X: npt.NDArray[np.float64]) -> list[str]:
    """The hash of each row (n, d) of a table; all missing values are equal."""
    return [content_hash(row) for row in bytes_of_rows(np.where(np.isnan(X), np.nan, X))]


def bytes_of_rows(X: npt.NDArray[np.float64]) -> list[bytes]:
    """The bytes of each row (n, d)."""
    data, width = X.tobytes(), X.shape[1] * X.itemsize
    return [data[start : start + width] for start in range(0, len(data), width)]


def hash_of_stack(stack: Stack) -> str:
    """The hash of all slices of a volume: of grey ones as :func:`hash_of_volume`.

    Raises:
        BadInput: it is too large for memory, or a slice cannot be read.
    """
    if not stack.image(0).is_colour:
        return hash_of_volume(stack.volume())
    return content_hash(
        "".join(content_of_pixels(stack.image(place), None) for place in range(len(stack))).encode()
    )
