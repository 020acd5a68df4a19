"""The parts of a PDF report (chips, thumbnails, bars) as ReportLab flowables."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from reportlab.lib.colors import HexColor
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import ImageReader
from reportlab.platypus import Flowable, Paragraph

from semblance.core.language import as_lazy, has_right_to_left, tr, translate
from semblance.core.reports.document import FindingMark, ReportedCase, waterfall
from semblance.core.reports.formatting import distance_text, signed_text
from semblance.core.reports.pdf_text import BOLD, REGULAR, font_runs, markup, width_of

TEXT, SECOND, THIRD = HexColor("#17171A"), HexColor("#4E4E56"), HexColor("#6B6B74")
LINE, STRONG, TRACK, FILL = HexColor("#E3E3E7"), HexColor("#B4B4BC"), HexColor("#E1E1E6"), HexColor("#73737B")
IMAGE_BACKGROUND, IMAGE_TEXT = HexColor("#141415"), HexColor("#94949C")
CHIP = 9.5
#: Longer texts are cut with an ellipsis, because a row must fit on a page.
MAX_LENGTH = 400


def style(name: str, size: float, leading: float, colour: Any = TEXT, bold: bool = False, **more: Any) -> Any:
    """A paragraph style of ReportLab; ``size`` and ``leading`` in points."""
    font = BOLD if bold else REGULAR
    return ParagraphStyle(
        name, fontName=font, fontSize=size, leading=leading, textColor=colour, splitLongWords=1, **more
    )


BODY = style("body", 8.5, 11.5)
QUIET = style("quiet", 8.5, 11.5, SECOND)
SMALL = style("small", 7.2, 9.4, SECOND)
FAINT = style("faint", 7.2, 9.8, THIRD)
STRONG_BODY = style("strong", 8.5, 11.5, bold=True)
LARGE = style("large", 10, 13.5, bold=True)
TITLE = style("title", 16, 20, bold=True, spaceAfter=2)
HEADING = style("heading", 9.5, 12, bold=True)
RIGHT = style("right", 8.5, 11.5, alignment=2)
HEAD = style("head", 7.6, 10, SECOND)
HEAD_RIGHT = style("head-right", 7.6, 10, SECOND, alignment=2)


def paragraph(text: str, style: Any = BODY, longest: int | None = MAX_LENGTH) -> Any:
    """Any text as a paragraph: in the user's language, escaped, cut after ``longest`` characters, in fonts
    that have them."""
    text = translate(text)
    if has_right_to_left(text):
        return WrappedName(text, style, longest)
    if longest is not None and len(text) > longest:
        text = f"{text[: longest - 1]}…"
    return Paragraph(markup(text, style.fontName == BOLD), style)


def write(
    canvas: Any, x: float, y: float, text: str, size: float, colour: Any, *, bold: bool = False
) -> None:
    """A line of text from ``x`` on the base line ``y``."""
    canvas.setFillColor(colour)
    for font, part in font_runs(text, bold):
        canvas.setFont(font, size)
        canvas.drawString(x, y, part)
        x += canvas.stringWidth(part, font, size)


def draw_chip(canvas: Any, x: float, y: float, mark: FindingMark) -> None:
    """The square of a finding with its lower left corner at (x, y)."""
    canvas.setFillColor(HexColor(mark.colour))
    canvas.roundRect(x, y, CHIP, CHIP, 2, stroke=0, fill=1)
    size = 6.6 if len(mark.letter) == 1 else 5.0
    write(
        canvas,
        x + (CHIP - width_of(mark.letter, size, bold=True)) / 2,
        y + (CHIP - 0.72 * size) / 2,
        mark.letter,
        size,
        HexColor(mark.ink),
        bold=True,
    )


class WrappedName(Flowable):  # type: ignore[misc]
    """A name of a case or file, broken after its slashes and hyphens, else after its dots, rather than anywhere; or a
    text with parts from right to left, whose order belongs to its lines."""

    def __init__(self, text: str, style: Any = BODY, longest: int | None = MAX_LENGTH) -> None:
        super().__init__()
        text = translate(text)
        if longest is not None and len(text) > longest:
            text = f"{text[: longest - 1]}…"
        self.text, self.style = text, style
        self._pieces = re.findall(r"[^\\/_\- ]*[\\/_\- ]?", text)[:-1]
        self._bold = style.fontName == BOLD
        self._lines: list[str] = []

    def wrap(self, width: float, _height: float) -> tuple[float, float]:
        self._lines = [""]
        for piece in self._pieces:
            for part in self._parts(piece, width):
                if self._lines[-1] and not self._fits(self._lines[-1] + part.rstrip(), width):
                    self._lines.append("")
                self._lines[-1] += part
        self.height = len(self._lines) * self.style.leading
        return width, self.height

    def _parts(self, piece: str, width: float) -> Sequence[str]:
        """``piece`` in the largest parts that fit. Numbers and endings of files stay whole where they can."""
        for parts in ([piece], re.findall(r"[^.]*\.?", piece)[:-1]):
            if all(self._fits(part, width) for part in parts):
                return parts
        return piece

    def split(self, width: float, height: float) -> list[Any]:
        self.wrap(width, height)
        count = int(height // self.style.leading)
        parts = ["".join(lines) for lines in (self._lines[:count], self._lines[count:])]
        return [WrappedName(part, self.style, None) for part in parts] if all(parts) else []

    def draw(self) -> None:
        base = len(self._lines) * self.style.leading - self.style.fontSize
        for number, line in enumerate(self._lines):
            y = base - number * self.style.leading
            write(self.canv, 0, y, line, self.style.fontSize, self.style.textColor, bold=self._bold)

    def _fits(self, text: str, width: float) -> bool:
        return width_of(text, self.style.fontSize, self._bold) <= width


class FindingLabel(Flowable):  # type: ignore[misc]
    """A finding: its chip, then its name, wrapped where it does not fit."""

    def __init__(self, mark: FindingMark, label: str) -> None:
        super().__init__()
        self._mark, self._label = mark, paragraph(label)
        self._height = 0.0

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        _, self._height = self._label.wrap(max(width - CHIP - 4, 20), height)
        self._height = max(self._height, CHIP + 2)
        return width, self._height

    def draw(self) -> None:
        draw_chip(self.canv, 0, self._height - CHIP - 1, self._mark)
        self._label.drawOn(self.canv, CHIP + 4, self._height - self._label.height)


class ChipRow(Flowable):  # type: ignore[misc]
    """A row of chips, continued in further rows where they do not fit."""

    def __init__(self, marks: Sequence[FindingMark]) -> None:
        super().__init__()
        self._marks = marks
        self._columns = 1

    def wrap(self, width: float, _height: float) -> tuple[float, float]:
        self._columns = max(1, int(width // (CHIP + 3)))
        return width, -(-len(self._marks) // self._columns) * (CHIP + 3)

    def draw(self) -> None:
        rows = -(-len(self._marks) // self._columns)
        for number, mark in enumerate(self._marks):
            row, column = divmod(number, self._columns)
            draw_chip(self.canv, column * (CHIP + 3), (rows - row - 1) * (CHIP + 3) + 2, mark)


class ThumbnailBox(Flowable):  # type: ignore[misc]
    """A whole image on a dark grey background, or the text "no image" for unreadable bytes.

    ``fit_image``: the box has the shape of the image, within the given size.
    """

    def __init__(
        self, content: bytes | None, width: float, height: float, *, fit_image: bool = False
    ) -> None:
        super().__init__()
        self._image = _image_reader(content)
        self._size = (width, height)
        if fit_image and self._image is not None:
            across, down = self._image.getSize()
            scale = min(width / across, height / down)
            self._size = (across * scale, down * scale)

    def wrap(self, _width: float, _height: float) -> tuple[float, float]:
        return self._size

    def draw(self) -> None:
        width, height = self._size
        self.canv.setFillColor(IMAGE_BACKGROUND)
        self.canv.rect(0, 0, width, height, stroke=0, fill=1)
        if self._image is None:
            size, text = 6.5, tr("no image")
            write(self.canv, (width - width_of(text, size)) / 2, height / 2 - 2, text, size, IMAGE_TEXT)
            return
        across, down = self._image.getSize()
        scale = min(width / across, height / down)
        self.canv.drawImage(
            self._image,
            (width - across * scale) / 2,
            (height - down * scale) / 2,
            across * scale,
            down * scale,
        )


def _image_reader(content: bytes | None) -> Any:
    from PIL import Image as PILImage

    if not content:
        return None
    try:
        with PILImage.open(io.BytesIO(content)) as image:
            image.load()
            flat = image.convert("L" if image.mode in {"L", "1", "I", "I;16", "LA"} else "RGB")
    except (OSError, ValueError, SyntaxError, PILImage.DecompressionBombError):
        return None
    return ImageReader(flat)


class DistanceBar(Flowable):  # type: ignore[misc]
    """A distance with a bar above it, as on a card of the window."""

    def __init__(self, row: ReportedCase, share: float, digits: int) -> None:
        super().__init__()
        self._text, self._share = distance_text(row.distance, digits), share
        self._width = 0.0

    def wrap(self, width: float, _height: float) -> tuple[float, float]:
        self._width = width
        return width, 15.0

    def draw(self) -> None:
        self.canv.setFillColor(TRACK)
        self.canv.rect(0, 12.2, self._width, 2, stroke=0, fill=1)
        self.canv.setFillColor(FILL)
        self.canv.rect(0, 12.2, self._width * self._share, 2, stroke=0, fill=1)
        size = 8.5
        write(self.canv, self._width - width_of(self._text, size), 1.8, self._text, size, TEXT)


class ContributionBars(Flowable):  # type: ignore[misc]
    """The contributions to a distance: each part's name, bar and amount; negative bars are hollow."""

    _BAR, _NUMBER = 46.0, 30.0

    def __init__(self, row: ReportedCase) -> None:
        super().__init__()
        self._steps = waterfall(row)
        self._names = [WrappedName(as_lazy(name), SMALL) for name, *_ in self._steps]
        self._heights: list[float] = []
        self._width = 0.0

    @property
    def needed_width(self) -> float:
        """The width with which no name is broken."""
        names = [width_of(name.text, name.style.fontSize) for name in self._names]
        return max(names, default=0.0) + self._BAR + self._NUMBER + 8

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        self._width = width
        name_width = max(width - self._BAR - self._NUMBER - 8, 30)
        self._heights = [name.wrap(name_width, height)[1] for name in self._names]
        return width, sum(self._heights)

    def draw(self) -> None:
        top = sum(self._heights)
        left = self._width - self._BAR - self._NUMBER
        for (_, amount, start, length), name, height in zip(
            self._steps, self._names, self._heights, strict=True
        ):
            top -= height
            name.drawOn(self.canv, 0, top)
            middle = top + height - 4.7
            self._bar(left + start * self._BAR, middle - 2, max(length * self._BAR, 0.6), hollow=amount < 0)
            text = signed_text(amount)
            write(self.canv, self._width - width_of(text, 7.2), middle - 2.4, text, 7.2, SECOND)

    def _bar(self, x: float, y: float, width: float, *, hollow: bool) -> None:
        self.canv.setFillColor(FILL)
        self.canv.setStrokeColor(FILL)
        self.canv.setLineWidth(0.5)
        self.canv.rect(x, y, width, 4, stroke=int(hollow), fill=int(not hollow))


def figure(content: bytes, width: float, max_height: float) -> Any:
    """A plot with the width ``width``, or less where it would be higher than ``max_height``."""
    from reportlab.platypus import Image as PageImage

    reader = _image_reader(content)
    if reader is None:
        return ThumbnailBox(None, width, width / 2)
    across, down = reader.getSize()
    scale = min(width / across, max_height / down)
    return PageImage(io.BytesIO(content), across * scale, down * scale, hAlign="LEFT")


def small_figure(content: bytes, width: float, max_height: float) -> Any:
    """An image within ``width`` x ``max_height`` points, never enlarged beyond 72 pixels per inch."""
    from reportlab.platypus import Image as PageImage

    reader = _image_reader(content)
    if reader is None:
        return ThumbnailBox(None, max_height, max_height)
    across, down = reader.getSize()
    scale = min(1.0, width / across, max_height / down)
    return PageImage(io.BytesIO(content), across * scale, down * scale, mask="auto", hAlign="LEFT")
