"""Pictures by address: plain files, entries of zips, rows of array files."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from core.errors import BadInput
from core.imaging.address import PictureAddress
from core.imaging.arrays import ArrayFile, check_row
from core.imaging.limits import MAX_ARRAY_BYTES, MAX_PIXELS
from core.imaging.package import Package, open_plainly, read_file
from core.imaging.picture import Picture
from core.imaging.raster import decode, unit_range
from core.imaging.thumbnail import LONGEST, PictureFacts, inspect, inspect_picture

_OPEN_CONTAINERS = 4
_Stamp = tuple[int, int, int]


class PictureReader:
    """Reads pictures by address and keeps the last few zip and array files open between them.

    Close it, or use it in a ``with`` statement. It may be used from several threads; decoding runs beside
    each other, reading one after the other.
    """

    def __init__(self, max_pixels: int = MAX_PIXELS) -> None:
        self.max_pixels = max_pixels
        self._lock = threading.RLock()
        self._packages: OrderedDict[Path, tuple[_Stamp, Package]] = OrderedDict()
        self._array_files: OrderedDict[tuple[Path, str], tuple[_Stamp, ArrayFile]] = OrderedDict()
        self._arrays: OrderedDict[tuple[Path, str], tuple[_Stamp, npt.NDArray[Any]]] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every file; the reader may be used again afterwards."""
        with self._lock:
            for _, package in self._packages.values():
                package.close()
            for _, arrays in self._array_files.values():
                arrays.close()
            self._packages.clear()
            self._array_files.clear()
            self._arrays.clear()

    def read_bytes(self, address: PictureAddress) -> bytes:
        """The picture file's bytes as stored; for (a row of) an array its numbers in C order.

        Raises:
            BadInput: missing, damaged, or refused by the limits of size.
        """
        with self._lock:
            found = self._bytes_or_array(address)
        return found if isinstance(found, bytes) else found.tobytes()

    def open(self, address: PictureAddress) -> Picture:
        """The decoded picture.

        Raises:
            BadInput: as :meth:`read_bytes`, or not a picture.
        """
        with self._lock:
            found = self._bytes_or_array(address)
        if isinstance(found, bytes):
            return decode(found, str(address), frame=address.frame, max_pixels=self.max_pixels)
        return picture_of(found, str(address))

    def inspect(self, address: PictureAddress, longest: int = LONGEST) -> PictureFacts:
        """Size and thumbnail of the picture, which is decoded completely.

        Raises:
            BadInput: as :meth:`open`.
        """
        with self._lock:
            found = self._bytes_or_array(address)
        if isinstance(found, bytes):
            return inspect(found, str(address), longest, frame=address.frame, max_pixels=self.max_pixels)
        return inspect_picture(picture_of(found, str(address)), longest)

    def array_file(self, address: PictureAddress) -> ArrayFile:
        """The arrays of an .npz on disk (``member`` empty) or within a zip (``member`` its entry).

        The file stays the reader's own: it is closed when others push it out or the reader closes.

        Raises:
            BadInput: missing, damaged or no file of arrays.
        """
        with self._lock:
            return self._array_file(address.container, address.member)[1]

    def _bytes_or_array(self, address: PictureAddress) -> bytes | npt.NDArray[Any]:
        if not address.member:
            return read_file(address.container, str(address.container))
        package = self._package(address.container)[1]
        if address.member in package.entries:
            return package.read(address.member)
        if f"{address.member}.npy" in package.entries:
            return self._rows(address.container, "", address.member, address.frame)
        entry, mark, array = address.member.rpartition("!")
        if mark and entry in package.entries:
            return self._rows(address.container, entry, array, address.frame)
        return package.read(address.member)

    def _rows(self, container: Path, entry: str, array: str, frame: int | None) -> npt.NDArray[Any]:
        stamp, file = self._array_file(container, entry)
        if frame is not None:
            row = file.row(array, frame)
            if row is not None:
                return row
        key = (container, f"{entry}!{array}")
        kept = self._arrays.get(key)
        if kept is None or kept[0] != stamp:
            whole = file.read(array)
            room = MAX_ARRAY_BYTES - whole.nbytes
            self._arrays.pop(key, None)
            while self._arrays and sum(other.nbytes for _, other in self._arrays.values()) > room:
                self._arrays.popitem(last=False)
            self._arrays[key] = (stamp, whole)
        else:
            whole = kept[1]
            self._arrays.move_to_end(key)
        if frame is None:
            return whole
        check_row(whole.shape, array, frame, file.name)
        return np.asarray(whole[frame])

    def _package(self, container: Path) -> tuple[_Stamp, Package]:
        stamp = _stamp(container)
        kept = self._packages.pop(container, None)
        if kept is not None and kept[0] != stamp:
            kept[1].close()
            kept = None
        if kept is None:
            kept = (stamp, Package(container, str(container)))
        self._packages[container] = kept
        if len(self._packages) > _OPEN_CONTAINERS:
            self._packages.popitem(last=False)[1][1].close()
        return kept

    def _array_file(self, container: Path, entry: str) -> tuple[_Stamp, ArrayFile]:
        stamp = _stamp(container)
        key = (container, entry)
        kept = self._array_files.pop(key, None)
        if kept is not None and kept[0] != stamp:
            kept[1].close()
            kept = None
        if kept is None:
            if entry:
                within = io.BytesIO(self._package(container)[1].read(entry))
                kept = (stamp, ArrayFile(within, f"{container}!{entry}"))
            else:
                kept = (stamp, ArrayFile(container, str(container)))
        self._array_files[key] = kept
        if len(self._array_files) > _OPEN_CONTAINERS:
            self._array_files.popitem(last=False)[1][1].close()
        return kept


def open_picture(where: str | Path | PictureAddress) -> Picture:
    """The picture in a file, a zip's entry or an array's row.

    Raises:
        BadInput: missing, damaged, not a picture, or above the limits of size; the message names the file.
    """
    address = where if isinstance(where, PictureAddress) else PictureAddress(Path(where))
    with PictureReader() as reader:
        return reader.open(address)


def picture_of(values: npt.NDArray[Any], name: str) -> Picture:
    """An array as a picture: (h, w), (h, w, 1) or (h, w, 3) of any numbers.

    Bytes and 16-bit unsigned numbers are kept, true and false become white and black, anything else is
    brought to 0..1 as :func:`core.imaging.raster.unit_range` tells.

    Raises:
        BadInput: another shape, no pixels, or no number in any of them.
    """
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[:, :, 0]
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[2] != 3) or values.size == 0:
        shape = " x ".join(str(side) for side in values.shape) or "no"
        raise BadInput(
            f"'{name}' is an array of {shape} numbers, not a picture.",
            "A picture is rows x columns, or rows x columns x 3 colours.",
        )
    if values.dtype.kind == "b":
        values = values.astype(np.uint8) * np.uint8(255)
    if values.dtype == np.uint8:
        return Picture(np.ascontiguousarray(values), 255.0, name)
    if values.dtype.kind == "u" and values.dtype.itemsize == 2:
        return Picture(np.ascontiguousarray(values, dtype=np.uint16), 65535.0, name)
    if values.dtype.kind not in "iuf":
        raise BadInput(f"'{name}' holds text, not pixels.", "Save the pixels as numbers.")
    return Picture(np.ascontiguousarray(unit_range(values, name)), 1.0, name)


def _stamp(path: Path) -> _Stamp:
    """Changes when the file does, so that a handle kept open never shows an older file."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        open_plainly(path, str(path)).close()
        raise BadInput(f"'{path}' cannot be read.", "Check the name and who may read it.") from None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
