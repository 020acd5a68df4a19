"""The meaning of stored values: rescale, look-up tables, windows, padding, and the grey scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.dicom.attributes import item, items, numbers, text, value
from semblance.core.imaging.dicom.pixel_layout import PixelLayout
from semblance.core.imaging.image import ValueScale, ValueWindow

if TYPE_CHECKING:
    from pydicom import Dataset

#: Hounsfield units shown black and white by ``grey``, so that the same tissue always has the same grey.
HU_RANGE = (-1024.0, 1024.0)

MAX_WINDOWS = 16

#: Larger stored values are damage: their differences would exceed float32.
LARGEST = 1e30


def values_of(dataset: Dataset, layout: PixelLayout, frame: int) -> ValueScale:
    """Slope, intercept, unit, padding and windows of one frame (PS3.3 C.7.6.16.2.9, C.11.1, C.11.2)."""
    rescale = _group(dataset, "PixelValueTransformationSequence", frame) or dataset
    shown = _group(dataset, "FrameVOILUTSequence", frame) or dataset
    slope, intercept = numbers(rescale, "RescaleSlope")[:1], numbers(rescale, "RescaleIntercept")[:1]
    modality = text(dataset, "Modality")
    unit = text(rescale, "RescaleType").upper()
    if not slope and text(dataset, "DoseGridScaling"):
        slope = numbers(dataset, "DoseGridScaling")[:1]
        unit = text(dataset, "DoseUnits").upper()
    if modality == "CT" and unit in ("", "US", "HU") and (slope or intercept):
        unit = "HU"
    unit = {"US": "", "UNSPECIFIED": "", "GY": "Gy"}.get(unit, unit)
    return ValueScale(
        slope[0] if slope and slope[0] != 0 else 1.0,
        intercept[0] if intercept else 0.0,
        unit[:16],
        layout.photometric == "MONOCHROME1",
        _padding(dataset, layout),
        _windows(shown),
    )


def grey_range(
    values: ValueScale, stored: npt.NDArray[Any], layout: PixelLayout, modality: str
) -> tuple[float, float]:
    """(black, white): the stored numbers that are shown black and white.

    CT: :data:`HU_RANGE`. Else the first window of the file; else all 8 bits, where no more are stored; else the
    lowest and the highest value that is not padding.
    """
    edges = HU_RANGE if modality == "CT" and values.unit == "HU" else None
    if edges is None and values.windows:
        edges = values.windows[0].low, values.windows[0].high
    if edges is not None:
        ends = sorted((edge - values.intercept) / values.slope for edge in edges)
        if -LARGEST < ends[0] < ends[1] < LARGEST:
            return ends[0], ends[1]
    if layout.stored <= 8 and not layout.signed and not layout.floating:
        return 0.0, float((1 << layout.stored) - 1)
    valid: npt.NDArray[np.bool_] | None = None
    if values.padding is not None:
        valid = (stored < values.padding[0]) | (stored > values.padding[1])
    if valid is not None and valid.any():
        low, high = float(stored[valid].min()), float(stored[valid].max())
    else:
        low, high = float(stored.min()), float(stored.max())
    return low, high if high > low else low + 1.0


def modality_lut_values(
    stored: npt.NDArray[Any], dataset: Dataset
) -> tuple[npt.NDArray[np.uint16], str] | None:
    """The output of the Modality LUT Sequence for the stored values, and its unit; ``None`` without one."""
    entry = item(dataset, "ModalityLUTSequence")
    table = None if entry is None else _table(entry)
    if entry is None or table is None or stored.dtype.kind == "f":
        return None
    first, numbers_of = table
    places = np.clip(stored.astype(np.int64) - first, 0, len(numbers_of) - 1)
    unit = text(entry, "ModalityLUTType").upper()
    return numbers_of[places], "" if unit in ("US", "UNSPECIFIED") else unit[:16]


def _group(dataset: Dataset, keyword: str, frame: int) -> Dataset | None:
    """The functional group of one frame, its own before the shared one."""
    per_frame = items(dataset, "PerFrameFunctionalGroupsSequence")
    own = item(per_frame[frame], keyword) if frame < len(per_frame) else None
    return own or item(dataset, "SharedFunctionalGroupsSequence", keyword)


def _padding(dataset: Dataset, layout: PixelLayout) -> tuple[float, float] | None:
    ends = [*numbers(dataset, "PixelPaddingValue")[:1], *numbers(dataset, "PixelPaddingRangeLimit")[:1]]
    if not ends or layout.samples != 1:
        return None
    if layout.signed:
        # Some writers store it as unsigned by mistake.
        top = 1 << layout.allocated
        ends = [end - top if end >= top // 2 else end for end in ends]
    return min(ends), max(ends)


def _windows(dataset: Dataset) -> tuple[ValueWindow, ...]:
    """PS3.3 C.11.2.1.2: the values where LINEAR reaches black and white; SIGMOID is taken as LINEAR_EXACT."""
    centres, widths = numbers(dataset, "WindowCenter"), numbers(dataset, "WindowWidth")
    names = text(dataset, "WindowCenterWidthExplanation").split("\\")
    linear = text(dataset, "VOILUTFunction").upper() in ("", "LINEAR")
    found = []
    for index, (centre, width) in enumerate(zip(centres, widths, strict=False)):
        if width < 1 or (linear and width == 1):
            continue
        low = centre - 0.5 - (width - 1) / 2 if linear else centre - width / 2
        high = centre - 0.5 + (width - 1) / 2 if linear else centre + width / 2
        found.append(ValueWindow(low, high, names[index][:64] if index < len(names) else ""))
    for entry in items(dataset, "VOILUTSequence"):
        window = _window_of_table(entry)
        if window is not None:
            found.append(window)
    return tuple(found[:MAX_WINDOWS])


def _window_of_table(entry: Dataset) -> ValueWindow | None:
    """A VOI look-up table as the straight window between its first and last change."""
    table = _table(entry)
    if table is None:
        return None
    first, outputs = table
    rising = np.flatnonzero(outputs > outputs.min())
    full = np.flatnonzero(outputs >= outputs.max())
    if not len(rising):
        return None
    low, high = first + max(0, int(rising[0]) - 1), first + int(full[0])
    return ValueWindow(low, high, text(entry, "LUTExplanation")[:64]) if high > low else None


def _table(entry: Dataset) -> tuple[int, npt.NDArray[np.uint16]] | None:
    """(first number mapped, outputs) of a look-up table."""
    described = numbers(entry, "LUTDescriptor")
    data = value(entry, "LUTData")
    if len(described) != 3 or data is None:
        return None
    count, first = int(described[0]) % 65536 or 65536, int(described[1])
    if isinstance(data, bytes):
        outputs = np.frombuffer(data[: len(data) // 2 * 2], np.uint16)
    else:
        outputs = np.clip(np.asarray(data, dtype=np.float64).reshape(-1), 0, 65535).astype(np.uint16)
    return (first, outputs[:count]) if len(outputs) >= count else None
