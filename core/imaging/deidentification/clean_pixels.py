"""Black out text in the pixels of a DICOM object (Clean Pixel Data Option, PS3.15 E.3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.dicom.colour import from_palette, to_rgb
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.dicom.pixel_layout import PixelLayout
from semblance.core.imaging.dicom.transfer_syntaxes import EXPLICIT_BIG, EXPLICIT_LITTLE, JPEG_LS, PLAIN, RLE
from semblance.core.imaging.image import Image
from semblance.core.imaging.text_detector import TextBox, without_contained
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from pydicom import Dataset

_JPEG_LS_LOSSLESS, _JPEG_2000_LOSSLESS = "1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.90"
#: OpenJPEG halves an image five times.
_SMALLEST_JPEG_2000 = 32
#: Frames show the same in a box if they differ by less than this share of its range there on average.
_SAME = 0.04
_PIXELS = ("PixelData", "FloatPixelData", "DoubleFloatPixelData")

#: The boxes of each frame.
Boxes = list[list[TextBox]]


def find_text(
    images: DicomImages, boxes_of: Callable[[Image], Sequence[TextBox]], *, reporter: Reporter = SILENT
) -> Boxes:
    """The boxes with text in every frame, found by ``boxes_of``. What is found in one frame counts for all that show
    the same there.

    Raises:
        BadInput: the pixels cannot be decoded.
        Cancelled: asked for by the reporter.
    """
    found: Boxes = []
    for frame in range(len(images)):
        reporter.check_cancelled()
        found.append(list(boxes_of(images.image(frame))))
    if len(images) == 1 or not any(found):
        return found
    frames = [images.stored(frame)[0] for frame in range(len(images))]
    shared = [list(boxes) for boxes in found]
    for source, boxes in enumerate(found):
        for box in boxes:
            there = frames[source][box.part].astype(np.float32)
            most = _SAME * max(float(np.ptp(there)), 1.0)
            for other, pixels in enumerate(frames):
                if other != source and float(np.abs(pixels[box.part] - there).mean()) <= most:
                    shared[other].append(box)
    return [without_contained(boxes) for boxes in shared]


def clean_pixels(dataset: Dataset, images: DicomImages, boxes: Boxes) -> str:
    """Black out ``boxes`` in ``dataset``, whose pixels ``images`` reads, and set BurnedInAnnotation to NO.

    Without a box the pixels stay as they are. Otherwise they are compressed again without loss where they were
    compressed, and colours become RGB. What was lost by a compression before stays recorded.

    Returns:
        The transfer syntax that a file needs now, or "" for the same one.

    Raises:
        BadInput: the pixels cannot be decoded.
    """
    dataset.BurnedInAnnotation = "NO"
    if not any(boxes):
        return ""
    syntax, layout = images.syntax, images.layout
    frames = [_frame(images, frame) for frame in range(len(images))]
    black = _black(dataset, layout, frames)
    for pixels, of_frame in zip(frames, boxes, strict=True):
        for box in of_frame:
            pixels[box.part] = black
    return _put(dataset, np.stack(frames), syntax, layout)


def remove_overlay_bits(dataset: Dataset, images: DicomImages) -> str:
    """Set the unused bits of the pixels of ``dataset``, which ``images`` reads, to what they are without an overlay.

    Returns:
        As :func:`clean_pixels`.

    Raises:
        BadInput: the pixels cannot be decoded.
    """
    return _put(
        dataset,
        np.stack([_frame(images, frame) for frame in range(len(images))]),
        images.syntax,
        images.layout,
    )


def has_overlay_bits(dataset: Dataset) -> bool:
    """Whether an overlay lies in unused bits of the pixels, as before 2004 (PS3.3 C.9.2, retired)."""
    bits = ((group, 0x0102) for group in range(0x6000, 0x6020, 2))
    return any(tag in dataset and dataset[tag].value for tag in bits)


def _frame(images: DicomImages, frame: int) -> npt.NDArray[Any]:
    """The stored numbers, colours as RGB, in an array of their own."""
    stored, photometric = images.stored(frame)
    if stored.ndim == 3:
        stored = to_rgb(stored, photometric, images.name)
    return np.array(stored)


def _black(dataset: Dataset, layout: PixelLayout, frames: Sequence[npt.NDArray[Any]]) -> Any:
    """The darkest number that the frames have: one they do not have would change how viewers show the rest."""
    if layout.samples == 3:
        return 0
    if layout.photometric == "PALETTE COLOR":
        numbers = np.unique(np.concatenate([np.unique(frame) for frame in frames]))
        colours = from_palette(numbers[None], dataset, "")[0]
        return numbers[int(colours.astype(np.int64).sum(axis=1).argmin())]
    if layout.photometric == "MONOCHROME1":
        return max(frame.max() for frame in frames)
    return min(frame.min() for frame in frames)


def _put(dataset: Dataset, pixels: npt.NDArray[Any], syntax: str, layout: PixelLayout) -> str:
    """Store (frames, h, w) or (frames, h, w, 3) ``pixels``; the transfer syntax, "" for the same one."""
    from pydicom.pixels.utils import pack_bits

    keyword = next(one for one in _PIXELS if one in dataset)
    for offsets in ("ExtendedOffsetTable", "ExtendedOffsetTableLengths"):
        if offsets in dataset:
            delattr(dataset, offsets)
    if layout.samples == 3:
        dataset.PhotometricInterpretation, dataset.PlanarConfiguration = "RGB", 0
        dataset.BitsAllocated = 8 * pixels.dtype.itemsize
        dataset.BitsStored = min(layout.stored, dataset.BitsAllocated)
    if not layout.floating:
        dataset.HighBit = dataset.BitsStored - 1
    if layout.allocated == 1:
        content = pack_bits(pixels.reshape(-1))
        values = None
    else:
        values = pixels.astype(pixels.dtype.newbyteorder("<"))
        content = (values.byteswap() if syntax == EXPLICIT_BIG else values).tobytes()
    if len(content) % 2:
        content += b"\0"
    setattr(dataset, keyword, content)
    dataset[keyword].is_undefined_length = False
    if keyword == "PixelData":
        dataset[keyword].VR = "OB" if dataset.BitsAllocated <= 8 else "OW"
    if syntax in PLAIN:
        return ""
    if values is None or dataset.BitsAllocated > 16:
        return EXPLICIT_LITTLE
    if values.dtype.itemsize * 8 != dataset.BitsAllocated:
        dataset.BitsAllocated = 8 * values.dtype.itemsize
    small = min(layout.rows, layout.columns) < _SMALLEST_JPEG_2000
    target = (
        RLE if syntax == RLE else _JPEG_LS_LOSSLESS if syntax in JPEG_LS or small else _JPEG_2000_LOSSLESS
    )
    shown = values if layout.frames > 1 else values[0]
    dataset.compress(target, shown, generate_instance_uid=False)
    return target
