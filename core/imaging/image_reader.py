"""Images and volumes by address: plain files, entries of zips, rows of array files, series of files."""

from __future__ import annotations

import contextlib
import io
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.arrays import ArrayFile, check_row
from semblance.core.imaging.formats import DICOM, HEAD_BYTES, TIFF, sniff
from semblance.core.imaging.image import Image
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.raster import decode, unit_range
from semblance.core.imaging.region import Region, shown_slice
from semblance.core.imaging.slice_plane import SlicePlane
from semblance.core.imaging.stacks import SPACING, FileStack, array_stack, is_volume_shape, stored_spacing
from semblance.core.imaging.tiff_volumes import TiffVolumes, open_tiff_volumes
from semblance.core.imaging.volume import Spacing, Stack
from semblance.core.imaging.volume_files import VolumeFile, open_volume_file, volume_format
from semblance.core.imaging.zip_archive import ZipArchive, open_regular_file, read_file
from semblance.core.language import tr_lazy
from semblance.core.limits import MAX_ARRAY_BYTES

_OPEN_CONTAINERS = 4
_Stamp = tuple[int, int, int]


class ImageReader:
    """Reads images by address and keeps the last few zip and array files open between them.

    Close it, or use it in a ``with`` statement. It may be used from several threads; decoding runs beside
    each other, reading one after the other.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._packages: OrderedDict[Path, tuple[_Stamp, ZipArchive]] = OrderedDict()
        self._array_files: OrderedDict[tuple[Path, str], tuple[_Stamp, ArrayFile]] = OrderedDict()
        self._arrays: OrderedDict[tuple[Path, str], tuple[_Stamp, npt.NDArray[Any]]] = OrderedDict()
        self._volume_files: OrderedDict[tuple[Path, str], tuple[_Stamp, VolumeFile]] = OrderedDict()
        self._last_volume: tuple[tuple[Path, str, int, _Stamp], Stack] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every file; the reader may be used again afterwards."""
        with self._lock:
            for _, archive in self._packages.values():
                archive.close()
            for _, arrays in self._array_files.values():
                arrays.close()
            self._volume_files.clear()
            self._last_volume = None
            self._packages.clear()
            self._array_files.clear()
            self._arrays.clear()

    def read_bytes(self, address: ImageAddress) -> bytes:
        """The image file's bytes as stored; for (a row of) an array its numbers in C order. Of a volume in several
        files only single slices can be requested.

        Raises:
            BadInput: missing, damaged, or refused by the limits of size.
        """
        with self._lock:
            found = self._bytes_or_array(address)
        return found if isinstance(found, bytes) else found.tobytes()

    def open(self, address: ImageAddress, region: Region | None = None) -> Image:
        """The decoded image; of a volume the slice that ``region`` means, else its middle one.

        Raises:
            BadInput: as :meth:`read_bytes`, or not an image.
        """
        if address.slices:
            pages = self._stack_of_pages(address)
            place = shown_slice(len(address.slices), region)
            return self.open(address.slices[place]) if pages is None else pages.image(place)
        if self.volume_file(address) is not None:
            stack = self._stack_of_volumes(address)
            return stack.image(stack.middle(region))
        with self.dicom_file(address) as file:
            if file is not None:
                return self._frame_of(file, address, region)
        with self._lock:
            found = self._bytes_or_array(address)
        if isinstance(found, bytes):
            return self.decode(found, address, region)
        if is_volume_shape(found.shape):
            stack = array_stack(found, str(address), self._array_spacing(address))
            return stack.image(stack.middle(region))
        return image_of(found, str(address))

    def decode(self, data: bytes, address: ImageAddress, region: Region | None = None) -> Image:
        """:meth:`open` of an image file whose bytes are at hand.

        Raises:
            BadInput: not an image, too large, damaged or cut off.
        """
        if sniff(data[:HEAD_BYTES]) == DICOM:
            return self._frame_of(io.BytesIO(data), address, region)
        return decode(data, str(address), frame=address.frame)

    def _frame_of(self, file: BinaryIO, address: ImageAddress, region: Region | None) -> Image:
        from semblance.core.imaging.dicom.images import DicomImages

        images = DicomImages(file, str(address))
        if address.frame is None:
            return images.image(images.order[shown_slice(len(images), region)])
        return images.image(address.frame)

    @contextlib.contextmanager
    def dicom_file(self, address: ImageAddress) -> Iterator[BinaryIO | None]:
        """The DICOM file at ``address`` open for reading; ``None`` for other files.

        Raises:
            BadInput: as :meth:`read_bytes`.
        """
        file: BinaryIO | None = None
        if address.slices:
            pass
        elif not address.member:
            file = open_regular_file(address.container, str(address.container))
        elif not self.is_array(address):
            with self._lock:
                archive = self._open_archive(address.container)[1]
                if sniff(archive.head(address.member, HEAD_BYTES)) == DICOM:
                    file = io.BytesIO(archive.read(address.member))
        if file is None:
            yield None
            return
        with file:
            head = file.read(HEAD_BYTES)
            yield file if sniff(head) == DICOM else None

    def is_array(self, address: ImageAddress) -> bool:
        """Whether ``address`` is an array, or a row of one, and no image file.

        Raises:
            BadInput: as :meth:`read_bytes`.
        """
        return not address.slices and self._array_shape(address) is not None

    def holds_voxels(self, address: ImageAddress) -> bool:
        """Whether there are bare numbers at ``address``, an array or a file of volumes, and no image file.

        Raises:
            BadInput: as :meth:`read_bytes`.
        """
        return self.is_array(address) or self.volume_file(address) is not None

    def is_stack(self, address: ImageAddress) -> bool:
        """Whether :meth:`stack` gives a volume for ``address``; nothing is decoded.

        Raises:
            BadInput: as :meth:`read_bytes`.
        """
        if address.slices:
            return True
        shape = self._array_shape(address)
        if shape is not None:
            return is_volume_shape(shape)
        volumes = self.volume_file(address)
        if volumes is not None:
            return volumes.shape[0] > 1
        if address.frame is not None:
            return False
        with self.dicom_file(address) as file:
            if file is None:
                return False
            from semblance.core.imaging.dicom.images import DicomImages

            return len(DicomImages(file, str(address))) > 1

    def stack(self, address: ImageAddress) -> Stack:
        """The volume at ``address``, whose slices are read on demand through this reader.

        Raises:
            BadInput: as :meth:`open`, or a single image.
        """
        if address.slices:
            first = address.slices[0]
            if first.frame is not None and len({(one.container, one.member) for one in address.slices}) == 1:
                frames = [one.frame or 0 for one in address.slices]
                pages = self._stack_of_pages(address)
                return self._stack_of_frames(replace(first, frame=None), frames) if pages is None else pages
            return self._stack_of_files(address)
        if not self.is_stack(address):
            raise BadInput(
                tr_lazy("'{address}' is a single image, not a volume.", address=address),
                "Choose a series or a volume.",
            )
        if self.volume_file(address) is not None:
            return self._stack_of_volumes(address)
        if not self.is_array(address):
            return self._stack_of_frames(address)
        with self._lock:
            found = self._bytes_or_array(address)
        assert not isinstance(found, bytes)
        return array_stack(found, str(address), self._array_spacing(address))

    def volume_file(self, address: ImageAddress) -> VolumeFile | None:
        """The NIfTI, NRRD or MetaImage file, or the TIFF file of several pages, at ``address``; ``None`` for others.

        Raises:
            BadInput: as :meth:`read_bytes`, or a damaged header.
        """
        if address.slices or self.is_array(address):
            return None
        key = address.container, address.member
        with self._lock:
            stamp = _stamp(address.container)
            cached = self._volume_files.get(key)
            if cached is not None and cached[0] == stamp:
                return None if address.frame is not None and isinstance(cached[1], TiffVolumes) else cached[1]
            if address.member:
                # An entry of a zip would be decompressed as a whole, and most are no volumes.
                head = self._open_archive(address.container)[1].head(address.member, HEAD_BYTES)
            else:
                with self._opened(address) as file:
                    head = file.read(HEAD_BYTES)
            found: VolumeFile | None = None
            kind = volume_format(address.member or address.container.name, head)
            if kind is not None:
                found = open_volume_file(
                    kind,
                    lambda: self._opened(address),
                    str(address),
                    lambda name: self._beside(address, name),
                )
            elif sniff(head) == TIFF and address.frame is None:
                found = open_tiff_volumes(lambda: self._opened(address), str(address))
            if found is not None:
                self._volume_files[key] = (stamp, found)
                if len(self._volume_files) > _OPEN_CONTAINERS:
                    self._volume_files.popitem(last=False)
        return found

    def _opened(self, address: ImageAddress) -> BinaryIO:
        if address.member:
            with self._lock:
                return io.BytesIO(self._open_archive(address.container)[1].read(address.member))
        return open_regular_file(address.container, str(address.container))

    def _beside(self, address: ImageAddress, name: str) -> BinaryIO:
        """The file ``name`` in the folder of ``address``."""
        if address.member:
            member = str(PurePosixPath(address.member).with_name(name))
            return self._opened(replace(address, member=member, frame=None))
        return self._opened(ImageAddress(address.container.with_name(name)))

    def _stack_of_volumes(self, address: ImageAddress, part: int | None = None) -> Stack:
        """The volume that ``address`` means in a file of volumes; the last one read stays in memory."""
        volumes = self.volume_file(address)
        assert volumes is not None
        if part is None and isinstance(volumes, TiffVolumes) and volumes.count > 1:
            raise BadInput(
                tr_lazy("'{address}' holds {n} volumes.", address=address, n=volumes.count),
                "Import it as the kind volume.",
            )
        part = (address.frame or 0) if part is None else part
        with self._lock:
            key = address.container, address.member, part, _stamp(address.container)
            if self._last_volume is None or self._last_volume[0] != key:
                self._last_volume = None
                self._last_volume = (key, volumes.stack(part))
            return self._last_volume[1]

    def _stack_of_pages(self, address: ImageAddress) -> Stack | None:
        """The volume whose slices are pages of one TIFF file; ``None`` for other slices."""
        first = address.slices[0]
        if first.frame is None or len({(one.container, one.member) for one in address.slices}) > 1:
            return None
        whole = replace(first, frame=None)
        volumes = self.volume_file(whole)
        if not isinstance(volumes, TiffVolumes):
            return None
        part = volumes.part_of([one.frame or 0 for one in address.slices])
        return None if part is None else self._stack_of_volumes(whole, part)

    def _stack_of_frames(self, address: ImageAddress, frames: Sequence[int] = ()) -> Stack:
        from semblance.core.imaging.dicom.images import DicomStack

        return DicomStack(self._opened(address), str(address), frames)

    def _stack_of_files(self, address: ImageAddress) -> Stack:
        stack = FileStack(address, self.open)
        headers = []
        # Three neighbours give the spacing even if one of them is missing.
        for part in address.slices[:3]:
            with self.dicom_file(part) as file:
                if file is not None:
                    from semblance.core.imaging.dicom.dicom_file import open_dicom

                    headers.append(open_dicom(file, str(part)).dataset)
        if headers:
            from semblance.core.imaging.dicom.images import series_facts

            stack.spacing_mm, stack.directions, stack.location = series_facts(headers)
            stack.find_positions = lambda: self._positions(address)
        return stack

    def _positions(self, address: ImageAddress) -> npt.NDArray[np.float64] | None:
        """:meth:`Stack.positions` of slices in files; their headers are read as far as that needs."""
        from semblance.core.imaging.dicom.images import positions_of

        return positions_of([self.plane(part) for part in address.slices])

    def plane(self, address: ImageAddress) -> SlicePlane | None:
        """Where a slice or an image lies, as its header says; ``None`` where it does not, or is not DICOM.

        Raises:
            BadInput: the file is gone or damaged.
        """
        from semblance.core.imaging.dicom.dicom_file import open_dicom
        from semblance.core.imaging.dicom.geometry import PLANE_TAGS, slice_plane

        with self.dicom_file(address) as file:
            if file is None:
                return None
            header = open_dicom(file, str(address), PLANE_TAGS).dataset
        return slice_plane(header, address.frame or 0)

    def array_file(self, address: ImageAddress) -> ArrayFile:
        """The arrays of an .npz on disk (``member`` empty) or within a zip (``member`` its entry).

        The file stays the reader's own: it is closed when others push it out or the reader closes.

        Raises:
            BadInput: missing, damaged or no file of arrays.
        """
        with self._lock:
            return self._array_file(address.container, address.member)[1]

    def _array_shape(self, address: ImageAddress) -> tuple[int, ...] | None:
        """Shape of the array at ``address``, or of its row; ``None`` where there is no array."""
        with self._lock:
            place = self._array_location(address)
            if place is None:
                return None
            entry, array = place
            shape = self._array_file(address.container, entry)[1].header(array).shape
        return shape if address.frame is None else shape[1:]

    def _array_spacing(self, address: ImageAddress) -> Spacing | None:
        """The spacing in the file of the array at ``address``."""
        with self._lock:
            place = self._array_location(address)
            if place is None or place[1] == SPACING:
                return None
            file = self._array_file(address.container, place[0])[1]
            return stored_spacing(file.read(SPACING), address.frame) if SPACING in file.names else None

    def _array_location(self, address: ImageAddress) -> tuple[str, str] | None:
        """(entry of the zip or "", array) of an address within an array file; ``None`` for an image file."""
        if not address.member:
            return None
        archive = self._open_archive(address.container)[1]
        if address.member in archive.entries:
            return None
        if f"{address.member}.npy" in archive.entries:
            return "", address.member
        entry, mark, array = address.member.rpartition("!")
        return (entry, array) if mark and entry in archive.entries else None

    def _bytes_or_array(self, address: ImageAddress) -> bytes | npt.NDArray[Any]:
        if not address.member:
            return read_file(address.container, str(address.container))
        place = self._array_location(address)
        if place is not None:
            return self._rows(address.container, *place, address.frame)
        return self._open_archive(address.container)[1].read(address.member)

    def _rows(self, container: Path, entry: str, array: str, frame: int | None) -> npt.NDArray[Any]:
        stamp, file = self._array_file(container, entry)
        if frame is not None:
            row = file.row(array, frame)
            if row is not None:
                return row
        key = (container, f"{entry}!{array}")
        cached = self._arrays.get(key)
        if cached is None or cached[0] != stamp:
            whole = file.read(array)
            available = MAX_ARRAY_BYTES - whole.nbytes
            self._arrays.pop(key, None)
            while self._arrays and sum(other.nbytes for _, other in self._arrays.values()) > available:
                self._arrays.popitem(last=False)
            self._arrays[key] = (stamp, whole)
        else:
            whole = cached[1]
            self._arrays.move_to_end(key)
        if frame is None:
            return whole
        check_row(whole.shape, array, frame, file.name)
        return np.asarray(whole[frame])

    def _open_archive(self, container: Path) -> tuple[_Stamp, ZipArchive]:
        stamp = _stamp(container)
        cached = self._packages.pop(container, None)
        if cached is not None and cached[0] != stamp:
            cached[1].close()
            cached = None
        if cached is None:
            cached = (stamp, ZipArchive(container, str(container)))
        self._packages[container] = cached
        if len(self._packages) > _OPEN_CONTAINERS:
            self._packages.popitem(last=False)[1][1].close()
        return cached

    def _array_file(self, container: Path, entry: str) -> tuple[_Stamp, ArrayFile]:
        stamp = _stamp(container)
        key = (container, entry)
        cached = self._array_files.pop(key, None)
        if cached is not None and cached[0] != stamp:
            cached[1].close()
            cached = None
        if cached is None:
            if entry:
                within = io.BytesIO(self._open_archive(container)[1].read(entry))
                cached = (stamp, ArrayFile(within, f"{container}!{entry}"))
            else:
                cached = (stamp, ArrayFile(container, str(container)))
        self._array_files[key] = cached
        if len(self._array_files) > _OPEN_CONTAINERS:
            self._array_files.popitem(last=False)[1][1].close()
        return cached


