"""Find text burnt into an image by a neural network, without reading it.

The network is the small text detector of PP-OCRv6 (PaddleOCR), by Liao et al., "Real-time scene text detection with
differentiable binarization", AAAI 2020: for each pixel the probability that it lies in the core of a line of text. Its
weights are a file in the wheel of rapidocr; none of that package's code is run, and nothing is downloaded.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.engine.onnxruntime_import import import_onnxruntime
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image import Image
from semblance.core.imaging.shown_range import as_shown

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

#: The package whose wheel holds the network, and where it lies in it.
PACKAGE, MODEL = "rapidocr", "models/PP-OCRv6_det_small.onnx"
#: The image is searched at these sizes: as it is, and enlarged, where small letters are found.
SCALES = (1.0, 2.0)
#: Sides of the parts into which a larger image is cut, and how far they overlap: a word lies whole in one of them.
TILE, OVERLAP = 1024, 192
#: A line of text: probability of its pixels, their mean, and its lowest height in pixels.
_PIXEL, _LINE, _LOWEST = 0.2, 0.4, 3
#: The network marks the core of a line, which is this much smaller, as the ratio of area and perimeter; and more around
#: it as a share of its height, for what the core leaves out.
_UNCLIP, _MARGIN = 1.5, 0.1
#: Not a line: what is thicker than this share of the longest side, what fills less of the rectangle around it, and
#: where fewer pixels than this share are strokes, which are thinner than this share of the height and this much
#: brighter or darker than what is around them, of 255. The network also marks shades of the anatomy.
_THICKEST, _SOLID, _STROKES, _STROKE, _CONTRAST = 0.1, 0.65, 0.03, 0.5, 20
#: A box of which less is text lies around an oblique line and is cut into shorter ones.
_FILLED = 0.55
#: Both sides of the network's input are multiples of this.
_STRIDE = 32
_ERRORS_ONLY = 3


@dataclass(frozen=True)
class TextBox:
    """A rectangle of an image with text: left ``x``, top ``y``, ``width`` and ``height`` in pixels."""

    x: int
    y: int
    width: int
    height: int

    @property
    def part(self) -> tuple[slice, slice]:
        """The rows and columns of it."""
        return slice(self.y, self.y + self.height), slice(self.x, self.x + self.width)


class TextDetector:
    """The loaded network."""

    def __init__(self) -> None:
        """
        Raises:
            SemblanceError: the package with the network, or onnxruntime, is not installed.
        """
        self._session = _load(_model_file())
        self._input = self._session.get_inputs()[0].name

    def boxes(self, image: Image) -> list[TextBox]:
        """Rectangles that cover the text in ``image``, whichever way its values may be shown."""
        found = [
            box
            for displayed in _displayed_images(image)
            for scale in SCALES
            for box in _boxes(self._probabilities(displayed, scale), scale, displayed)
        ]
        return without_contained(found)

    def _probabilities(self, displayed: Bytes, scale: float) -> Floats:
        """(h, w) the probability of text in each pixel of ``displayed`` (h, w, 3) at ``scale``."""
        height, width = (round(scale * side) for side in displayed.shape[:2])
        out = np.zeros((height, width), np.float32)
        for top in _starts(height):
            for left in _starts(width):
                part = slice(top, min(top + TILE, height)), slice(left, min(left + TILE, width))
                found = self._of_tile(_scaled(displayed, part, scale))
                np.maximum(out[part], found, out=out[part])
        return out

    def _of_tile(self, tile: Bytes) -> Floats:
        height, width = tile.shape[:2]
        if tile.max() == tile.min():
            return np.zeros((height, width), np.float32)
        padded = np.pad(tile, ((0, -height % _STRIDE), (0, -width % _STRIDE), (0, 0)), mode="edge")
        values = padded.astype(np.float32).transpose(2, 0, 1)[None] / np.float32(127.5) - np.float32(1)
        out: Floats = self._session.run(None, {self._input: values})[0][0, 0, :height, :width]
        return out


@functools.cache
def text_detector() -> TextDetector:
    """The detector, loaded once.

    Raises:
        SemblanceError: as :class:`TextDetector`.
    """
    return TextDetector()


def is_text_detector_installed() -> bool:
    """Whether the packages for :func:`text_detector` are there. Nothing is loaded."""
    return all(importlib.util.find_spec(package) is not None for package in (PACKAGE, "onnxruntime"))


def without_contained(boxes: Iterable[TextBox]) -> list[TextBox]:
    """``boxes`` without those that lie in another one, from top to bottom."""
    kept: list[TextBox] = []
    for box in sorted(set(boxes), key=lambda one: -one.width * one.height):
        if not any(
            one.x <= box.x
            and one.y <= box.y
            and one.x + one.width >= box.x + box.width
            and one.y + one.height >= box.y + box.height
            for one in kept
        ):
            kept.append(box)
    return sorted(kept, key=lambda one: (one.y, one.x))


def _displayed_images(image: Image) -> Sequence[Bytes]:
    """``image`` (h, w, 3) as it is shown at first and, where more bits are stored, from its lowest to its highest
    value: text may be drawn far outside the window."""
    if image.is_colour or image.pixels.dtype.itemsize == 1:
        return (_to_bytes(image.rgb()),)
    shown = _to_bytes(as_shown(image).rgb())
    low, high = float(np.nanmin(image.pixels)), float(np.nanmax(image.pixels))
    if not high > low:
        return (shown,)
    whole = (image.pixels.astype(np.float32) - low) / (high - low)
    return shown, _to_bytes(np.repeat(whole[:, :, None], 3, axis=2))


def _to_bytes(unit: Floats) -> Bytes:
    return np.rint(255 * np.clip(np.nan_to_num(unit), 0, 1)).astype(np.uint8)


def _starts(side: int) -> list[int]:
    """Where tiles begin along a side: evenly, so that the last one is not a strip."""
    if side <= TILE:
        return [0]
    count = -(-(side - OVERLAP) // (TILE - OVERLAP))
    return [round(place * (side - TILE) / (count - 1)) for place in range(count)]


def _scaled(displayed: Bytes, part: tuple[slice, slice], scale: float) -> Bytes:
    """A part, in scaled pixels, of ``displayed``."""
    if scale == 1:
        return displayed[part]
    from PIL import Image as RasterImage

    rows, columns = part
    box = (columns.start / scale, rows.start / scale, columns.stop / scale, rows.stop / scale)
    size = (columns.stop - columns.start, rows.stop - rows.start)
    box = (*box[:2], min(box[2], displayed.shape[1]), min(box[3], displayed.shape[0]))
    return np.asarray(RasterImage.fromarray(displayed).resize(size, RasterImage.Resampling.BICUBIC, box=box))


def _boxes(probabilities: Floats, scale: float, displayed: Bytes) -> list[TextBox]:
    from scipy.ndimage import find_objects, label, mean

    is_text = probabilities > _PIXEL
    labels, count = label(is_text, np.ones((3, 3)))
    if not count:
        return []
    means = mean(probabilities, labels, np.arange(1, count + 1))
    out = []
    for number, (rows, columns) in enumerate(find_objects(labels), 1):
        height, width = rows.stop - rows.start, columns.stop - columns.start
        if min(height, width) < _LOWEST or means[number - 1] < _LINE:
            continue
        line = labels[rows, columns] == number
        length, thickness = _extent(line)
        if thickness > _THICKEST * max(probabilities.shape) or line.sum() < _SOLID * length * thickness:
            continue
        found = [
            _grown(part, rows.start, columns.start, scale, displayed.shape[:2])
            for part in _upright_parts(line)
        ]
        if any(_has_strokes(displayed[box.part], thickness / scale) for box in found):
            out += found
    return out


def _extent(line: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Length and thickness of the rectangle around a line in its own direction."""
    points = np.argwhere(line).astype(np.float64)
    points -= points.mean(axis=0)
    _, axes = np.linalg.eigh(points.T @ points)
    thickness, length = (float(side) + 1 for side in np.ptp(points @ axes, axis=0))
    return length, thickness


