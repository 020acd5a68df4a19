"""Find text that was drawn into an image, by the shape and order of its characters and without reading it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.morphology import Grey, block_means, opened

#: A larger image is reduced until its longest side has at most this many pixels.
LONGEST = 768
#: Characters of a line of text at least. Fewer would find callipers and calcifications too.
MIN_CHARACTERS = 4
#: Strokes are thinner than this many pixels and differ by this much from what is around them, of 255.
STROKE, CONTRAST = 7, 50
#: Maximum number of parts examined, those with the strongest contrast first, because noise has thousands.
_MOST_PARTS, _MOST_LABELLED = 500, 20_000
#: Lowest height of a character, and the highest as a share of the longest side.
_LOWEST, _HIGHEST = 5, 0.1
#: Of two neighbours: gap and difference of the lower edges in heights, ratio of the heights, difference of greys.
_GAP, _OVERLAP, _BASELINE, _HEIGHTS, _GREYS = 0.9, 0.2, 0.12, 1.35, 30


@dataclass(frozen=True)
class TextLine:
    """A line of text of about ``characters`` in a rectangle of the image, in pixels."""

    x: int
    y: int
    width: int
    height: int
    characters: int


def drawn_text(grey: npt.NDArray[np.float32]) -> list[TextLine]:
    """The lines of text in ``grey`` (h, w) of 0 to 1, brighter or darker than what is around it.

    Characters are thin strokes of one grey that stand side by side on one line with about one height. Found are
    lines of :data:`MIN_CHARACTERS` or more whose characters do not touch; a single letter is not.
    """
    factor = -(-max(grey.shape) // LONGEST)
    values = np.asarray(np.rint(255 * np.clip(block_means(grey, factor), 0, 1)), dtype=np.uint8)
    lines = sorted([*_bright_lines(values), *_bright_lines(255 - values)], key=lambda line: -line[4])
    out: list[tuple[int, int, int, int, int]] = []
    for line in lines:
        # The gaps between the strokes of dark letters look like bright letters.
        if not any(_overlap(line, other) for other in out):
            out.append(line)
    return [
        TextLine(factor * left, factor * top, factor * (right - left), factor * (bottom - top), characters)
        for top, bottom, left, right, characters in out
    ]


def _overlap(one: tuple[int, int, int, int, int], other: tuple[int, int, int, int, int]) -> bool:
    return min(one[1], other[1]) > max(one[0], other[0]) and min(one[3], other[3]) > max(one[2], other[2])


def _bright_lines(values: Grey) -> list[tuple[int, int, int, int, int]]:
    """(top, bottom, left, right, characters) of the lines of text brighter than what is around them."""
    from scipy.ndimage import find_objects, label
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    strokes = values - opened(values, STROKE)
    is_stroke = strokes > CONTRAST
    labels, n = label(is_stroke, np.ones((3, 3)))
    if not MIN_CHARACTERS <= n <= _MOST_LABELLED:
        return []
    boxes = np.array([(y.start, y.stop, x.start, x.stop) for y, x in find_objects(labels)])
    part_of = labels[is_stroke]
    areas = np.bincount(part_of, minlength=n + 1)[1:]
    heights, widths = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]
    is_character = (
        (heights >= _LOWEST)
        & (heights <= max(10, _HIGHEST * max(values.shape)))
        & (widths <= 2.2 * heights)
        & (areas >= 0.15 * heights * widths)
    )
    numbers = np.flatnonzero(is_character) + 1
    if len(numbers) < MIN_CHARACTERS:
        return []
    # Of the strokes alone: scipy's maximum would sort the whole image.
    contrasts, highest = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    np.maximum.at(contrasts, part_of, strokes[is_stroke])
    np.maximum.at(highest, part_of, values[is_stroke])
    numbers = numbers[np.argsort(-contrasts[numbers], kind="stable")[:_MOST_PARTS]]
    greys = highest[numbers]
    top, bottom, left, right = boxes[numbers - 1].T
    height = heights[numbers - 1]
    lower, higher = (pick(height[:, None], height) for pick in (np.minimum, np.maximum))
    gap = left[None, :] - right[:, None]
    follows = (
        (gap >= -_OVERLAP * lower)
        & (gap <= _GAP * higher)
        & (higher <= _HEIGHTS * lower)
        & (np.abs(bottom[:, None] - bottom) <= np.maximum(1.0, _BASELINE * higher))
        & (np.abs(greys[:, None] - greys) <= _GREYS)
    )
    _, line_of = connected_components(csr_array(follows), directed=False)
    out = []
    for line in np.flatnonzero(np.bincount(line_of) >= MIN_CHARACTERS):
        parts = np.flatnonzero(line_of == line)
        out.append(
            (
                int(top[parts].min()),
                int(bottom[parts].max()),
                int(left[parts].min()),
                int(right[parts].max()),
                len(parts),
            )
        )
    return out
