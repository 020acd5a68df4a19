"""A plot: Matplotlib's axes in the one style of the program, for the dark and light window and for print."""

from __future__ import annotations

import bisect
import contextlib
import io
import logging
import math
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from semblance.core.language import localise_number, tr, translate, visible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.text import Annotation

ThemeName = Literal["dark", "light", "print"]
Format = Literal["png", "svg", "pdf"]
Values = npt.NDArray[np.float64]

#: Sizes of text, of ticks and labels and of everything else, and the margin of a plot, in pixels.
TICK, TEXT, PAD = 10, 11, 12
#: Smaller plots are drawn at this size (times the text scale), to be scaled down when shown.
MIN_SIZE = (240, 120)
MAX_SIDE = 16_384
#: From this width at text scale 1 on, the key is beside the plot and has numbers.
WIDE = 640
#: Dashes of the lines that are not current: plain, dashed, dotted, dash-dot, long.
DASHES: tuple[tuple[float, ...], ...] = ((), (4, 2.5), (1.2, 2), (6, 2, 1.2, 2), (9, 3), (3, 1.5, 1.2, 1.5))
_MAX_CHARACTERS = 500
_TICK_STEPS = (0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
_COUNT_STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000)
#: After the font of the window: Matplotlib's own, and those for names in other scripts.
_OTHER_FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "PingFang SC",
    "Hiragino Sans",
    "Arial Unicode MS",
)
#: None leaves an entry out: a file contains neither its date nor the program.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    "pdf": dict.fromkeys(("Creator", "Producer", "CreationDate")),
}
#: Matplotlib's settings are of the process, so one plot is drawn after the other.
_ONE_AT_A_TIME = threading.RLock()


def without_common_words(names: Sequence[str]) -> list[str]:
    """The names without the words that all of them begin with, such as the features of metrics."""
    words = [name.split(" ") for name in names]
    shared = 0
    while len(words) > 1 and all(len(one) > shared + 1 and one[shared] == words[0][shared] for one in words):
        shared += 1
    ends = [" ".join(one[shared:]) for one in words]
    return [end.removeprefix("+ ") for end in ends]


@dataclass(frozen=True)
class Palette:
    """Colours (``#RRGGBB``) of a plot."""

    panel: str
    text: str
    second: str
    third: str
    faint: str
    line: str
    strong_line: str
    accent: str


PALETTES: dict[str, Palette] = {
    "dark": Palette("#1A1A1C", "#ECECEE", "#ADADB4", "#94949C", "#5C5C63", "#2A2A2E", "#3D3D43", "#9A92FF"),
    "light": Palette("#FBFBFC", "#17171A", "#4E4E56", "#6B6B74", "#A9A9B0", "#E3E3E7", "#CBCBD1", "#5549D6"),
    "print": Palette("#FFFFFF", "#000000", "#3A3A40", "#5E5E66", "#A9A9B0", "#E3E3E7", "#A0A0A8", "#5549D6"),
}


@dataclass(frozen=True)
class PlotLayout:
    """Theme, size and texts of a plot.

    ``size`` (width, height) in logical pixels (a height of 0: as high as the figure needs), ``ratio`` pixels of a PNG
    each; ``named``: with a key to the names; ``family``: the font, Matplotlib's own where it is not found; ``title``
    and ``note`` (on what it was measured) stand above. ``whole_axis``: accuracy from 0 to 1, else as far as its curves
    go.
    """

    theme: ThemeName = "dark"
    size: tuple[int, int] = (480, 200)
    ratio: float = 1.0
    format: Format = "png"
    named: bool = True
    text_scale: float = 1.0
    family: str = ""
    title: str = ""
    note: str = ""
    whole_axis: bool = False