def open_image(where: str | Path | ImageAddress, region: Region | None = None) -> Image:
    """The image in a file, a zip's entry or an array's row; of a volume the slice ``region`` means, else
    its middle one.

    Raises:
        BadInput: missing, damaged, not an image, or above the limits of size; the message names the file.
    """
    address = where if isinstance(where, ImageAddress) else ImageAddress(Path(where))
    with ImageReader() as reader:
        return reader.open(address, region)


def image_of(values: npt.NDArray[Any], name: str) -> Image:
    """An array as an image: (h, w), (h, w, 1) or (h, w, 3) of any numbers.

    Bytes and 16-bit unsigned numbers are kept, true and false become white and black, anything else is
    brought to 0..1 by :func:`semblance.core.imaging.raster.unit_range`.

    Raises:
        BadInput: another shape, no pixels, or no number in any of them.
    """
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[:, :, 0]
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[2] != 3) or values.size == 0:
        shape = " x ".join(str(side) for side in values.shape) or "no"
        raise BadInput(
            tr_lazy("'{name}' is an array of {shape} numbers, not an image.", name=name, shape=shape),
            "An image is rows x columns, or rows x columns x 3 colours.",
        )
    if values.dtype.kind == "b":
        values = values.astype(np.uint8) * np.uint8(255)
    if values.dtype == np.uint8:
        return Image(np.ascontiguousarray(values), 255.0, name)
    if values.dtype.kind == "u" and values.dtype.itemsize == 2:
        return Image(np.ascontiguousarray(values, dtype=np.uint16), 65535.0, name)
    if values.dtype.kind not in "iuf":
        raise BadInput(
            tr_lazy("'{name}' contains text, not pixels.", name=name), "Save the pixels as numbers."
        )
    return Image(np.ascontiguousarray(unit_range(values, name)), 1.0, name)


def _stamp(path: Path) -> _Stamp:
    """A value that changes with the file, so that a cached handle never shows an older file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        open_regular_file(path, str(path)).close()
        raise BadInput(
            tr_lazy("'{path}' cannot be read.", path=path), "Check the name and the permissions."
        ) from None
    return status.st_mtime_ns, status.st_size, status.st_ino
