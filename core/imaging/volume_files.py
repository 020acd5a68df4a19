"""Volumes in one file: NIfTI, NRRD and MetaImage, as a workstation shows them.

Only the geometry, the type of the numbers and their scale are read of a header. Descriptions, extensions and
key-value fields, where names of patients stand, are never kept.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import itertools
import math
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.geometry import directions
from semblance.core.imaging.image import ValueScale, ValueWindow
from semblance.core.imaging.slice_plane import SlicePlane, StackLocation
from semblance.core.imaging.stacks import array_stack
from semblance.core.imaging.volume import ArrayStack
from semblance.core.language import tr_lazy
from semblance.core.limits import MAX_ARRAY_BYTES, size_text

#: The names of the formats in :func:`volume_format`.
NIFTI, NRRD, META_IMAGE = "NIfTI", "NRRD", "MetaImage"
VOLUME_SUFFIXES = (".nii", ".nii.gz", ".nrrd", ".nhdr", ".mha", ".mhd")
COPY_AGAIN = "Copy it from its source again, or leave it out."

_CHUNK = 1 << 20
_MAX_HEADER, _MAX_FIELDS, _LONGEST_NAME = 1 << 20, 200, 256
#: Of each axis of the patient (left, posterior, superior): the sign in which columns, rows and slices run on screen.
_SHOWN = np.array([1.0, 1.0, -1.0])
#: Voxels so many times as long along one axis as along the others were acquired slice by slice along it.
_LONGER = 1.1
_LEAST_VOXEL_MM3 = 1e-12
#: Beyond these the numbers of a float would not hold the values.
_LEAST_SLOPE, _LARGEST = 1e-12, 1e12
#: The axis of the patient along a row of a sagittal, coronal and axial slice.
_ALONG_ROW = (1, 0, 0)
_RAS = np.diag([-1.0, -1.0, 1.0])
#: mm of a unit that a header may name.
MILLIMETRES = {"mm": 1.0, "millimeter": 1.0, "m": 1000.0, "meter": 1000.0, "cm": 10.0} | dict.fromkeys(
    ("um", "µm", "\u03bcm", "micron", "microns", "micrometer", "\\u00B5m"), 0.001
)
_META_TYPES = {
    "MET_CHAR": "i1", "MET_UCHAR": "u1", "MET_SHORT": "i2", "MET_USHORT": "u2", "MET_INT": "i4", "MET_UINT": "u4",
    "MET_LONG": "i4", "MET_ULONG": "u4", "MET_LONG_LONG": "i8", "MET_ULONG_LONG": "u8", "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}  # fmt: skip

_VOXEL_FILE = re.compile(rb"^(?:ElementDataFile\s*=|data ?file:)(.*)$", re.MULTILINE | re.IGNORECASE)

#: Opens the file, or one that lies beside it, by its name.
Opened = Callable[[], BinaryIO]
Beside = Callable[[str], BinaryIO]


class VolumeFile(Protocol):
    """``count`` volumes (time points, echoes, channels) of ``shape`` (depth, height, width) in one file.

    ``format``: its name. ``location``: of all of them; ``None`` where unknown.
    """

    format: str
    count: int
    shape: tuple[int, int, int]
    location: StackLocation | None
    turning: Turning

    def stored(self, part: int = 0) -> npt.NDArray[Any]:
        """The numbers of volume ``part`` by the third, second and first axis of the file, before they are turned.

        Raises:
            BadInput: as :meth:`stack`.
        """

    def stack(self, part: int = 0) -> ArrayStack:
        """Volume ``part``, read completely.

        Raises:
            BadInput: damaged, cut off, too large for memory, or no grey values or colours.
        """


def has_volume_name(name: str) -> bool:
    """Whether ``name`` has the ending of a file of volumes; a TIFF file may hold one too."""
    return name.lower().endswith(VOLUME_SUFFIXES)


def has_header_name(name: str) -> bool:
    """Whether ``name`` has the ending of a header whose voxels lie in another file."""
    return name.lower().endswith((".nhdr", ".mhd"))


def voxel_file_name(header: BinaryIO) -> str | None:
    """The file of the voxels that an open ``header`` names, in the same folder; ``None`` for no other file."""
    found = _VOXEL_FILE.search(header.read(_MAX_HEADER))
    name = found[1].decode("utf-8", "replace").strip() if found else ""
    return name if name.upper() != "LOCAL" and _is_file_name(name) else None


def volume_format(name: str, head: bytes) -> str | None:
    """:data:`NIFTI`, :data:`NRRD` or :data:`META_IMAGE`, by the first bytes (at least 64) of a file; a compressed NIfTI
    file by its name too."""
    if head.startswith(b"NRRD000"):
        return NRRD
    if head[:4] in (b"\x5c\x01\0\0", b"\0\0\x01\x5c", b"\x1c\x02\0\0", b"\0\0\x02\x1c"):
        return NIFTI
    if head.startswith(b"\x1f\x8b") and name.lower().endswith(".nii.gz"):
        return NIFTI
    first = head[:64].split(b"=")[0].strip()
    if name.lower().endswith((".mha", ".mhd")) and first in (b"ObjectType", b"NDims", b"Comment"):
        return META_IMAGE
    return None


def open_volume_file(kind: str, opened: Opened, name: str, beside: Beside) -> VolumeFile:
    """The volumes of a file of the format ``kind`` (:func:`volume_format`), whose header is read.

    ``opened``: opens the file; ``beside``: the file of the numbers that a header (.nhdr, .mhd) names.

    Raises:
        BadInput: a damaged header, or a grid of no volume.
    """
    readers = {NIFTI: _nifti_header, NRRD: _nrrd_header, META_IMAGE: _meta_header}
    try:
        grid = readers[kind](opened, name, beside)
    except BadInput:
        raise
    except Exception:  # noqa: BLE001 - the libraries raise errors of many kinds for damaged headers
        raise BadInput(tr_lazy("The header of '{name}' is damaged.", name=name), COPY_AGAIN) from None
    return _GridFile(grid, name, kind)


@dataclass(frozen=True)
class _Grid:
    """What a header says.

    ``shape``: voxels along each axis, the one that runs fastest first; the three of space are ``axes``, ascending,
    the others count volumes. ``affine`` (3, 4): indices of columns, rows and slices to mm, left, posterior and
    superior being positive; ``None`` without an orientation, where ``spacing_mm`` (column, row, slice) may still be
    known. ``data``: opens the numbers, decompressed, at their start.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    data: Callable[[], AbstractContextManager[BinaryIO]]
    axes: tuple[int, int, int] = (0, 1, 2)
    affine: npt.NDArray[np.float64] | None = None
    spacing_mm: tuple[float, float, float] | None = None
    slope: float = 1.0
    intercept: float = 0.0
    windows: tuple[ValueWindow, ...] = ()
    #: Whether the file says how the patient lies; else ``affine`` is what programs assume.
    is_oriented: bool = True