def _style(layout: PlotLayout) -> Any:
    """The style sheet: grid lines and a base line without a box, quiet texts, equal bytes for equal plots."""
    from matplotlib.font_manager import fontManager

    colours, tick, text = PALETTES[layout.theme], TICK * layout.text_scale, TEXT * layout.text_scale
    available = set(fontManager.get_font_names())
    return {
        "figure.facecolor": colours.panel,
        "savefig.facecolor": colours.panel,
        "font.family": [name for name in (layout.family, *_OTHER_FONTS) if name in available],
        "font.size": tick,
        "text.color": colours.third,
        "text.parse_math": False,
        "axes.facecolor": "none",
        "axes.edgecolor": colours.strong_line,
        "axes.linewidth": 1,
        "axes.labelcolor": colours.third,
        "axes.labelpad": 4,
        "axes.labelsize": tick,
        "axes.spines.left": False,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "grid.color": colours.line,
        "grid.linewidth": 1,
        **{
            f"{axis}tick.{key}": value
            for axis in "xy"
            for key, value in (
                ("color", colours.third),
                ("labelsize", tick),
                ("major.size", 0),
                ("minor.size", 0),
                ("major.pad", 6),
            )
        },
        "lines.solid_joinstyle": "round",
        "lines.solid_capstyle": "butt",
        "lines.dash_capstyle": "butt",
        "legend.frameon": False,
        "legend.facecolor": colours.panel,
        "legend.edgecolor": "none",
        "legend.framealpha": 0.75,
        "legend.labelcolor": colours.second,
        "legend.fontsize": text,
        "legend.title_fontsize": tick,
        "legend.borderpad": 0,
        "legend.borderaxespad": 0,
        "legend.handlelength": 16 / text,
        "legend.handletextpad": 6 / text,
        "legend.columnspacing": 14 / text,
        "legend.labelspacing": 0.55,
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "semblance",
    }


@contextlib.contextmanager
def open_plot(
    layout: PlotLayout,
    *,
    needed_height: float = 0.0,
    heights: Sequence[float] = (1,),
    figure_class: type[Figure] | None = None,
) -> Iterator[Plot]:
    """A plot to draw and :meth:`Plot.save` inside the ``with``; ``heights``: shares of its axes, one above the other;
    ``figure_class``: of its figure, Matplotlib's own by default.

    Raises:
        KeyError: an unknown theme.
        ValueError: a size or ratio beyond reason.
    """
    import matplotlib

    # It warns of each weight that a font lacks. Characters that no font has are drawn as boxes.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    with _ONE_AT_A_TIME, matplotlib.rc_context(_style(layout)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s)Glyph .* missing", UserWarning)
        yield Plot(layout, needed_height, heights, figure_class)


