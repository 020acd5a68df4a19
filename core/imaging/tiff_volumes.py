"""Volumes in TIFF files of several pages, plain, OME-TIFF and ImageJ."""

from __future__ import annotations

import contextlib
import logging
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import TIFF
from semblance.core.imaging.image import ValueScale
from semblance.core.imaging.slice_plane import StackLocation
from semblance.core.imaging.stacks import array_stack
from semblance.core.imaging.volume import ArrayStack
from semblance.core.imaging.volume_files import COPY_AGAIN, MILLIMETRES, Opened, Turning, scale_of
from semblance.core.language import tr_lazy
from semblance.core.limits import MAX_ARRAY_BYTES, size_text

#: New Subfile Type, and its bits of reduced copies and masks (TIFF 6.0, section 8).
_SUBFILE_TYPE, _REDUCED_OR_MASK = 254, 1 | 4
_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0

# Each damaged tag is a line of its log; what matters is raised.
logging.getLogger("tifffile").disabled = True


def open_tiff_volumes(opened: Opened, name: str) -> TiffVolumes | None:
    """The volumes of a TIFF file of several pages (also OME-TIFF and ImageJ); ``None`` for one image.

    Raises:
        BadInput: damaged, pages of several sizes, or several channels of one image.
    """
    import tifffile

    with _errors(name), opened() as file, tifffile.TiffFile(file, _multifile=False) as tiff:
        pages = _pages(tiff, name)
        series = tiff.series[0]
        lengths = dict(zip(series.axes, series.shape, strict=True))
        leading = [axis for axis in series.axes if axis not in "YXS" and lengths[axis] > 1]
        if len(pages) < 2 and not leading:
            return None
        if (len(tiff.series) > 1 and len(series.pages) < len(pages)) or not {"Y", "X"} <= set(series.axes):
            raise BadInput(
                tr_lazy(
                    "'{name}' holds pages of several sizes, and one case is one image or volume.", name=name
                ),
                "Save its pages as single images.",
            )
        slices = next((axis for axis in (*"ZIQRT", *leading) if axis in leading and axis != "C"), None)
        if slices is None:
            raise BadInput(
                tr_lazy("'{name}' holds several channels of one image.", name=name),
                "Save each as an image of its own.",
            )
        return TiffVolumes(
            opened, name, series.axes, tuple(series.shape), slices, int(series.nbytes), _spacing(tiff)
        )


def _pages(tiff: Any, name: str) -> list[Any]:
    """The pages that are no reduced copy or mask.

    Raises:
        BadInput: they lead back to an earlier one.
    """
    found, offsets = [], set()
    for page in tiff.pages:
        if page.offset in offsets:
            raise BadInput(tr_lazy("'{name}' is damaged or cut off.", name=name), COPY_AGAIN)
        offsets.add(page.offset)
        if not int(getattr(page, "subfiletype", 0)) & _REDUCED_OR_MASK:
            found.append(page)
    return found