class _GridFile:
    """The volumes of a :class:`_Grid`."""

    def __init__(self, grid: _Grid, name: str, kind: str) -> None:
        """
        Raises:
            BadInput: an empty grid, or numbers of a type that is no pixel.
        """
        if min(grid.shape) < 1 or math.prod(grid.shape) > 1 << 48:
            raise BadInput(tr_lazy("'{name}' has no voxels.", name=name), COPY_AGAIN)
        if grid.dtype.kind not in "iufV" or not grid.dtype.itemsize:
            raise BadInput(
                tr_lazy("The voxels of '{name}' are neither grey values nor colours.", name=name),
                "Save it with real numbers.",
            )
        self._grid, self._name, self.format = grid, name, kind
        self.count = math.prod(side for axis, side in enumerate(grid.shape) if axis not in grid.axes)
        sides = (grid.shape[grid.axes[0]], grid.shape[grid.axes[1]], grid.shape[grid.axes[2]])
        self.turning = turning_of(grid.affine, sides)
        columns, rows, slices = (sides[axis] for axis in self.turning.order)
        self.shape = (slices, rows, columns)
        self._geometry = self.turning.geometry(self.shape)
        self.location = self._geometry.location if self._geometry is not None and grid.is_oriented else None

    def stack(self, part: int = 0) -> ArrayStack:
        """See :meth:`VolumeFile.stack`."""
        if not 0 <= part < self.count:
            raise BadInput(
                tr_lazy(
                    "'{name}' has no volume {part}: it has {n}.", name=self._name, part=part, n=self.count
                ),
                "Import it again.",
            )
        voxels, geometry = self.turning.turned(self._voxels(part)), self._geometry
        if voxels.dtype.kind == "V":
            voxels = np.stack([voxels[channel] for channel in list(voxels.dtype.names or ())[:3]], axis=-1)
        grid = self._grid
        values = ValueScale(grid.slope, grid.intercept, windows=grid.windows)
        if grid.slope < 0:
            voxels, values = (
                voxels.astype(np.float64) * grid.slope + grid.intercept,
                ValueScale(windows=grid.windows),
            )
        if geometry is None:
            spacing = None if grid.spacing_mm is None else grid.spacing_mm[::-1]
            return array_stack(voxels, self._name, spacing, scale_of(voxels, values))
        stack = array_stack(voxels, self._name, geometry.spacing_mm, scale_of(voxels, values))
        stack.directions, stack.location = geometry.directions if grid.is_oriented else None, self.location
        return stack

    def stored(self, part: int = 0) -> npt.NDArray[Any]:
        """See :meth:`VolumeFile.stored`."""
        numbers, grid = self._voxels(part), self._grid
        is_scaled = (grid.slope, grid.intercept) != (1.0, 0.0) and numbers.dtype.kind != "V"
        return numbers * grid.slope + grid.intercept if is_scaled else numbers

    def _voxels(self, part: int) -> npt.NDArray[Any]:
        """(slices, rows, columns) of the stored numbers, as the file has them."""
        grid = self._grid
        others = [axis for axis in range(len(grid.shape)) if axis not in grid.axes]
        is_last = not others or min(others) > max(grid.axes)
        count = math.prod(grid.shape[axis] for axis in grid.axes) if is_last else math.prod(grid.shape)
        size = count * grid.dtype.itemsize
        if size > MAX_ARRAY_BYTES:
            raise BadInput(
                tr_lazy("'{name}' would take {size} of memory.", name=self._name, size=size_text(size)),
                "Save a smaller part of it.",
            )
        data = _read(grid.data, part * size if is_last else 0, size, self._name)
        numbers = np.frombuffer(data, grid.dtype)
        if grid.dtype.kind != "V":
            numbers = numbers.astype(grid.dtype.newbyteorder("="), copy=False)
        if is_last:
            return numbers.reshape([grid.shape[axis] for axis in grid.axes][::-1])
        numbers = numbers.reshape(grid.shape[::-1])
        last = len(grid.shape) - 1
        order = [last - axis for axis in (*others[::-1], *grid.axes[::-1])]
        moved = numbers.transpose(order)
        found: npt.NDArray[Any] = moved.reshape(-1, *moved.shape[len(others) :])[part]
        return found