class Plot:
    """``axes`` in a figure with its title and note. One point of Matplotlib is a logical pixel.

    ``width`` and ``height`` in logical pixels; ``top``: of the room under the title.
    """

    def __init__(
        self,
        layout: PlotLayout,
        needed_height: float,
        heights: Sequence[float],
        figure_class: type[Figure] | None = None,
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as PlainFigure

        self.layout, self.colours = layout, PALETTES[layout.theme]
        requested = (layout.size[0], layout.size[1] or round(needed_height))
        self.width, self.height = (
            max(round(minimum * layout.text_scale), side)
            for minimum, side in zip(MIN_SIZE, requested, strict=True)
        )
        if not 0.25 <= layout.ratio <= 8 or max(self.width, self.height) * layout.ratio > MAX_SIDE:
            raise ValueError(f"a layout of {requested} at ratio {layout.ratio}")
        size = (self.width / 72, self.height / 72)
        self.figure = (figure_class or PlainFigure)(size, dpi=72 * layout.ratio)
        canvas: Any = FigureCanvasAgg(self.figure)
        self._renderer = canvas.get_renderer()
        rows = self.figure.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights)
        self.axes: list[Axes] = list(rows[:, 0])
        self.is_wide = self.width >= self.px(WIDE)
        self.top = self._write_heading()

    def px(self, size: float) -> float:
        """A length that grows with the text."""
        return size * self.layout.text_scale

    def text_width(self, text: str, size: float = TEXT, weight: str = "normal") -> float:
        """Pixels that ``text`` takes on one line; ``size`` in pixels."""
        from matplotlib.font_manager import FontProperties

        font = FontProperties(size=self.px(size), weight=weight)
        extent = self._renderer.get_text_width_height_descent(one_line(text), font, False)
        return float(extent[0]) / self.layout.ratio

    def elided(self, text: str, max_width: float, size: float = TEXT, weight: str = "normal") -> str:
        """The text, shortened in its middle to ``max_width`` pixels; empty where not even that fits.

        Names of metrics often have the same beginning, their features, and differ in their ends.
        """
        text = one_line(text)
        if self.text_width(text, size, weight) <= max_width:
            return text

        def shortened(length: int) -> str:
            return text[: length // 2].rstrip() + "…" + text[len(text) - (length + 1) // 2 :].lstrip()

        fits = bisect.bisect_right(
            range(1, len(text)), max_width, key=lambda n: self.text_width(shortened(n), size, weight)
        )
        return shortened(fits) if fits else ""

    def line(self, *, current: bool, number: int, stale: bool = False) -> dict[str, Any]:
        """The look of a line: the accent for the current one, grey with different dashes for the others."""
        if current:
            return {"color": self.colours.accent, "linewidth": 1.8, "zorder": 3, "clip_on": False}
        dashes = DASHES[number % len(DASHES)]
        colour, width = (self.colours.faint, 1.2) if stale else (self.colours.third, 1.3)
        return {"color": colour, "linewidth": width, "linestyle": (0, dashes or None), "clip_on": False}

    @property
    def reference_line(self) -> dict[str, Any]:
        """The look of what can be reached, what chance gives and what is perfect."""
        return {"color": self.colours.third, "linewidth": 1, "linestyle": (0, (2, 3)), "clip_on": False}

    def note(
        self, axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], **look: Any
    ) -> Annotation:
        """``text`` at ``offset`` pixels from the point ``at`` of the data, away from it, readable over lines."""
        from matplotlib.patheffects import withStroke

        place = {
            "ha": "left" if offset[0] > 0 else "right" if offset[0] < 0 else "center",
            "va": "bottom" if offset[1] > 0 else "top" if offset[1] < 0 else "center_baseline",
            "annotation_clip": False,
            "path_effects": [withStroke(linewidth=2, foreground=self.colours.panel)],
        }
        return axes.annotate(one_line(text), at, offset, textcoords="offset points", **{**place, **look})

    def key(
        self,
        lines: Sequence[Artist],
        names: Sequence[str],
        values: Sequence[str] = (),
        *,
        header: str = "",
        inside: bool = False,
        beside: bool | None = None,
        gap: float = 28,
    ) -> None:
        """The key to the ``lines``: beside the first axes with the ``values``, else above with the names that fit.

        ``inside``: in the corner below right, with the values. ``beside``: by default that of a wide plot. ``gap``:
        pixels between the axes and the key.
        """
        if not lines:
            return
        if inside:
            self.fit()
            axes = self.axes[0].bbox
            width, height = 0.88 * axes.width / self.layout.ratio, 0.6 * axes.height / self.layout.ratio
            self._column(lines, names, values, width, height, loc="lower right", frameon=True)
        elif self.is_wide if beside is None else beside:
            from matplotlib.transforms import offset_copy

            right = offset_copy(self.axes[0].transAxes, self.figure, gap, 2, units="points")
            width, height = 0.4 * self.width, self.height - self.top - self.px(TICK if header else 0) - 16
            place = {"loc": "upper left", "bbox_to_anchor": (1, 1), "bbox_transform": right}
            self._column(lines, names, values, width, height, title=one_line(header) or None, **place)
        else:
            self._row(lines, names)

    def _column(
        self,
        lines: Sequence[Artist],
        names: Sequence[str],
        values: Sequence[str],
        width: float,
        height: float,
        **place: Any,
    ) -> None:
        """One line for each name and value that ``height`` holds; names are shortened to ``width`` together."""
        row = 1.75 * self.px(TEXT)
        n = len(lines) if len(lines) * row <= height else max(1, int(height // row) - 1)
        room = width - 22 - max((self.text_width(value) + 12 for value in values), default=0.0)
        rest = [f"+{len(lines) - n}"] if n < len(lines) else []
        if rest and self.text_width(more := tr("+{n} more", n=len(lines) - n)) <= room:
            rest = [more]
        texts = [*self._key_names(names, room, TEXT)[:n], *rest]
        first = len(texts)
        if values:
            texts += [*values[:n], *([""] if rest else [])]
        legend = self._legend(
            self.axes[0],
            lines[:n],
            texts,
            ncols=2 if values else 1,
            columnspacing=-10 / self.px(TEXT),
            alignment="left",
            **place,
        )
        for text in legend.get_texts()[first:]:
            text.set_color(self.colours.text)

    def _key_names(self, names: Sequence[str], room: float, size: float) -> list[str]:
        """The names without the words that all begin with if some do not fit ``room``, then shortened to it."""
        if any(self.text_width(name, size) > room for name in names):
            names = without_common_words(names)
        return [self.elided(name, room, size) for name in names]

    def _row(self, lines: Sequence[Artist], names: Sequence[str]) -> None:
        """One row of names or, in a high plot, two; those that do not fit are counted."""
        rows = 1 if self.height < 220 else 2
        room = self.width - 3 * PAD
        longest = min(self.px(150), room - 36 - (36 + self.px(25) if len(names) > 1 else 0))
        texts = self._key_names(names, longest, TICK)

        def first(n: int) -> list[str]:
            return [*texts[:n], *([f"+{len(texts) - n}"] if n < len(texts) else [])]

        def fits(n: int) -> bool:
            widths = [36 + self.text_width(text, TICK) for text in first(n)]
            return sum(max(widths[at : at + rows]) for at in range(0, len(widths), rows)) <= room

        n = max((n for n in range(1, len(texts) + 1) if fits(n)), default=1)
        legend = self._legend(
            self.figure,
            lines[:n],
            first(n),
            ncols=math.ceil(len(first(n)) / rows),
            fontsize=self.px(TICK),
            loc="upper left",
            bbox_to_anchor=(2 * PAD / self.width, 1 - (self.top + 4) / self.height),
        )
        self.top += legend.get_window_extent(self._renderer).height / self.layout.ratio + 6

    def _legend(
        self, owner: Axes | Figure, lines: Sequence[Artist], texts: Sequence[str], **place: Any
    ) -> Legend:
        """A legend of ``texts``, of which the first have ``lines``."""
        from matplotlib.lines import Line2D

        nothing = Line2D([], [], linestyle="none")
        handles = [*lines, *(nothing for _ in texts[len(lines) :])]
        legend = owner.legend(handles, [" "] * len(texts), **place)
        legend.get_title().set_color(self.colours.third)
        # Written afterwards, because Matplotlib leaves out labels that begin with "_".
        for text, written in zip(legend.get_texts(), texts, strict=True):
            text.set_text(written)
        return legend

    def fit(self, *, widest: float = math.inf) -> None:
        """Give the axes what ticks, labels and key leave, at most ``widest`` times as wide as high: flat curves are
        hard to read."""
        from matplotlib.text import Text
        from matplotlib.transforms import Bbox

        inner = Bbox.union([axes.bbox for axes in self.axes])
        tight: list[Any] = [axes.get_tightbbox(self._renderer, for_layout_only=True) for axes in self.axes]
        outer = Bbox.union(tight)
        ratio = self.layout.ratio
        left = PAD + (inner.x0 - outer.x0) / ratio
        bottom = 8 + (inner.y0 - outer.y0) / ratio
        top = max(bottom + 10, self.height - self.top - max(8.0, (outer.y1 - inner.y1) / ratio))
        right = max(left + 10, self.width - PAD - (outer.x1 - inner.x1) / ratio)
        right = min(right, left + max(widest * (top - bottom), 220))
        self.figure.subplots_adjust(
            left / self.width,
            bottom / self.height,
            right / self.width,
            top / self.height,
            hspace=len(self.axes) * 12 / (top - bottom - 12) if len(self.axes) > 1 else 0,
        )
        for axes in self.axes:
            # A label longer than its axis is kept inside the figure, under the title.
            for label, side, move in ((axes.xaxis.label, 0, Text.set_x), (axes.yaxis.label, 1, Text.set_y)):
                half = label.get_window_extent(self._renderer).size[side] / 2 + 2
                start, length = axes.bbox.min[side], axes.bbox.size[side]
                end = self.figure.bbox.size[side] - side * self.top * ratio
                move(label, (max(min(start + length / 2, end - half), half) - start) / length)

    def set_counts(self, axes: Axes, first: int, last: int) -> None:
        """Ticks at round whole numbers on the x axis, as many as the fitted ``axes`` hold."""
        width = axes.bbox.width / self.layout.ratio / self.layout.text_scale
        ticks = count_ticks(first, last, width)
        axes.set_xticks(ticks, [tick_text(value) for value in ticks])

    def save(self) -> bytes:
        """The plot as a file; equal plots give equal bytes.

        Raises:
            KeyError: an unknown format.
        """
        buffer = io.BytesIO()
        format = self.layout.format
        self.figure.savefig(
            buffer,
            format=format,
            dpi=72 * self.layout.ratio if format == "png" else 72,
            metadata=_METADATA[format],
        )
        return buffer.getvalue()

    def _write_heading(self) -> float:
        """A bold title, and a grey note at the right; returns their height."""
        layout = self.layout
        if not layout.title and not layout.note:
            return 0.0
        room = self.width - 2.0 * PAD
        base = 1 - (7 + self.px(TEXT)) / self.height
        title = self.elided(layout.title, room, TEXT, "bold")
        text = self.figure.text(PAD / self.width, base, title, fontsize=self.px(TEXT), weight="bold")
        text.set_color(self.colours.text)
        room -= self.text_width(title, TEXT, "bold") + 16 if title else 0
        self.figure.text(1 - PAD / self.width, base, self.elided(layout.note, room, TICK), ha="right")
        return 16 + self.px(TEXT)


def value_ticks(low: float, high: float, height: float) -> tuple[list[float], float, float]:
    """Round ticks around the shares ``low`` .. ``high``, as many as ``height`` px hold; first and last of
    the axis."""
    count_limit = max(2, int(height // 26))
    for step in _TICK_STEPS:
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= count_limit:
            break
    if first == last:
        first, last = first - 1, last + 1
    ticks = [round(place * step, 10) for place in range(first, last + 1)]
    return ticks, ticks[0], ticks[-1]


def count_ticks(first: int, last: int, width: float) -> list[int]:
    """Round whole numbers from ``first`` to ``last``, ``first`` itself included, as many as fit."""
    steps = [step for step in _COUNT_STEPS if step != 2] if last > 10 and first else _COUNT_STEPS
    step = next((s for s in steps if (last - first) / s <= min(10, max(1, width // 36))), steps[-1])
    if first and last > 10:
        step = max(step, 5)
    ticks = [value for value in range(0, last + 1, step) if value > first]
    if ticks and ticks[0] - first < 0.6 * step:
        ticks = ticks[1:]
    return [first, *ticks]


def tick_text(value: float) -> str:
    """``0.85``, ``0.9``, ``1``."""
    return localise_number(f"{value:.2f}".rstrip("0").rstrip(".") or "0")


def frame(
    axes: Axes, x: Sequence[float], y: Sequence[float], x_label: str, y_label: str, **limits: Sequence[float]
) -> None:
    """Ticks and labels of ``axes``; ``limits`` (``xlim``, ``ylim``): by default the first and the last tick."""
    axes.set_xticks(x, [tick_text(value) for value in x])
    axes.set_yticks(y, [tick_text(value) for value in y])
    axes.set(**{"xlim": (x[0], x[-1]), "ylim": (y[0], y[-1]), **limits}, xlabel=x_label, ylabel=y_label)


def one_line(text: str) -> str:
    """``text`` in the user's language, with what breaks a line spelled out."""
    return visible(translate(text)[:_MAX_CHARACTERS])