def _has_strokes(displayed: Bytes, height: float) -> bool:
    """Whether enough pixels differ from all that is around them within a third of the ``height`` of a line."""
    from scipy.ndimage import grey_closing, grey_opening

    side = max(3, round(_STROKE * height))
    for channel in np.moveaxis(displayed, 2, 0) if _differ(displayed) else (displayed[:, :, 0],):
        bright = channel - grey_opening(channel, (side, side))
        dark = grey_closing(channel, (side, side)) - channel
        if max((bright >= _CONTRAST).mean(), (dark >= _CONTRAST).mean()) >= _STROKES:
            return True
    return False


def _differ(displayed: Bytes) -> bool:
    return bool((displayed != displayed[:, :, :1]).any())


def _upright_parts(line: npt.NDArray[np.bool_]) -> list[tuple[slice, slice]]:
    """The box of a line, or those of its pieces where it is oblique."""
    from scipy.ndimage import find_objects

    found = find_objects(line.astype(np.uint8))
    if not found:
        return []
    rows, columns = found[0]
    piece = line[rows, columns]
    height, width = piece.shape
    if piece.mean() >= _FILLED or max(height, width) < 12:
        return [(rows, columns)]
    along = int(width > height)
    middle = piece.shape[along] // 2
    halves = (
        ((piece[:, :middle], 0, 0), (piece[:, middle:], 0, middle))
        if along
        else ((piece[:middle], 0, 0), (piece[middle:], middle, 0))
    )
    return [
        (
            slice(part[0].start + down + rows.start, part[0].stop + down + rows.start),
            slice(part[1].start + right + columns.start, part[1].stop + right + columns.start),
        )
        for half, down, right in halves
        for part in _upright_parts(half)
    ]


def _grown(part: tuple[slice, slice], top: int, left: int, scale: float, shape: tuple[int, ...]) -> TextBox:
    """The box of a whole line from that of its core."""
    rows, columns = part
    height, width = rows.stop - rows.start, columns.stop - columns.start
    more = height * width * _UNCLIP / (2 * (height + width)) + _MARGIN * min(height, width)
    first_row, first_column = (
        max(0, int((start - more) // scale)) for start in (top + rows.start, left + columns.start)
    )
    last_row, last_column = (
        min(side, int(-(-(stop + more) // scale)))
        for side, stop in zip(shape, (top + rows.stop, left + columns.stop), strict=True)
    )
    return TextBox(first_column, first_row, last_column - first_column, last_row - first_row)


def _model_file() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    for folder in (found.submodule_search_locations or ()) if found else ():
        model = Path(folder) / MODEL
        if model.is_file():
            return model
    raise SemblanceError(
        "Text in images is found with the network of the package rapidocr, which is not installed.",
        'Run pip install "semblance-retrieval[ocr]"',
    )


def _load(model: Path) -> Any:
    try:
        onnxruntime = import_onnxruntime()
    except ImportError:
        raise SemblanceError(
            "Text in images is found with onnxruntime, which is not installed.",
            'Run pip install "semblance-retrieval[ocr]"',
        ) from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    # Threads that wait must not keep the processors busy.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