def _read(
    data: Callable[[], AbstractContextManager[BinaryIO]], start: int, size: int, name: str
) -> bytearray:
    """``size`` bytes from ``start``.

    Raises:
        BadInput: damaged, or fewer bytes.
    """
    # It grows with what is there: a damaged header may promise more than the memory holds.
    out, skipped = bytearray(), 0
    try:
        with data() as file:
            if file.seekable() and not isinstance(file, gzip.GzipFile | bz2.BZ2File):
                file.seek(start, io.SEEK_CUR)
                skipped = start
            while skipped < start:
                passed = file.read(min(_CHUNK, start - skipped))
                if not passed:
                    break
                skipped += len(passed)
            while len(out) < size:
                piece = file.read(min(_CHUNK, size - len(out)))
                if not piece:
                    break
                out += piece
    except (OSError, EOFError, zlib.error, ValueError):
        raise BadInput(tr_lazy("The voxels of '{name}' are damaged.", name=name), COPY_AGAIN) from None
    if len(out) < size:
        raise BadInput(
            tr_lazy(
                "'{name}' is cut off: it has {found} of {size} bytes of voxels.",
                name=name,
                found=len(out),
                size=size,
            ),
            COPY_AGAIN,
        )
    return out


def scale_of(voxels: npt.NDArray[Any], values: ValueScale) -> ValueScale:
    """The scale ``values`` of (depth, height, width) ``voxels``, with the unit HU where the numbers can only be those
    of CT: none lies far below air, at least one of a hundred is air, and some are denser than water. No header of
    these formats says it."""
    if voxels.dtype == np.uint8 or voxels.ndim != 3 or voxels.size == 0:
        return values
    sampled = (
        voxels.reshape(-1)[:: max(1, voxels.size >> 20)].astype(np.float64) * values.slope + values.intercept
    )
    is_air = (sampled > -1050) & (sampled < -950)
    if sampled.min() >= -4096 and sampled.max() > 50 and is_air.mean() >= 0.01:
        return replace(values, unit="HU")
    return values


