"""The meaning of stored values: rescale, look-up tables, windows, padding, and the grey scale.

In the order of the standard: stored numbers, modality LUT or rescale (PS3.3 C.11.1), VOI LUT (C.11.2), polarity. The
formulas are written out because the viewer needs them as tables of 65,536 greys at most and its windows change;
pydicom's functions map every pixel in 64 bits, turn the greys of a window round where the slope is below 0, and apply
the modality LUT of angiograms.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.dicom.attributes import Numbers, item, items, numbers, read_numbers, text
from semblance.core.imaging.dicom.lookup_tables import LookupTable, lut_of
from semblance.core.imaging.dicom.pixel_layout import PixelLayout
from semblance.core.imaging.image import Curve, ValueScale, ValueWindow, linear_window

if TYPE_CHECKING:
    from pydicom import Dataset

#: Hounsfield units shown black and white by ``grey``, so that the same tissue always has the same grey.
HU_RANGE = (-1024.0, 1024.0)

MAX_WINDOWS = 16

#: Larger stored values are damage: their differences would exceed float32.
LARGEST = 1e30


#: SOP classes of angiography and fluoroscopy, whose modality LUT leads back to X-ray intensity and is not applied for
#: display (PS3.3 C.8.7.1.1.2).
_X_RAY = "1.2.840.10008.5.1.4.1.1.12."


#: 1,500 wide, around -500 HU.
LUNG_WINDOW = (-1250.0, 250.0)
#: Windows with a higher centre, or a smaller width, are not for lungs.
_LUNG_CENTRE, _LUNG_WIDTH = -300.0, 800.0
#: What manufacturers call kernels for lungs (GE LUNG, Siemens Bl57, Philips L), and sharp ones (B70f, FC52).
_LUNG_KERNEL = re.compile(r"(?i:lung|l$)|[BH]l\d\d")
_SHARP_KERNEL = re.compile(r"(?i:[bi][67]\d|fc5\d|fc8\d|y[abcd]$)|Br[67]\d")


def values_of(dataset: Dataset, layout: PixelLayout, frame: int, *, little: bool = True) -> ValueScale:
    """Slope, intercept, unit, padding and windows of one frame (PS3.3 C.7.6.16.2.9, C.11.1, C.11.2).

    A slope or an intercept that cannot be read, or a slope of 0, leaves the numbers as stored, without a unit.
    """
    rescale = _group(dataset, "PixelValueTransformationSequence", frame) or dataset
    slope, intercept = read_numbers(rescale, "RescaleSlope"), read_numbers(rescale, "RescaleIntercept")
    modality = text(dataset, "Modality")
    unit = text(rescale, "RescaleType").upper()
    if not slope.values and text(dataset, "DoseGridScaling"):
        slope = read_numbers(dataset, "DoseGridScaling")
        unit = text(dataset, "DoseUnits").upper()
    if modality == "CT" and unit in ("", "US", "HU") and (slope.values or intercept.values):
        unit = "HU"
    if modality == "PT" and unit in ("", "US"):
        unit = text(dataset, "Units").upper()
    unit = {"US": "", "UNSPECIFIED": "", "NONE": "", "GY": "Gy", "BQML": "Bq/ml"}.get(unit, unit)
    is_usable = slope.is_usable and intercept.is_usable and slope.values[:1] != (0.0,)
    if not is_usable or not applies_modality_lut(dataset):
        slope = intercept = Numbers()
        unit = ""
    scale = ValueScale(
        slope.values[0] if slope.values else 1.0,
        intercept.values[0] if intercept.values else 0.0,
        unit[:16],
        layout.photometric == "MONOCHROME1" or text(dataset, "PresentationLUTShape") == "INVERSE",
        _padding(dataset, layout),
    )
    shown = _group(dataset, "FrameVOILUTSequence", frame) or dataset
    windows = _windows(shown, _lowest(dataset, layout, scale), little=little)
    if scale.unit == "HU" and _is_for_lungs(
        _group(dataset, "CTReconstructionSequence", frame) or dataset, dataset
    ):
        windows = _lung_first(windows)
    return replace(scale, windows=windows)


def _is_for_lungs(kernel: Dataset, dataset: Dataset) -> bool:
    """Whether an image was reconstructed with a kernel for lungs: one that is called so, or a sharp one of a chest."""
    name = text(kernel, "ConvolutionKernel").partition("\\")[0]
    if _LUNG_KERNEL.match(name):
        return True
    part = text(dataset, "BodyPartExamined").upper()
    return bool(_SHARP_KERNEL.match(name)) and any(word in part for word in ("CHEST", "THORAX", "LUNG"))


def _lung_first(windows: tuple[ValueWindow, ...]) -> tuple[ValueWindow, ...]:
    """The windows with one for lungs first: one of the file, else the usual one where the file has none or begins with
    one for soft tissue."""
    for window in windows:
        if (window.low + window.high) / 2 <= _LUNG_CENTRE and window.high - window.low >= _LUNG_WIDTH:
            return (window, *(other for other in windows if other is not window))
    if windows and not (windows[0].low >= -_LUNG_WIDTH / 2 and windows[0].high <= _LUNG_WIDTH / 2):
        return windows
    return (ValueWindow(*LUNG_WINDOW, "LUNG"), *windows)


def applies_modality_lut(dataset: Dataset) -> bool:
    """Whether the modality LUT or rescale of this object leads to the values that are shown."""
    return not text(dataset, "SOPClassUID").startswith(_X_RAY)


def with_positive_slope(
    stored: npt.NDArray[Any], values: ValueScale, ends: tuple[float, float]
) -> tuple[npt.NDArray[Any], ValueScale, tuple[float, float]]:
    """The same values by a slope above 0: of a slope below 0 the stored numbers are counted from the other end, and so
    are the ``ends`` of the display.

    High numbers are then high values everywhere, in windows, histograms and thumbnails.
    """
    if values.slope > 0:
        return stored, values, ends
    if stored.dtype.kind == "f":
        turned, end = -stored, 0.0
    else:
        turned, end = np.invert(stored), float(np.invert(np.zeros(1, stored.dtype))[0])
    padding = None if values.padding is None else (end - values.padding[1], end - values.padding[0])
    intercept = values.intercept + values.slope * end
    scale = replace(values, slope=-values.slope, intercept=intercept, padding=padding)
    return turned, scale, (end - ends[1], end - ends[0])


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


def modality_lut_of(
    dataset: Dataset, layout: PixelLayout, *, little: bool = True
) -> tuple[LookupTable, str] | None:
    """The table of the Modality LUT Sequence and the unit of its outputs; ``None`` without one that applies."""
    entry = item(dataset, "ModalityLUTSequence")
    if entry is None or layout.floating or not applies_modality_lut(dataset):
        return None
    table = lut_of(entry, -1.0 if layout.signed else 0.0, little=little)
    unit = text(entry, "ModalityLUTType").upper()
    return None if table is None else (table, "" if unit in ("US", "UNSPECIFIED") else unit[:16])


def _group(dataset: Dataset, keyword: str, frame: int) -> Dataset | None:
    """The functional group of one frame, its own before the shared one."""
    per_frame = items(dataset, "PerFrameFunctionalGroupsSequence")
    own = item(per_frame[frame], keyword) if frame < len(per_frame) else None
    return own or item(dataset, "SharedFunctionalGroupsSequence", keyword)


def _padding(dataset: Dataset, layout: PixelLayout) -> tuple[float, float] | None:
    ends = [*numbers(dataset, "PixelPaddingValue")[:1], *numbers(dataset, "PixelPaddingRangeLimit")[:1]]
    if not ends or layout.samples != 1:
        return None
    # It has the sign of the pixels (PS3.3 C.7.5.1.1.2), but some writers store it with the other one.
    numbers_of = 1 << layout.allocated
    if layout.signed:
        ends = [end - numbers_of if end >= numbers_of // 2 else end for end in ends]
    elif not layout.floating:
        ends = [end + numbers_of if end < 0 else end for end in ends]
    return min(ends), max(ends)


def _lowest(dataset: Dataset, layout: PixelLayout, scale: ValueScale) -> float:
    """The least value that the modality LUT or rescale can give: below 0 a VOI LUT has signed inputs."""
    if layout.floating or modality_lut_of(dataset, layout) is not None:
        return 0.0
    lowest = -(1 << (layout.stored - 1)) if layout.signed else 0
    ends = lowest, lowest + (1 << layout.stored) - 1
    return min(end * scale.slope + scale.intercept for end in ends)


def _windows(dataset: Dataset, lowest: float, *, little: bool) -> tuple[ValueWindow, ...]:
    """PS3.3 C.11.2.1.2 and C.11.2.1.3: LINEAR, LINEAR_EXACT and SIGMOID; C.11.2.1.1: tables."""
    centres, widths = numbers(dataset, "WindowCenter"), numbers(dataset, "WindowWidth")
    names = text(dataset, "WindowCenterWidthExplanation").split("\\")
    function = text(dataset, "VOILUTFunction").upper() or "LINEAR"
    found: list[ValueWindow | None] = []
    for index, (centre, width) in enumerate(zip(centres, widths, strict=False)):
        name = names[index][:64] if index < len(names) else ""
        if function == "LINEAR":
            found.append(linear_window(centre, width, name))
        elif width > 0:
            ends = centre - width / 2, centre + width / 2
            curve = Curve() if function == "SIGMOID" else None
            found.append(ValueWindow(*ends, name, curve, (centre, width)))
    for entry in items(dataset, "VOILUTSequence"):
        table = lut_of(entry, lowest, little=little)
        if table is not None and table.last > table.first:
            greys = (table.outputs / np.float32((1 << table.bits) - 1)).astype(np.float32)
            found.append(
                ValueWindow(
                    table.first, table.last, text(entry, "LUTExplanation")[:64], Curve(greys.tobytes())
                )
            )
    return tuple([window for window in found if window is not None][:MAX_WINDOWS])