class TiffVolumes:
    """The volumes of one TIFF file: pages along ``slices`` of its ``axes``, one volume for each of the others."""

    format = TIFF
    turning = Turning(None)

    def __init__(
        self,
        opened: Opened,
        name: str,
        axes: str,
        lengths: tuple[int, ...],
        slices: str,
        nbytes: int,
        spacing_mm: tuple[float, float, float] | None,
    ) -> None:
        self._opened, self._name, self._axes, self._slices = opened, name, axes, slices
        self._lengths, self._nbytes, self._spacing = dict(zip(axes, lengths, strict=True)), nbytes, spacing_mm
        self.shape = (self._lengths[slices], self._lengths["Y"], self._lengths["X"])
        self._others = [axis for axis in axes if axis not in f"YXS{slices}"]
        self.count = math.prod(self._lengths[axis] for axis in self._others)
        self.location: StackLocation | None = None

    def pages(self, part: int) -> tuple[int, ...]:
        """The pages of volume ``part``, from 0, in the order of its slices."""
        leading = [axis for axis in self._axes if axis not in "YXS"]
        places = np.arange(math.prod(self._lengths[axis] for axis in leading))
        places = places.reshape([self._lengths[axis] for axis in leading])
        moved = places.transpose([leading.index(axis) for axis in (*self._others, self._slices)])
        return tuple(int(place) for place in moved.reshape(self.count, -1)[part])

    def part_of(self, pages: Sequence[int]) -> int | None:
        """The volume that consists of ``pages``; ``None`` where none does."""
        return next((part for part in range(self.count) if self.pages(part) == tuple(pages)), None)

    def stack(self, part: int = 0) -> ArrayStack:
        """See :meth:`.volume_files.VolumeFile.stack`."""
        voxels = self.stored(part)
        return array_stack(voxels, self._name, self._spacing, scale_of(voxels, ValueScale()))

    def stored(self, part: int = 0) -> npt.NDArray[Any]:
        """See :meth:`.volume_files.VolumeFile.stored`."""
        if self._nbytes > MAX_ARRAY_BYTES:
            raise BadInput(
                tr_lazy(
                    "'{name}' would take {size} of memory.", name=self._name, size=size_text(self._nbytes)
                ),
                "Save a smaller part of it.",
            )
        import tifffile

        with _errors(self._name), self._opened() as file, tifffile.TiffFile(file, _multifile=False) as tiff:
            try:
                found = tiff.series[0].asarray()
                is_white_first = int(tiff.series[0].keyframe.photometric) == _WHITE_IS_ZERO
                if is_white_first and found.dtype.kind in "bu":
                    found = ~found
            except ValueError:
                # Without the library imagecodecs tifffile does not decompress LZW and JPEG; Pillow does, page by page.
                found = np.stack(list(self._decoded_pages())).reshape(tuple(self._lengths.values()))
        order = [*self._others, self._slices, "Y", "X", *(axis for axis in self._axes if axis == "S")]
        moved = found.transpose([self._axes.index(axis) for axis in order])
        voxels: npt.NDArray[Any] = moved.reshape(self.count, *moved.shape[len(self._others) :])[part]
        if voxels.ndim == 4 and voxels.shape[3] == 4:
            voxels = voxels[..., :3]
        return voxels

    def _decoded_pages(self) -> Iterator[npt.NDArray[Any]]:
        from PIL import Image as PILImage
        from PIL import ImageSequence

        with self._opened() as file, PILImage.open(file) as image:
            for page in ImageSequence.Iterator(image):
                if not int(page.tag_v2.get(_SUBFILE_TYPE, 0)) & _REDUCED_OR_MASK:  # type: ignore[attr-defined]
                    found = np.asarray(page)
                    # Pillow itself turns those of 8 bits over.
                    is_white_first = page.tag_v2.get(_PHOTOMETRIC) == _WHITE_IS_ZERO  # type: ignore[attr-defined]
                    yield ~found if is_white_first and found.dtype == np.uint16 else found


@contextlib.contextmanager
def _errors(name: str) -> Iterator[None]:
    try:
        yield
    except (BadInput, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - tifffile and Pillow raise errors of many kinds for damaged files
        raise BadInput(tr_lazy("'{name}' is damaged or cut off.", name=name), COPY_AGAIN) from None


def _spacing(tiff: Any) -> tuple[float, float, float] | None:
    """mm from slice to slice, row to row and column to column, of OME-TIFF and of ImageJ."""
    if tiff.is_ome:
        found = []
        for axis in "ZYX":
            size = re.search(rf'\bPhysicalSize{axis}="([^"]+)"', tiff.ome_metadata or "")
            unit = re.search(rf'\bPhysicalSize{axis}Unit="([^"]+)"', tiff.ome_metadata or "")
            factor = MILLIMETRES.get(unit[1] if unit else "µm")
            found.append(math.nan if size is None or factor is None else float(size[1]) * factor)
    elif tiff.is_imagej:
        facts, tags = tiff.imagej_metadata or {}, tiff.pages[0].tags
        factor = MILLIMETRES.get(str(facts.get("unit", "")), math.nan)
        found = [float(facts.get("spacing", math.nan)) * factor]
        for keyword in ("YResolution", "XResolution"):
            above, below = tags[keyword].value if keyword in tags else (0, 1)
            found.append(below / above * factor if above else math.nan)
    else:
        return None
    if not all(math.isfinite(step) and step > 0 for step in found):
        return None
    return found[0], found[1], found[2]