@dataclass(frozen=True)
class _Geometry:
    spacing_mm: tuple[float, float, float]
    directions: tuple[str, str, str]
    location: StackLocation
    #: (3, 4) from indices of columns, rows and slices to mm.
    affine: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Turning:
    """How the voxels of a file are turned for the screen: axial slices begin at the head, with the patient's right on
    the left and the front above; coronal and sagittal ones as is usual too."""

    affine: npt.NDArray[np.float64] | None
    #: Which axes of the file are columns, rows and slices, and whether each runs against the screen.
    order: tuple[int, int, int] = (0, 1, 2)
    flipped: tuple[bool, bool, bool] = (False, False, False)
    #: The axis of the patient along which slices follow each other.
    along: int = 2

    def turned(self, voxels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Voxels (third, second, first axis of the file) as (slices, rows, columns)."""
        voxels = voxels.transpose([2 - axis for axis in self.order[::-1]])
        for axis, is_flipped in zip((2, 1, 0), self.flipped, strict=True):
            if is_flipped:
                voxels = np.flip(voxels, axis)
        return np.ascontiguousarray(voxels)

    def geometry(self, shape: tuple[int, ...]) -> _Geometry | None:
        """Where (slices, rows, columns) of ``shape`` lie; ``None`` where unknown."""
        if self.affine is None:
            return None
        steps, origin = self.affine[:, list(self.order)], self.affine[:, 3].copy()
        for axis, is_flipped in enumerate(self.flipped):
            if is_flipped:
                origin += steps[:, axis] * (shape[2 - axis] - 1)
                steps[:, axis] *= -1
        lengths = np.linalg.norm(steps, axis=0)
        along_row, along_column = (_vector(steps[:, axis] / lengths[axis]) for axis in (0, 1))
        plane = SlicePlane(_vector(origin), along_row, along_column, (float(lengths[1]), float(lengths[0])))
        step = float(plane.normal @ steps[:, 2])
        following = replace(plane, position=_vector(origin + steps[:, 2]))
        return _Geometry(
            (abs(step), float(lengths[1]), float(lengths[0])),
            directions(plane, following),
            StackLocation(plane, _vector(steps[:, 2])),
            np.column_stack([steps, origin]),
        )


def _vector(numbers: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = (float(number) + 0.0 for number in numbers)
    return x, y, z


def turning_of(
    affine: npt.NDArray[np.float64] | None, sides: tuple[int, int, int], along: int | None = None
) -> Turning:
    """Slices are cut ``along`` an axis of the patient; else along the only axis with a single voxel, or that of the
    distinctly longest voxels, as they were acquired, else along the third. ``sides``: voxels along each axis."""
    if affine is None:
        return Turning(None)
    from nibabel.orientations import io_orientation

    square = np.vstack([affine, [0.0, 0.0, 0.0, 1.0]])
    if not np.isfinite(square).all() or abs(np.linalg.det(square[:3, :3])) < _LEAST_VOXEL_MM3:
        return Turning(None)
    found = io_orientation(square)  # type: ignore[no-untyped-call]
    if not np.isfinite(found).all():
        return Turning(None)
    axes, signs = found[:, 0].astype(int), found[:, 1]
    if along is not None:
        slices = int(np.flatnonzero(axes == along)[0])
    elif sides.count(1) == 1:
        slices = sides.index(1)
    else:
        lengths = np.linalg.norm(affine[:, :3], axis=0)
        longest = int(np.argmax(lengths))
        slices = longest if lengths[longest] > _LONGER * np.sort(lengths)[1] else 2
    columns = next(axis for axis in range(3) if axes[axis] == _ALONG_ROW[axes[slices]])
    order = (columns, 3 - columns - slices, slices)
    flips = signs != _SHOWN[axes]
    flipped = (bool(flips[order[0]]), bool(flips[order[1]]), bool(flips[order[2]]))
    return Turning(affine, order, flipped, int(axes[slices]))


def voxels_on_grid(mask: VolumeFile, volumes: VolumeFile, part: int) -> npt.NDArray[Any] | None:
    """(depth, height, width) the numbers of volume ``part`` of ``mask`` at the voxels of ``volumes``; ``None`` where
    they do not lie on the same grid. Where either file does not say how it lies, both have the order of the file.

    Raises:
        BadInput: as :meth:`VolumeFile.stack`.
    """
    numbers, turning = mask.stored(part), volumes.turning
    if mask.location is None or volumes.location is None:
        turned = turning.turned(numbers)
        return turned if turned.shape == volumes.shape else None
    third, second, first = numbers.shape
    own = turning_of(mask.turning.affine, (first, second, third), turning.along)
    turned = own.turned(numbers)
    if turned.shape != volumes.shape:
        return None
    one, other = own.geometry(volumes.shape), turning.geometry(volumes.shape)
    if one is None or other is None:
        return None
    ends = [(0, side - 1) for side in reversed(volumes.shape)]
    corners = np.array([(*corner, 1.0) for corner in itertools.product(*ends)])
    apart = np.linalg.norm(corners @ (one.affine - other.affine).T, axis=1).max()
    return turned if apart < max(other.spacing_mm) else None


def _nifti_header(opened: Opened, name: str, _: Beside) -> _Grid:
    """NIfTI-1 and NIfTI-2 in one file (nifti.nimh.nih.gov), compressed or not."""
    from nibabel.nifti1 import Nifti1Header
    from nibabel.nifti2 import Nifti2Header

    with opened() as file:
        is_compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        head = (gzip.GzipFile(fileobj=file) if is_compressed else file).read(544)
    kind = Nifti2Header if head[:4] in (b"\x1c\x02\0\0", b"\0\0\x02\x1c") else Nifti1Header
    if kind is Nifti1Header and head[344:347] == b"ni1":
        raise BadInput(
            tr_lazy("'{name}' is the header of a pair of files (.hdr and .img).", name=name),
            "Save both as one .nii file.",
        )
    size = kind.template_dtype.itemsize
    header = kind.from_fileobj(io.BytesIO(head[:size] + bytes(4)), check=False)  # type: ignore[no-untyped-call]
    offset = int(header["vox_offset"]) or size + 4
    shape = tuple(int(side) for side in header.get_data_shape())
    slope, intercept = (float(header[key]) for key in ("scl_slope", "scl_inter"))
    slope, intercept = _checked_scale(slope, intercept)
    low, high = (float(header[key]) for key in ("cal_min", "cal_max"))
    unit = MILLIMETRES.get(header.get_xyzt_units()[0], 1.0)
    has_place = int(header["sform_code"]) > 0 or int(header["qform_code"]) > 0
    affine = _RAS @ (header.get_best_affine()[:3] * unit)
    dtype = header.get_data_dtype()

    @contextlib.contextmanager
    def data() -> Iterator[BinaryIO]:
        with opened() as file:
            found = cast("BinaryIO", gzip.GzipFile(fileobj=file)) if is_compressed else file
            _skip(found, offset)
            yield found

    return _Grid(
        (*shape, *(1,) * (3 - len(shape))),
        dtype,
        data,
        affine=affine,
        is_oriented=has_place,
        slope=slope,
        intercept=intercept,
        windows=(ValueWindow(low, high),) if math.isfinite(high - low) and high > low else (),
    )


def _nrrd_header(opened: Opened, name: str, beside: Beside) -> _Grid:
    """NRRD (teem.sourceforge.net/nrrd/format.html), the data in the file or beside it."""
    import nrrd

    with opened() as file:
        text = file.read(_MAX_HEADER)
        file.seek(0)
        header = nrrd.read_header(file)
        end = file.tell()
    data_name = header.get("data file", header.get("datafile"))
    if data_name is None and text.find(b"\n\n") < 0 and text.find(b"\r\n\r\n") < 0:
        raise BadInput(tr_lazy("The header of '{name}' is damaged.", name=name), COPY_AGAIN)
    shape = tuple(int(side) for side in header["sizes"])
    dtype = np.dtype(nrrd.reader._determine_datatype(header))
    given = header.get("space directions")
    vectors = (
        None if given is None else np.array([[np.nan] * 3 if row is None else row for row in given], float)
    )
    kinds = [str(kind).lower() for kind in header.get("kinds", [])]
    if vectors is not None and vectors.ndim == 2 and vectors.shape == (len(shape), 3):
        spatial = [axis for axis in range(len(shape)) if np.isfinite(vectors[axis]).all()]
    elif len(kinds) == len(shape):
        spatial, vectors = [axis for axis, kind in enumerate(kinds) if kind in ("domain", "space")], None
    else:
        spatial, vectors = list(range(min(3, len(shape)))), None
    if any("color" in kind for kind in kinds):
        raise BadInput(tr_lazy("'{name}' is in colour, and a volume is grey.", name=name), "Save it in grey.")
    while len(spatial) < 3:
        shape = (*shape, 1)
        spatial.append(len(shape) - 1)
        vectors = None
    axes = (spatial[0], spatial[1], spatial[2])
    unit = MILLIMETRES.get(str(next(iter(header.get("space units", ["mm"])))).strip('"'), 1.0)
    affine = None
    space = str(header.get("space", "")).lower().removesuffix("-time")
    to_lps = {
        "left-posterior-superior": np.eye(3), "lps": np.eye(3), "right-anterior-superior": _RAS, "ras": _RAS,
        "left-anterior-superior": np.diag([1.0, -1.0, 1.0]), "las": np.diag([1.0, -1.0, 1.0]),
    }.get(space)  # fmt: skip
    spacing: tuple[float, ...] | None = None
    if vectors is not None:
        steps = vectors[list(axes)].T * unit
        spacing = tuple(float(length) for length in np.linalg.norm(steps, axis=0))
        origin = np.array(header.get("space origin", (0.0, 0.0, 0.0)), float) * unit
        if to_lps is not None and origin.shape == (3,) and np.isfinite(origin).all():
            affine = to_lps @ np.column_stack([steps, origin])
    elif "spacings" in header:
        every = [
            float(step) * MILLIMETRES.get(str(name).strip('"'), 1.0)
            for step, name in itertools.zip_longest(header["spacings"], header.get("units", ()))
            if step is not None
        ]
        spacing = tuple(every[axis] if axis < len(every) else math.nan for axis in axes)
    if spacing is not None and not all(math.isfinite(step) and step > 0 for step in spacing):
        spacing = None
    encoding = str(header.get("encoding", "raw")).lower()
    lines, bytes_skipped = (int(header.get(key, 0)) for key in ("line skip", "byte skip"))

    @contextlib.contextmanager
    def data() -> Iterator[BinaryIO]:
        with opened() if data_name is None else _beside(str(data_name), name, beside) as source:
            source.seek(end if data_name is None else 0)
            for _ in range(lines):
                source.readline(_MAX_HEADER)
            if bytes_skipped == -1 and encoding == "raw":
                source.seek(-math.prod(shape) * dtype.itemsize, io.SEEK_END)
            found = _decoded(source, encoding, dtype, math.prod(shape), name)
            _skip(found, max(0, bytes_skipped))
            yield found

    return _Grid(shape, dtype, data, axes, affine, spacing)  # type: ignore[arg-type]


def _meta_header(opened: Opened, name: str, beside: Beside) -> _Grid:
    """MetaImage (itk.org/Wiki/ITK/MetaIO/Documentation), the data in the file (.mha) or beside it (.mhd)."""
    fields: dict[str, str] = {}
    with opened() as file:
        while "ElementDataFile" not in fields:
            key, mark, value = file.readline(_MAX_HEADER).decode("latin-1").partition("=")
            if not mark or len(fields) > _MAX_FIELDS or file.tell() > _MAX_HEADER:
                raise BadInput(tr_lazy("The header of '{name}' is damaged.", name=name), COPY_AGAIN)
            fields[key.strip()] = value.strip()
        end = file.tell()
    shape = tuple(int(side) for side in fields["DimSize"].split())
    if len(shape) != int(fields["NDims"]):
        raise ValueError("DimSize")
    channels = int(fields.get("ElementNumberOfChannels", "1"))
    if channels != 1:
        raise BadInput(
            tr_lazy("'{name}' has {n} numbers for each voxel.", name=name, n=channels),
            "Save each as a volume of its own.",
        )
    is_big = any(
        fields.get(key, "False").lower() in ("true", "1")
        for key in ("BinaryDataByteOrderMSB", "ElementByteOrderMSB")
    )
    dtype = np.dtype(_META_TYPES[fields["ElementType"]]).newbyteorder(">" if is_big else "<")
    dimensions = len(shape)
    shape = (*shape, *(1,) * (3 - dimensions))

    def numbers(*keys: str) -> list[float] | None:
        text = next((fields[key] for key in keys if key in fields), None)
        return None if text is None else [float(part) for part in text.split()]

    steps = numbers("ElementSpacing", "ElementSize")
    spacing = (
        None if steps is None or len(steps) < 3 or not min(steps[:3]) > 0 else (steps[0], steps[1], steps[2])
    )
    turned = numbers("TransformMatrix", "Rotation", "Orientation")
    origin = numbers("Offset", "Position", "Origin")
    affine = None
    if spacing is not None and turned is not None and origin is not None and len(turned) == dimensions**2:
        cosines = np.array(turned).reshape(dimensions, dimensions)[:3, :3].T
        affine = np.column_stack([cosines * np.array(spacing), origin[:3]])
    data_name = fields["ElementDataFile"]
    if data_name.upper().startswith("LIST") or "%" in data_name:
        raise BadInput(
            tr_lazy("The slices of '{name}' lie in several files.", name=name), "Save it as one .mha file."
        )
    encoding = "zlib" if fields.get("CompressedData", "False").lower() in ("true", "1") else "raw"
    start = int(fields.get("HeaderSize", "0"))

    @contextlib.contextmanager
    def data() -> Iterator[BinaryIO]:
        is_local = data_name.upper() == "LOCAL"
        with opened() if is_local else _beside(data_name, name, beside) as source:
            if is_local or start >= 0:
                source.seek(end if is_local else start)
            else:
                source.seek(-math.prod(shape) * dtype.itemsize, io.SEEK_END)
            yield _decoded(source, encoding, dtype, math.prod(shape), name)

    slope, intercept = (
        float(fields.get(key, default))
        for key, default in (
            ("ElementToIntensityFunctionSlope", "1"),
            ("ElementToIntensityFunctionOffset", "0"),
        )
    )
    slope, intercept = _checked_scale(slope, intercept)
    return _Grid(shape, dtype, data, affine=affine, spacing_mm=spacing, slope=slope, intercept=intercept)


def _checked_scale(slope: float, intercept: float) -> tuple[float, float]:
    """The scale of a header; a slope of 0 or no possible number means none (NIfTI-1)."""
    is_possible = _LEAST_SLOPE < abs(slope) < _LARGEST and abs(intercept) < _LARGEST
    return (slope, intercept) if is_possible else (1.0, 0.0)


def _decoded(source: BinaryIO, encoding: str, dtype: np.dtype[Any], count: int, name: str) -> BinaryIO:
    """``source`` decompressed from where it stands."""
    if encoding == "raw":
        return source
    if encoding in ("gzip", "gz"):
        return cast("BinaryIO", gzip.GzipFile(fileobj=source))
    if encoding in ("bzip2", "bz2"):
        return cast("BinaryIO", bz2.BZ2File(source))
    if encoding == "zlib":
        return io.BytesIO(zlib.decompressobj().decompress(source.read(), count * dtype.itemsize))
    limit = count * 32
    text = source.read(limit)
    if encoding in ("text", "txt", "ascii"):
        numbers = np.array(text.split()[:count], dtype=np.float64)
        return io.BytesIO(numbers.astype(dtype).tobytes())
    if encoding == "hex":
        return io.BytesIO(bytes.fromhex(text.decode("latin-1")))
    raise BadInput(
        tr_lazy("'{name}' is encoded as {encoding}.", name=name, encoding=encoding), "Save it as raw or gzip."
    )


def _is_file_name(name: str) -> bool:
    is_plain = PurePosixPath(name).name == name and "\\" not in name and "\0" not in name
    return is_plain and name not in ("", ".", "..") and len(name.encode()) < _LONGEST_NAME


def _beside(data_name: str, name: str, beside: Beside) -> BinaryIO:
    """The file of the data, which must lie in the folder of its header: no header may lead elsewhere."""
    if not _is_file_name(data_name):
        raise BadInput(
            tr_lazy("The voxels of '{name}' do not lie in its folder.", name=name), "Save both in one folder."
        )
    return beside(data_name)


def _skip(file: BinaryIO, count: int) -> None:
    while count > 0:
        passed = file.read(min(_CHUNK, count))
        if not passed:
            return
        count -= len(passed)
