"""The map of a library as an image, and its coordinates as a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr
from semblance.core.reports.axes import PAD, heading
from semblance.core.reports.csv_table import csv_text
from semblance.core.reports.document import FINDING_COLOURS
from semblance.core.reports.plot_canvas import TICK, Box, PlotLayout

#: Matplotlib's marks for the shapes of the findings in the window, in order.
_MARKS = ("o", "s", "^", "D", "P", "X", "v")
_UNKNOWN = "#6E6E76"
_KEY_WIDTH = 170


@dataclass(frozen=True, eq=False)
class MapDrawing:
    """``places`` (n, 2): coordinates; ``codes`` (n,): codes of the ``findings`` (-1: none given); ``note`` is
    drawn at the right of the ``title``; ``colours``: each finding's place in the palette, else its code."""

    places: npt.NDArray[np.float32]
    codes: npt.NDArray[np.int16]
    findings: tuple[str, ...]
    title: str
    note: str = ""
    colours: tuple[int, ...] = ()


def map_figure(drawing: MapDrawing, layout: PlotLayout) -> bytes:
    """Every case a mark in the colour and shape of its finding, with a key; both axes have the same scale.

    Raises:
        KeyError: an unknown theme or format.
        ValueError: a size beyond reason.
    """
    canvas = layout.canvas()
    top = heading(canvas, layout.title, layout.note)
    box = Box(PAD, top + PAD, canvas.width - _KEY_WIDTH - PAD, canvas.height - PAD)
    n = len(drawing.places)
    radius = 3.2 if n <= 2_000 else 2.2 if n <= 10_000 else 1.3
    if n:
        x, y = _fit_to_box(drawing.places, box)
        # In random order, so that no finding covers another because of its position in the library.
        order = np.random.default_rng(0).permutation(n)
        for part in np.array_split(order, max(1, min(20, n // 50))):
            for code in np.unique(drawing.codes[part]).tolist():
                chosen = part[drawing.codes[part] == code]
                canvas.points(x[chosen], y[chosen], *_colour_and_mark(drawing, code), radius)
    codes = [code for code in [*range(len(drawing.findings)), -1] if (drawing.codes == code).any()]
    row = canvas.px(TICK) + 9
    for place, code in enumerate(codes):
        middle = box.top + (place + 0.5) * row
        if middle + row > canvas.height:
            break
        left = box.right + 14
        canvas.points([left], [middle], *_colour_and_mark(drawing, code), 3.6)
        name = drawing.findings[code] if code >= 0 else tr("finding not given")
        count = int((drawing.codes == code).sum())
        canvas.write(
            left + 10,
            middle,
            canvas.elided(tr("{name}, {count:,}", name=name, count=count), _KEY_WIDTH - 30),
            canvas.colours.second,
        )
    return canvas.save(layout.format)


def map_csv(drawing: MapDrawing) -> str:
    """A line for every case: x, y and finding. Cases are not named, because ids may identify patients."""
    names = (*drawing.findings, "")
    rows = [
        (float(x), float(y), names[code])
        for (x, y), code in zip(drawing.places.tolist(), drawing.codes.tolist(), strict=True)
    ]
    return csv_text(("x", "y", "finding"), rows)


def _colour_and_mark(drawing: MapDrawing, code: int) -> tuple[str, str]:
    if code < 0:
        return _UNKNOWN, "o"
    # The eighth finding has the colour of the first one, so it needs another mark.
    colour = drawing.colours[code] if code < len(drawing.colours) else code
    return FINDING_COLOURS[colour % len(FINDING_COLOURS)], _MARKS[(code + code // len(_MARKS)) % len(_MARKS)]


def _fit_to_box(
    places: npt.NDArray[np.float32], box: Box
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    points = places.astype(np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    extent = np.maximum(high - low, 1e-12)
    unit = min((box.width - 12) / extent[0], (box.height - 12) / extent[1])
    middle = (low + high) / 2
    x = (points[:, 0] - middle[0]) * unit + (box.left + box.right) / 2
    y = (box.top + box.bottom) / 2 - (points[:, 1] - middle[1]) * unit
    return x, y
