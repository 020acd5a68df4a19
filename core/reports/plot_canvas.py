"""The canvas of a plot: lines, bands and measured text at exact pixels, drawn by Matplotlib without a screen."""

from __future__ import annotations

import bisect
import contextlib
import io
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from semblance.core.language import translate, visible

if TYPE_CHECKING:
    from matplotlib.font_manager import FontProperties

ThemeName = Literal["dark", "light", "print"]
Format = Literal["png", "svg", "pdf"]
Values = npt.NDArray[np.float64]

TICK, TEXT = 10, 11
#: Smaller plots are drawn at this size (times the text scale), to be scaled down when shown.
MIN_SIZE = (240, 120)
MAX_SIDE = 16_384
_MAX_CHARACTERS = 500
#: With more marks a vector file would be too large to open, so they are rasterised.
_RASTERISED = 5_000
_FALLBACK = "DejaVu Sans"
#: For names in other scripts, as far as they are installed.
_OTHER_SCRIPTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "PingFang SC",
    "Hiragino Sans",
    "Arial Unicode MS",
)
_SALT = "semblance"
#: None leaves an entry out: a file contains neither its date nor the program.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    "pdf": dict.fromkeys(("Creator", "Producer", "CreationDate")),
}


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
    each; ``named``: with a key to the
    names; ``family``: the font, Matplotlib's own where it is not found; ``title`` and ``note`` (on what it
    was measured) stand above.
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

    def canvas(self, needed_height: float = 0.0) -> PlotCanvas:
        """An empty canvas; errors as of :class:`PlotCanvas`."""
        size = (self.size[0], self.size[1] or round(needed_height))
        return PlotCanvas(self.theme, size, self.ratio, self.text_scale, self.family)


