"""Arrays in the folder of derived data: made again where they are missing, damaged or out of date.

A file is a line of JSON, which names the arrays, and the bytes of each. They are mapped into memory, so that a million
cases are there at once and take no memory of their own.
"""

from __future__ import annotations

import json
import math
import mmap
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from semblance.core.files import create_folder, replacing

#: The file of the columns of all cases, and the endings of those with a metric's neighbourhoods, of the cases related
#: to its training cases, and of all cases in its coordinates.
CASES_FILE, NEAR_SUFFIX, TRAINED_SUFFIX, EMBEDDING_SUFFIX = "cases.columns", ".near", ".trained", ".embedding"
#: The ending of a file with the descriptions of all slices of a volume, by which another is aligned with it.
SLICES_SUFFIX = ".slices"
#: The ending of a file with the places of a feature set, ready to be searched.
PLACES_SUFFIX = ".places"
#: How such a file begins, and how long its first line may be.
_MAGIC, _LONGEST_HEADER = b"semblance arrays 1\n", 1 << 16
#: Each array begins at a multiple of this, so that its numbers are aligned.
_ALIGNED = 64


def save_arrays(file: Path, arrays: Mapping[str, npt.NDArray[Any]], key: str = "") -> None:
    """Write ``arrays`` of numbers that were made from what ``key`` names; nothing where there is no space or no
    permission."""
    stored = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    entries = [
        [name, array.dtype.str, array.shape, zlib.crc32(array.data.cast("B") if array.size else b"")]
        for name, array in stored.items()
    ]
    header = _MAGIC + json.dumps({"made_from": key, "arrays": entries}).encode() + b"\n"
    try:
        create_folder(file.parent)
        with replacing(file, durable=False) as temporary, temporary.open("wb") as out:
            out.write(header)
            for array in stored.values():
                out.write(bytes(-out.tell() % _ALIGNED))
                out.write(array.data if array.size else b"")
    except OSError:
        # A full disk costs the next start some seconds, never an answer now.
        return


def load_arrays(file: Path, key: str = "") -> dict[str, npt.NDArray[Any]] | None:
    """The arrays that :func:`save_arrays` wrote, not to be written to; ``None`` if they are damaged or were made from
    something else.

    The file stays mapped as long as one of them is used. All of it is read once, to compare the checksums.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return None
        with file.open("rb") as opened:
            header = _read_header(opened)
            if header.get("made_from") != key:
                return None
            return _mapped(opened, header["arrays"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _read_header(opened: BinaryIO) -> dict[str, Any]:
    """
    Raises:
        ValueError: there is none.
    """
    if opened.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("another kind of file")
    header: dict[str, Any] = json.loads(opened.readline(_LONGEST_HEADER))
    return header


def _mapped(opened: BinaryIO, entries: list[Any]) -> dict[str, npt.NDArray[Any]]:
    """The arrays behind the header.

    Raises:
        ValueError: they are not those that were written.
    """
    start = opened.tell()
    memory = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    found = {}
    for name, written_type, shape, checksum in entries:
        dtype = np.dtype(str(written_type))
        # Objects would have to be unpickled.
        if dtype.kind not in "fiub" or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError("other kinds of values")
        start += -start % _ALIGNED
        size = math.prod(shape) * dtype.itemsize
        data = memoryview(memory)[start : start + size]
        if len(data) != size or zlib.crc32(data) != checksum:
            raise ValueError("damaged")
        found[str(name)] = np.frombuffer(data, dtype=dtype).reshape(shape)
        start += size
    if start != len(memory):
        raise ValueError("of another length")
    return found
