"""Find marks that were drawn into an image (calipers, dotted lines, arrows, letters, logos, scales and colour bars) and
fill in what they hide, so that an image is not found by its marks.

What is drawn differs from anatomy in its edges: it reaches its full brightness within a pixel, all around, and has
one grey or colour. Parts of an image brighter than a level are tried one level after the other, as maximally stable
regions are found (Matas et al., "Robust wide-baseline stereo from maximally stable extremal regions", BMVC 2002), and
kept where the brightness falls off sharply at their border. Calcifications, vessels and specular lines fade over some
pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.image import Image
from semblance.core.imaging.morphology import Grey, block_means, extremes, opened
from semblance.core.imaging.region import Region
from semblance.core.imaging.shown_range import as_shown

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]

#: The attribute of a case with the number of its marks, where it has some.
MARKS_ATTRIBUTE = "burnt_in_marks"
#: A larger image is searched in means of blocks, so that its longest side has at most this many pixels; in one with a
#: shorter side than the second, anatomy is as sharp as what is drawn, and only colour is looked for.
_LONGEST, _SHORTEST = 768, 100
#: The side of the square that takes bright parts away, as a share of the shorter side: thicker parts are not drawn.
_THICKEST = 0.08
#: Levels of brightness, and how much brighter than its surroundings a part is at least, of 255.
_LEVELS, _BRIGHTER = (250, 235, 215, 190, 160, 125), 45
#: A part is nearly white from this grey on. Parts are looked for around steep pixels only, in a square of this share of
#: the shorter side.
_NEARLY_WHITE, _AROUND_STEEP = 222, 0.15
#: Mean fall of the brightness within a pixel of the border: of what is nearly white at a shorter side of 256 and of 448
#: pixels, less by the third where one grey fills it; of any grey.
_FALL_SMALL, _FALL_LARGE, _FALL_LESS, _FALL_ANY = 92.0, 76.0, 15.0, 115.0
#: The same for parts of exactly one grey that many pixels of the image have; and for those of white.
_FALL_ONE_GREY, _FALL_ONE_WHITE, _MIN_PIXELS = 28.0, 45.0, 4
#: The same beside marks, as a share of the shorter side: of parts of the marks' grey, and of small parts.
_NEAR, _FALL_SAME, _FALL_DOT, _DOT, _REACHES = 0.06, 35.0, 60.0, 16.0, 2
#: Share of a border with at least 0.6 of its mean fall.
_ALL_AROUND = 0.5
#: Differences of the channels of a coloured pixel, and of the pixels that belong to it.
_COLOURED, _TINTED = 40, 16
#: Largest share of the image that one coloured part takes, else it shows blood flow; of a rectangle, as a colour bar.
_COLOURED_PART, _COLOURED_BAR = 0.03, 0.1
#: A photograph has at least this share of pixels whose channels differ by more than the first number.
_TINGED, _PHOTOGRAPH = 4, 0.2
#: A grey bar is at least so long, as a share of the shorter side, and so thick in pixels and as a share.
_BAR_LONG, _BAR_THIN, _BAR_THICK = 0.15, 4, 0.12
#: Pixels around a mark that it is continued from, and the most pixels of one that are solved for exactly.
_AROUND, _MOST_SOLVED = 4, 6000
#: What takes a larger share of the image is its content, such as a drawing.
_MOST_HIDDEN = 0.15
#: Marks within this share of the shorter side count as one.
_ONE_MARK = 0.04
#: Modalities whose DICOM images may have marks, by their codes.
MARKED_MODALITIES = frozenset(("US", "IVUS", "BDUS", "OT", "SC", "DOC"))
_ULTRASOUND = frozenset(("US", "IVUS", "BDUS"))


@dataclass(frozen=True)
class BurntInMarks:
    """The marks of an image: ``mask`` (h, w) of their pixels, and the box around each of them."""

    mask: Mask
    boxes: tuple[Region, ...]


def may_have_marks(image: Image) -> bool:
    """Whether marks are looked for: in ultrasound, secondary captures, plain files but no colour photographs."""
    modality = image.attributes.get("modality", "")
    if modality:
        return modality in MARKED_MODALITIES and (modality in _ULTRASOUND or not _is_photograph(image))
    return image.pixels.dtype.kind == "u" and not image.values.unit and not _is_photograph(image)


def find_marks(image: Image) -> BurntInMarks | None:
    """The marks in ``image``, or ``None``."""
    values, tint = _shown(image)
    factor = -(-max(values.shape) // _LONGEST)
    if factor > 1:
        values = np.rint(block_means(values, factor)).astype(np.uint8)
        tint = None if tint is None else np.rint(block_means(tint, factor)).astype(np.uint8)
    found = np.zeros(values.shape, bool)
    if tint is not None:
        found |= _coloured(tint)
    short = min(values.shape)
    if short >= _SHORTEST:
        found |= _bars(values) | _bars(values.T).T
        found = _bright(values, found)
    if not found.any():
        return None
    # The soft edge of a line belongs to it.
    grown = _grown(found, 1 if short < 360 else 2)
    if grown.mean() > _MOST_HIDDEN:
        return None
    mask = np.zeros((image.height, image.width), bool)
    large = np.repeat(np.repeat(grown, factor, axis=0), factor, axis=1)
    mask[: large.shape[0], : large.shape[1]] = large
    return BurntInMarks(mask, _boxes(mask, max(1, round(_ONE_MARK * short / 2)) * factor))


def mark_boxes(image: Image) -> tuple[Region, ...]:
    """The boxes of the marks in ``image``; none where they are not looked for."""
    found = find_marks(image) if may_have_marks(image) else None
    return () if found is None else found.boxes


def hide_marks(image: Image) -> Image:
    """``image`` with its marks filled in from what surrounds them, which its ``hidden_marks`` counts."""
    return without_marks(image, find_marks(image))


def without_marks(image: Image, found: BurntInMarks | None) -> Image:
    """As :func:`hide_marks`, with what :func:`find_marks` found in ``image``."""
    if found is None:
        return replace(image, hidden_marks=0)
    return replace(image, pixels=_filled(image.pixels, found.mask), hidden_marks=len(found.boxes))


def _is_photograph(image: Image) -> bool:
    if not image.is_colour or image.pixels.dtype != np.uint8:
        return image.is_colour
    step = max(1, min(image.height, image.width) // 64)
    sample = image.pixels[::step, ::step]
    return bool(((sample.max(axis=2) - sample.min(axis=2)) > _TINGED).mean() > _PHOTOGRAPH)


def _shown(image: Image) -> tuple[Grey, Grey | None]:
    """(h, w) the brightest channel of each pixel, and the difference of its channels if there is any."""
    pixels = image.pixels
    if pixels.dtype != np.uint8 or image.white != 255.0 or image.values.inverse:
        shown = as_shown(image)
        unit = shown.rgb() if shown.is_colour else shown.grey()
        pixels = np.rint(255 * np.clip(np.nan_to_num(unit), 0, 1)).astype(np.uint8)
    if pixels.ndim == 2:
        return np.ascontiguousarray(pixels), None
    red, green, blue = (np.ascontiguousarray(pixels[:, :, channel]) for channel in range(3))
    if np.array_equal(red, green) and np.array_equal(green, blue):
        return red, None
    values = np.maximum(np.maximum(red, green), blue)
    return values, values - np.minimum(np.minimum(red, green), blue)


def _coloured(tint: Grey) -> Mask:
    """Coloured parts that are no map of blood flow."""
    from scipy.ndimage import find_objects, label

    if not (tint > _COLOURED).any():
        return np.zeros(tint.shape, bool)
    labels, n = label(tint > _TINTED, np.ones((3, 3)))
    areas = np.bincount(labels.ravel(), minlength=n + 1)
    strongest = np.zeros(n + 1, np.uint8)
    np.maximum.at(strongest, labels.ravel(), tint.ravel())
    boxes = np.array([1, *((y.stop - y.start) * (x.stop - x.start) for y, x in find_objects(labels))])
    is_bar = (areas >= 0.8 * boxes) & (areas <= _COLOURED_BAR * tint.size)
    is_mark = (strongest > _COLOURED) & ((areas <= _COLOURED_PART * tint.size) | is_bar)
    is_mark[0] = False
    found: Mask = is_mark[labels]
    return found


class _Parts:
    """The connected parts of a mask: their labels, 0 outside, and one number a part in each array."""

    def __init__(self, is_part: Mask, values: Grey, falls: Grey) -> None:
        from scipy.ndimage import label

        self.labels, n = label(is_part, np.ones((3, 3)))
        places = np.flatnonzero(is_part)
        part, value = self.labels.ravel()[places], values.ravel()[places]
        border = ~extremes(is_part.astype(np.uint8), 3, np.minimum).astype(bool).ravel()[places]

        def total(weights: npt.NDArray[np.generic]) -> Numbers:
            return np.bincount(part, weights, minlength=n + 1).astype(np.float64, copy=False)

        self.area = total(np.ones(len(part)))
        pixels, length = np.maximum(self.area, 1), np.maximum(total(border), 1)
        fall = falls.ravel()[places] * border
        self.fall = total(fall) / length
        self.all_around = total(border & (fall >= 0.6 * self.fall[part])) / length
        self.mean = total(value) / pixels
        self.highest = np.zeros(n + 1)
        np.maximum.at(self.highest, part, value)
        self.one_grey = total(value >= self.highest[part] - 6) / pixels

    def chosen(self, is_chosen: npt.NDArray[np.bool_]) -> Mask:
        """(h, w) the pixels of the parts that are chosen."""
        is_chosen[0] = False
        found: Mask = is_chosen[self.labels]
        return found


def _bright(values: Grey, known: Mask) -> Mask:
    """Bright parts with a sharp border, and ``known``: marks that were found by other properties."""
    from scipy.ndimage import find_objects, label

    short = min(values.shape)
    falls = values - extremes(values, 3, np.minimum)
    steepest = float(np.interp(short, (256, 448), (_FALL_SMALL, _FALL_LARGE)))
    # No part can have the mean fall of a mark where no pixel has it: most images without marks end here.
    is_steep = (values >= _NEARLY_WHITE) & (falls >= steepest - _FALL_LESS) | (falls >= _FALL_ANY)
    found = known | _of_one_grey(values, falls)
    start = found | is_steep
    if not start.any():
        return found
    around = extremes(start.astype(np.uint8), round(_AROUND_STEEP * short) | 1, np.maximum)
    labels, _ = label(around)
    for number, part in enumerate(find_objects(labels), 1):
        own = labels[part] == number
        found[part] |= _sharp(values[part], falls[part], found[part] & own, own, steepest, short)
    return found


def _sharp(values: Grey, falls: Grey, known: Mask, own: Mask, steepest: float, short: int) -> Mask:
    """The marks in a piece of an image whose shorter side is ``short``, of which ``own`` is to be searched."""
    taken = opened(values, max(7, round(_THICKEST * short)) | 1)
    is_brighter = (values - taken >= _BRIGHTER) & own
    found, levels = known, []
    for level in _LEVELS:
        is_part = is_brighter & (values >= level)
        if not is_part.any():
            continue
        parts = _Parts(is_part, values, falls)
        levels.append(parts)
        is_sharp = (parts.fall >= steepest) & (parts.one_grey >= 0.15)
        is_sharp |= (parts.fall >= steepest - _FALL_LESS) & (parts.one_grey >= 0.35)
        is_mark = is_sharp & (parts.highest >= _NEARLY_WHITE) & (parts.all_around >= _ALL_AROUND)
        is_mark |= (parts.fall >= _FALL_ANY) & (parts.one_grey >= 0.5)
        found = found | parts.chosen(is_mark)
    return _beside(found, values, levels, short) if found.any() else found


def _of_one_grey(values: Grey, falls: Grey) -> Mask:
    """Parts of exactly one grey with a sharp border, of greys that stand out in the histogram of such pixels."""
    found = np.zeros(values.shape, bool)
    across, down = values[:, 1:] == values[:, :-1], values[1:] == values[:-1]
    same = np.zeros(values.shape, np.uint8)
    same[:, 1:] += across
    same[:, :-1] += across
    same[1:] += down
    same[:-1] += down
    histogram = np.bincount(values[(same >= 2) & (falls >= 30) & (values >= 100)], minlength=256)
    for grey in np.argsort(-histogram)[:4].tolist():
        usual = np.median(histogram[max(0, grey - 12) : grey + 13])
        if histogram[grey] < max(8, 4 * usual):
            continue
        parts = _Parts(values == grey, values, falls)
        least = _FALL_ONE_WHITE if grey >= 253 else _FALL_ONE_GREY
        is_mark = (parts.fall >= least) & (parts.area >= _MIN_PIXELS) & (parts.all_around >= _ALL_AROUND)
        found |= parts.chosen(is_mark)
    return found


def _beside(marks: Mask, values: Grey, levels: list[_Parts], short: int) -> Mask:
    """Parts beside ``marks`` that look like them: dots of a line, letters of a word."""
    greys = np.bincount(values[marks], minlength=256)
    common = np.flatnonzero(greys >= max(4, 0.1 * greys.sum()))
    found = marks
    for _ in range(_REACHES):
        near = extremes(found.astype(np.uint8), max(3, round(_NEAR * short)) | 1, np.maximum).astype(bool)
        for parts in levels:
            has_grey = (np.abs(parts.highest[:, None] - common) <= 3).any(axis=1)
            is_mark = has_grey & (parts.fall >= _FALL_SAME) & (parts.one_grey >= 0.5)
            is_mark |= (parts.fall >= _FALL_DOT) & (parts.area <= _DOT * (short / 256) ** 2)
            found = found | (parts.chosen(is_mark & (parts.all_around >= 0.6)) & near)
    return found


def _bars(values: Grey) -> Mask:
    """Upright bars whose rows have one grey each, getting darker or brighter along the bar."""
    from scipy.ndimage import find_objects, label

    found = np.zeros(values.shape, bool)
    short = min(values.shape)
    flat = values[:, 1:] - values[:, :-1]
    is_flat = ((flat + 1 <= 2) & (values[:, 1:] > 8)).astype(np.uint8)
    # Runs of flat pairs, as long as a bar is thick and long at least.
    length = round(_BAR_LONG * short)
    if (is_flat.sum(axis=0) < length).all():
        return found
    runs = is_flat[:, : is_flat.shape[1] - _BAR_THIN + 2]
    for shift in range(1, _BAR_THIN - 1):
        runs = runs & is_flat[:, shift : shift + runs.shape[1]]
    tall = runs
    reach = 1
    while reach < length:
        step = min(reach, length - reach)
        tall, reach = tall[:-step] & tall[step:], reach + step
    if not tall.any():
        return found
    labels, _ = label(tall, np.ones((3, 3)))
    for rows, columns in find_objects(labels):
        top, bottom = rows.start, rows.stop + length - 1
        left, right = columns.start, columns.stop + _BAR_THIN - 1
        if right - left > max(_BAR_THIN, _BAR_THICK * short):
            continue
        bar = values[top:bottom, left:right].astype(np.int16)
        middle = bar[:, bar.shape[1] // 2]
        steps = np.diff(middle)
        is_graded = np.ptp(middle) >= 60 and max((steps >= 0).mean(), (steps <= 0).mean()) >= 0.95
        sides = [values[top:bottom, side] for side in (left - 2, right + 1) if 0 <= side < values.shape[1]]
        if is_graded and all(np.abs(side - middle).mean() >= 15 for side in sides):
            # Its black end was not looked for.
            rest = _flat_rows(values[bottom : bottom + length, left:right])
            before = _flat_rows(values[max(0, top - length) : top, left:right][::-1])
            found[top - before : bottom + rest, left:right] = True
    return found


def _flat_rows(rows: Grey) -> int:
    """How many of ``rows``, from the first on, have one grey that is at most 8."""
    is_flat = (
        (np.ptp(rows, axis=1) <= 1) & (rows.max(axis=1, initial=0) <= 8) if rows.size else np.zeros(0, bool)
    )
    return len(rows) if is_flat.all() else int(np.argmin(is_flat))


def _grown(mask: Mask, by: int) -> Mask:
    return extremes(mask.astype(np.uint8), 2 * by + 1, np.maximum).astype(bool)


def _boxes(mask: Mask, gap: int) -> tuple[Region, ...]:
    """Boxes around the parts of ``mask``; parts within twice ``gap`` of each other are one."""
    from scipy.ndimage import find_objects, label

    labels, _ = label(_grown(mask, gap), np.ones((3, 3)))
    found = find_objects(np.where(mask, labels, 0))
    return tuple(Region(x.start, y.start, x.stop - x.start, y.stop - y.start) for y, x in found)


def _filled(pixels: npt.NDArray[Any], mask: Mask) -> npt.NDArray[Any]:
    """``pixels`` with those of ``mask`` continued from around it: biharmonic where it is thin (Damelin and Hoang, "On
    surface completion and image inpainting by biharmonic functions", IJMMS 2018), else mirrored."""
    from scipy.ndimage import find_objects, label
    from skimage.restoration import inpaint_biharmonic

    out = pixels.copy()
    kind = pixels.dtype
    low, high = (0, np.iinfo(kind).max) if kind.kind == "u" else (float(pixels.min()), float(pixels.max()))
    labels, _ = label(_grown(mask, _AROUND), np.ones((3, 3)))
    for rows, columns in find_objects(labels):
        part = rows, columns
        hidden = mask[part] & (labels[part] > 0)
        values = pixels[part].astype(np.float64)
        axis = 2 if values.ndim == 3 else None
        if hidden.sum() > _MOST_SOLVED or _is_thick(hidden):
            filled = _mirrored(pixels, mask, part)
        else:
            filled = inpaint_biharmonic(values, hidden, split_into_regions=True, channel_axis=axis)
        if kind.kind != "f":
            filled = np.rint(filled)
        out[part][hidden] = np.clip(filled, low, high).astype(kind)[hidden]
    return out


def _is_thick(hidden: Mask) -> bool:
    return bool(extremes(hidden.astype(np.uint8), 2 * _AROUND + 3, np.minimum).any())


def _mirrored(pixels: npt.NDArray[Any], mask: Mask, part: tuple[slice, slice]) -> Numbers:
    """The ``part`` of ``pixels`` with what ``mask`` hides mirrored at its border, which keeps the texture; with the
    nearest pixels where those are hidden too."""
    from scipy.ndimage import distance_transform_edt

    reach = min(side.stop - side.start for side in part)
    wide = tuple(slice(max(0, side.start - reach), side.stop + reach) for side in part)
    values, hidden = pixels[wide].astype(np.float64), mask[wide]
    if hidden.all():
        return np.zeros_like(pixels[part], dtype=np.float64)
    nearest = distance_transform_edt(hidden, return_distances=False, return_indices=True)
    rows, columns = 2 * nearest - np.indices(hidden.shape)
    usable = (rows >= 0) & (rows < hidden.shape[0]) & (columns >= 0) & (columns < hidden.shape[1])
    rows, columns = np.where(usable, rows, 0), np.where(usable, columns, 0)
    usable &= ~hidden[rows, columns]
    found = values[np.where(usable, rows, nearest[0]), np.where(usable, columns, nearest[1])]
    inner = tuple(
        slice(side.start - outer.start, side.stop - outer.start)
        for side, outer in zip(part, wide, strict=True)
    )
    own: Numbers = found[inner]
    return own