@dataclass(frozen=True)
class TextRun:
    """A text in one colour and weight."""

    text: str
    colour: str
    weight: int = 400


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels from the top left."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Pixels from left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Pixels from top to bottom."""
        return self.bottom - self.top

    def overlaps(self, other: Box) -> bool:
        """Whether both boxes share a pixel."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


class PlotCanvas:
    """Draws at pixels from the top left; text sizes grow by ``text_scale``.

    ``size`` is in logical pixels, of which each takes ``ratio`` in a PNG. ``family`` is the font; if it is not found,
    Matplotlib's own is used.

    Raises:
        KeyError: an unknown theme.
        ValueError: a size or ratio beyond reason.
    """

    def __init__(
        self,
        theme: ThemeName,
        size: tuple[int, int],
        ratio: float = 1.0,
        text_scale: float = 1.0,
        family: str = "",
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        self.colours = PALETTES[theme]
        self.width, self.height = (
            max(round(minimum * text_scale), requested)
            for minimum, requested in zip(MIN_SIZE, size, strict=True)
        )
        if not 0.25 <= ratio <= 8 or max(self.width, self.height) * ratio > MAX_SIDE:
            raise ValueError(f"a layout of {size} at ratio {ratio}")
        self._ratio, self._scale = ratio, text_scale
        self._family = family if family in _weights() else _FALLBACK
        # At 72 dots per inch a point of text is a pixel.
        self._figure = Figure(
            (self.width / 72, self.height / 72), dpi=72 * ratio, facecolor=self.colours.panel
        )
        canvas: Any = FigureCanvasAgg(self._figure)
        self._renderer = canvas.get_renderer()
        self._transform = (
            Affine2D().translate(0, -self.height).scale(1 / 72, -1 / 72) + self._figure.dpi_scale_trans
        )
        self._order = 0

    def px(self, size: float) -> float:
        """A length that grows with the text."""
        return size * self._scale

    def line(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        colour: str,
        width: float = 1.0,
        dashes: tuple[float, ...] = (),
    ) -> None:
        """A line through the points; NaN interrupts it."""
        from matplotlib.lines import Line2D

        style: Any = (0, dashes) if dashes else "-"
        artist = Line2D(
            np.asarray(x),
            np.asarray(y),
            color=colour,
            linewidth=width,
            linestyle=style,
            transform=self._transform,
        )
        artist.set_solid_joinstyle("round")
        artist.set_dash_capstyle("butt")
        self._figure.add_artist(self._on_top(artist))

    def band(self, x: Values, low: Values, high: Values, colour: str, alpha: float) -> None:
        """The surface between two lines, left out where either is NaN."""
        from matplotlib.patches import Polygon

        for part in _runs(~np.isnan(low) & ~np.isnan(high)):
            corners = np.concatenate(
                [
                    np.column_stack([x[part], low[part]]),
                    np.column_stack([x[part], high[part]])[::-1],
                ]
            )
            patch = Polygon(corners, closed=True, facecolor=colour, edgecolor="none", alpha=alpha)
            patch.set_transform(self._transform)
            self._figure.add_artist(self._on_top(patch))

    def dot(self, x: float, y: float, colour: str, radius: float = 3.5) -> None:
        """A point with a rim in the background's colour."""
        from matplotlib.lines import Line2D

        artist = Line2D([x], [y], marker="o", markersize=2 * radius, color=colour, transform=self._transform)
        artist.set_markeredgecolor(self.colours.panel)
        artist.set_markeredgewidth(1.5)
        self._figure.add_artist(self._on_top(artist))

    def points(self, x: npt.ArrayLike, y: npt.ArrayLike, colour: str, marker: str, radius: float) -> None:
        """Many marks of one shape (one of Matplotlib's); above 5,000 they are an image within the plot."""
        from matplotlib.lines import Line2D

        artist = Line2D(np.asarray(x), np.asarray(y), linestyle="none", transform=self._transform)
        artist.set_marker(marker)
        artist.set_markersize(2 * radius)
        artist.set_color(colour)
        artist.set_markeredgecolor(self.colours.panel)
        artist.set_markeredgewidth(min(0.4, radius / 6))
        artist.set_rasterized(np.size(x) > _RASTERISED)
        self._figure.add_artist(self._on_top(artist))

    def fade(self, box: Box, alpha: float = 0.75) -> None:
        """Fade the drawing under ``box``, so that text on it is readable."""
        from matplotlib.patches import Rectangle

        patch = Rectangle(
            (box.left, box.top), box.width, box.height, facecolor=self.colours.panel, edgecolor="none"
        )
        patch.set_alpha(alpha)
        patch.set_transform(self._transform)
        self._figure.add_artist(self._on_top(patch))

    def text_width(self, text: str, size: float = TICK, weight: int = 400) -> float:
        """Pixels that ``text`` takes on one line; ``size`` in pixels."""
        font = self._font(size, weight)
        with _without_glyph_warnings():
            extent = self._renderer.get_text_width_height_descent(_one_line(text), font, False)
        return float(extent[0]) / self._ratio

    def text_runs_width(self, runs: Sequence[TextRun], size: float = TICK) -> float:
        """Pixels that ``runs`` take side by side."""
        return sum(self.text_width(run.text, size, run.weight) for run in runs)

    def elided(self, text: str, max_width: float, size: float = TICK, weight: int = 400) -> str:
        """The text, shortened in its middle to ``max_width`` pixels; empty where not even that fits.

        Names of metrics often have the same beginning, their features, and differ in their ends.
        """
        text = translate(text)[:_MAX_CHARACTERS]
        if self.text_width(text, size, weight) <= max_width:
            return text

        def shortened(length: int) -> str:
            return text[: length // 2].rstrip() + "…" + text[len(text) - (length + 1) // 2 :].lstrip()

        fits = bisect.bisect_right(
            range(1, len(text)),
            max_width,
            key=lambda length: self.text_width(shortened(length), size, weight),
        )
        return shortened(fits) if fits else ""

    def write(
        self,
        x: float,
        middle: float,
        text: str,
        colour: str,
        *,
        size: float = TICK,
        weight: int = 400,
        align: Literal["left", "center", "right"] = "left",
        upright: bool = False,
        halo: bool = False,
    ) -> None:
        """One line of text, the height of its capitals centred on ``middle``; ``upright`` reads upwards."""
        from matplotlib.patheffects import withStroke
        from matplotlib.text import Text

        # Capitals are about 0.72 of a sans's size; centring on them keeps lines level whatever the letters.
        drop = 0.36 * self.px(size)
        artist = Text(
            x + drop if upright else x,
            middle if upright else middle + drop,
            _one_line(text),
            color=colour,
            fontproperties=self._font(size, weight),
            horizontalalignment="center" if upright else align,
            verticalalignment="baseline",
            rotation=90 if upright else 0,
            parse_math=False,
        )
        if upright:
            artist.set_rotation_mode("anchor")
        artist.set_transform(self._transform)
        if halo:
            artist.set_path_effects([withStroke(linewidth=2, foreground=self.colours.panel)])
        self._figure.add_artist(self._on_top(artist))

    def draw_text_runs(
        self, x: float, middle: float, runs: Sequence[TextRun], *, size: float = TICK, halo: bool = False
    ) -> None:
        """Draw ``runs`` one after the other."""
        for run in runs:
            self.write(x, middle, run.text, run.colour, size=size, weight=run.weight, halo=halo)
            x += self.text_width(run.text, size, run.weight)

    def save(self, format: Format) -> bytes:
        """The plot as a file; equal plots give equal bytes."""
        import matplotlib

        buffer = io.BytesIO()
        settings: dict[Any, Any] = {"svg.hashsalt": _SALT, "pdf.fonttype": 42, "svg.fonttype": "path"}
        with matplotlib.rc_context(settings), _without_glyph_warnings():
            self._figure.savefig(
                buffer,
                format=format,
                dpi=72 * self._ratio if format == "png" else 72,
                facecolor=self.colours.panel,
                metadata=_METADATA[format],
            )
        return buffer.getvalue()

    def _font(self, size: float, weight: int) -> FontProperties:
        nearest_weight = min(_weights()[self._family], key=lambda one: (abs(one - weight), -one))
        return _font(self._family, round(self.px(size), 2), nearest_weight)

    def _on_top(self, artist: Any) -> Any:
        self._order += 1
        artist.set_zorder(self._order)
        return artist


def _runs(nearest_weight: npt.NDArray[np.bool_]) -> list[slice]:
    """Slices of neighbouring ``True``, at least two long."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], nearest_weight, [False]])))
    pairs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return [slice(start, end) for start, end in pairs if end - start > 1]


@cache
def _weights() -> dict[str, set[int]]:
    """The available weights of every font family; Matplotlib logs a warning for any other."""
    from matplotlib.font_manager import fontManager, weight_dict

    found: dict[str, set[int]] = {}
    for font in fontManager.ttflist:
        weight = font.weight
        found.setdefault(font.name, set()).add(weight if isinstance(weight, int) else weight_dict[weight])
    return found


@cache
def _font(family: str, size: float, weight: int) -> FontProperties:
    from matplotlib.font_manager import FontProperties

    others = [name for name in _OTHER_SCRIPTS if weight in _weights().get(name, ())]
    return FontProperties(family=list(dict.fromkeys([family, _FALLBACK, *others])), size=size, weight=weight)


def _one_line(text: str) -> str:
    """``text`` in the user's language, with what breaks a line spelled out."""
    return visible(translate(text)[:_MAX_CHARACTERS])


@contextlib.contextmanager
def _without_glyph_warnings() -> Iterator[None]:
    """Suppress warnings about characters that no font has, which are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s)Glyph .* missing", UserWarning)
        yield
