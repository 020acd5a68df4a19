"""Array files (.npz): headers are checked before memory is allocated, and nothing is unpickled."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.lib.format as npy
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.zip_archive import ZipArchive
from semblance.core.language import tr_lazy
from semblance.core.limits import MAX_ARRAY_BYTES, size_text

_HEADER_BYTES = 16_384
_KINDS = "biufU"


@dataclass(frozen=True)
class ArrayHeader:
    """Shape and type of one array; ``fortran`` says its first index runs fastest in the file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int


class ArrayFile:
    """The arrays of an .npz. One may be used from several threads."""

    def __init__(self, file: Path | BinaryIO, name: str) -> None:
        """
        Raises:
            BadInput: not a zip of arrays, or damaged.
        """
        self.name = name
        self._package = ZipArchive(file, name, large_stored=True)
        self._headers: dict[str, ArrayHeader] = {}

    @property
    def names(self) -> list[str]:
        """Names of the arrays, as in the file."""
        return [entry.removesuffix(".npy") for entry in self._package.entries if entry.endswith(".npy")]

    @property
    def refused(self) -> list[tuple[str, str]]:
        """Entries that are not read, and why."""
        return self._package.refused

    def header(self, array: str) -> ArrayHeader:
        """Shape and type, read without the array.

        Raises:
            BadInput: no such array, Python objects in it, or a header that its size belies.
        """
        if array not in self._headers:
            self._headers[array] = self._read_header(array)
        return self._headers[array]

    def _read_header(self, array: str) -> ArrayHeader:
        entry = f"{array}.npy"
        start = io.BytesIO(self._package.head(entry, _HEADER_BYTES))
        try:
            readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
            shape, fortran, dtype = readers[npy.read_magic(start)](start)
        except Exception:  # noqa: BLE001 - numpy parses a Python literal there, which may fail in any way
            raise self._damaged(array) from None
        if dtype.hasobject or dtype.kind not in _KINDS:
            raise BadInput(
                tr_lazy(
                    "The array '{array}' of '{name}' does not consist of numbers.",
                    array=array,
                    name=self.name,
                ),
                "Save it again as numbers (numpy.savez without objects); ids and names as text: "
                "numpy.array(ids, dtype=str).",
            )
        declared = start.tell() + math.prod(shape) * dtype.itemsize
        if any(side < 0 for side in shape) or declared != self._package.entries[entry].file_size:
            raise self._damaged(array)
        return ArrayHeader(tuple(shape), dtype, bool(fortran), start.tell())

    def read(self, array: str) -> npt.NDArray[Any]:
        """The whole array.

        Raises:
            BadInput: as :meth:`header`, damaged, or too large to be held whole.
        """
        header = self.header(array)
        size = math.prod(header.shape) * header.dtype.itemsize
        if size > MAX_ARRAY_BYTES:
            raise BadInput(
                tr_lazy(
                    "The array '{array}' of '{name}' is {size} large, above the limit of {max_array_bytes}.",
                    array=array,
                    name=self.name,
                    size=size_text(size),
                    max_array_bytes=size_text(MAX_ARRAY_BYTES),
                ),
                "Save it without compression (numpy.savez): then its rows are read one by one.",
            )
        data = self._package.read(f"{array}.npy")
        flat = np.frombuffer(data, header.dtype, offset=header.offset)
        return flat.reshape(header.shape, order="F" if header.fortran else "C")

    def row(self, array: str, index: int) -> npt.NDArray[Any] | None:
        """Row ``index`` alone, where the file allows it; ``None`` where only the whole array can be read.

        Raises:
            BadInput: as :meth:`header`, or no such row.
        """
        header = self.header(array)
        check_row(header.shape, array, index, self.name)
        if header.fortran:
            return None
        shape = header.shape[1:]
        size = math.prod(shape) * header.dtype.itemsize
        data = self._package.read_stored(f"{array}.npy", header.offset + index * size, size)
        return None if data is None else np.frombuffer(data, header.dtype).reshape(shape)

    def blocks(self, array: str, n_rows: int) -> Iterator[npt.NDArray[Any]]:
        """All rows in their order, ``n_rows`` at a time; a compressed array is read as a whole.

        Raises:
            BadInput: as :meth:`read`.
        """
        header = self.header(array)
        size = math.prod(header.shape[1:]) * header.dtype.itemsize
        whole = None
        for start in range(0, header.shape[0], n_rows):
            stop, data = min(start + n_rows, header.shape[0]), None
            if whole is None and not header.fortran:
                data = self._package.read_stored(
                    f"{array}.npy", header.offset + start * size, (stop - start) * size
                )
            if data is None:
                whole = self.read(array) if whole is None else whole
                yield whole[start:stop]
            else:
                yield np.frombuffer(data, header.dtype).reshape(stop - start, *header.shape[1:])

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._package.close()

    def _damaged(self, array: str) -> BadInput:
        return BadInput(
            tr_lazy("The array '{array}' of '{name}' is damaged or cut off.", array=array, name=self.name),
            "Copy or download the file again.",
        )


def check_row(shape: tuple[int, ...], array: str, index: int, name: str) -> None:
    """
    Raises:
        BadInput: an array of ``shape`` has no row ``index``.
    """
    if not shape or not 0 <= index < shape[0]:
        raise BadInput(
            tr_lazy(
                "The array '{array}' of '{name}' has no row {index}.", array=array, name=name, index=index
            ),
            "Import the file again.",
        )
