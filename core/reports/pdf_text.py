"""The embedded fonts of PDF reports, and the choice of a font for each character."""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from reportlab import rl_config
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont

from semblance.core.language import LEFT_TO_RIGHT_MARK, has_right_to_left

REGULAR, BOLD = "Report", "Report-Bold"
_WIDE, _WIDE_BOLD = "Wide", "Wide-Bold"
#: Free font families in order of preference: file names of the regular and the bold face.
_FAMILIES = (
    ("Inter-Regular.ttf", "Inter-SemiBold.ttf"),
    ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    ("OpenSans-Regular.ttf", "OpenSans-Semibold.ttf"),
    ("NotoSans-Regular.ttf", "NotoSans-Bold.ttf"),
)
#: TrueType files with Chinese, Japanese and Korean.
_EASTERN = (
    "DroidSansFallbackFull.ttf",
    "DroidSansFallback.ttf",
    "arialuni.ttf",
    "wqy-zenhei.ttf",
    "malgun.ttf",
)
_HAN, _JAPANESE, _KOREAN = "STSong-Light", "HeiseiKakuGo-W5", "HYGothic-Medium"
#: Without such a file, fonts that PDF viewers have: by the last code point of a range.
_VIEWER_FONTS = (
    (0x2E7F, ""),
    (0x303F, _HAN),
    (0x30FF, _JAPANESE),
    (0x318F, _KOREAN),
    (0xABFF, _HAN),
    (0xD7FF, _KOREAN),
    (0xF8FF, ""),
    (0xFAFF, _HAN),
)
_lock = threading.Lock()

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_STRONG = _RIGHT_TO_LEFT | {"L"}
_NUMBERS = frozenset({"EN", "AN"})
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


@functools.cache
def _installed() -> dict[str, Path]:
    from matplotlib import font_manager

    return {Path(file).name: Path(file) for file in font_manager.findSystemFonts(fontext="ttf")}


@functools.cache
def _bundled() -> tuple[Path, Path]:
    """DejaVu Sans, which is part of Matplotlib and so always available."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return folder / "DejaVuSans.ttf", folder / "DejaVuSans-Bold.ttf"


def register() -> None:
    """Register the report's fonts with ReportLab; repeated calls do nothing."""
    with _lock:
        if _WIDE_BOLD in pdfmetrics.getRegisteredFontNames():
            return
        # Images as text are larger, and take longer to write than all else.
        rl_config.useA85 = 0
        wide = _bundled()
        chosen = next((pair for names in _FAMILIES if (pair := _pair(names))), wide)
        for name, file in zip((REGULAR, BOLD, _WIDE, _WIDE_BOLD), (*chosen, *wide), strict=True):
            pdfmetrics.registerFont(TTFont(name, str(file)))
        pdfmetrics.registerFontFamily(REGULAR, normal=REGULAR, bold=BOLD, italic=REGULAR, boldItalic=BOLD)


def _pair(names: tuple[str, str]) -> tuple[Path, Path] | None:
    found = [_installed().get(name) for name in names]
    if found[0] is None or found[1] is None:
        return None
    try:
        for file in found:
            TTFont("Trial", str(file))
    except (TTFError, OSError):
        return None
    return found[0], found[1]


@functools.cache
def _eastern() -> str | None:
    for name in _EASTERN:
        if file := _installed().get(name):
            try:
                pdfmetrics.registerFont(TTFont("Eastern", str(file)))
            except (TTFError, OSError):
                continue
            return "Eastern"
    return None


def font_runs(text: str, bold: bool = False) -> list[tuple[str, str]]:
    """``text`` in the order in which it is drawn, as runs of (font, characters).

    Characters that no font has are drawn as a box of the widest font.
    """
    text = visual_order(text)
    first, second = (BOLD, _WIDE_BOLD) if bold else (REGULAR, _WIDE)
    # Characters shared by East Asian scripts are drawn in the font of the neighbouring script.
    kana, hangul = re.search("[\u3040-\u30ff]", text), re.search("[\uac00-\ud7af]", text)
    han = _JAPANESE if kana else _KOREAN if hangul else _HAN
    out: list[tuple[str, str]] = []
    for character in text:
        font = _font_for(character, first, second, han)
        if out and (out[-1][0] == font or character == " "):
            out[-1] = (out[-1][0], out[-1][1] + character)
        else:
            out.append((font, character))
    return out


def _font_for(character: str, first: str, second: str, han: str) -> str:
    code = ord(character)
    for name in (first, second):
        if code in pdfmetrics.getFont(name).face.charToGlyph:
            return name
    if code < 0x2E80:
        return second
    eastern = _eastern()
    if eastern is not None and code in pdfmetrics.getFont(eastern).face.charToGlyph:
        return eastern
    own = next((font for last, font in _VIEWER_FONTS if code <= last), "")
    own = han if own == _HAN else own
    if own and own not in pdfmetrics.getRegisteredFontNames():
        pdfmetrics.registerFont(UnicodeCIDFont(own))
    return own or second


@dataclass(frozen=True)
class FontCoverage:
    """Of some characters those that no font has, which are drawn as boxes, and those whose font is not embedded but
    left to the viewer."""

    missing: tuple[str, ...]
    not_embedded: tuple[str, ...]


def font_coverage(characters: Collection[str]) -> FontCoverage:
    """What is missing to draw ``characters``; of spaces and control characters nothing is."""
    missing, not_embedded = [], []
    for character in sorted(characters):
        font = pdfmetrics.getFont(_font_for(character, REGULAR, _WIDE, _HAN))
        if isinstance(font, UnicodeCIDFont):
            not_embedded.append(character)
        elif character.isprintable() and ord(character) not in font.face.charToGlyph:
            missing.append(character)
    return FontCoverage(tuple(missing), tuple(not_embedded))


def markup(text: str, bold: bool = False) -> str:
    """``text`` escaped for a paragraph, every run in a font that has its characters."""
    plain = BOLD if bold else REGULAR
    return "".join(
        escape(part) if font == plain else f'<font name="{font}">{escape(part)}</font>'
        for font, part in font_runs(text.replace("\n", " "), bold)
    )


def width_of(text: str, size: float, bold: bool = False) -> float:
    """The width of ``text`` in points."""
    return float(sum(pdfmetrics.stringWidth(part, font, size) for font, part in font_runs(text, bold)))


def visual_order(line: str) -> str:
    """``line`` as it is drawn from left to right: joined Arabic letters, then the order of the Unicode Bidirectional
    Algorithm (UAX 9) without explicit embeddings. Lines without such letters stay as they are."""
    if not has_right_to_left(line):
        return line
    from arabic_reshaper import reshape

    line = reshape(line)
    kinds = [unicodedata.bidirectional(one) for one in line]
    levels = _levels(kinds)
    order = list(range(len(line)))
    for level in range(max(levels, default=0), 0, -1):
        # Rule L2: from the highest level on, reverse every run of at least this level.
        shown, start = [levels[place] for place in order], 0
        while start < len(order):
            end = start
            while end < len(order) and shown[end] >= level:
                end += 1
            order[start:end] = order[start:end][::-1]
            start = max(end, start + 1)
    drawn = (line[place].translate(_MIRRORED) if levels[place] % 2 else line[place] for place in order)
    return "".join(drawn).replace(LEFT_TO_RIGHT_MARK, "")


def _levels(kinds: list[str]) -> list[int]:
    """The embedding level of every character of a line, given their bidirectional classes."""
    base = int(next((kind for kind in kinds if kind in _STRONG), "L") in _RIGHT_TO_LEFT)
    # "L", "R", "number" (right to left for its neighbours) or "" (a space or sign) for every character.
    directions: list[str] = []
    right = bool(base)
    for place, kind in enumerate(kinds):
        if kind in _STRONG:
            right = kind in _RIGHT_TO_LEFT
            directions.append("R" if right else "L")
        elif kind in _NUMBERS or _joins_numbers(kinds, place):
            directions.append("number" if right else "L")
        else:
            directions.append(directions[-1] if kind == "NSM" and directions else "")
    for place, direction in enumerate(directions):
        if not direction:
            # Rules N1 and N2: between two parts of one direction it has theirs, else that of the line.
            after = next((one for one in directions[place:] if one), "")
            before = directions[place - 1] if place else ""
            sides = {"L" if one == "L" or not (one or base) else "R" for one in (before, after)}
            directions[place] = sides.pop() if len(sides) == 1 else "LR"[base]
    levels = {"L": 2 * base, "R": 1, "number": 2}
    return [levels[one] for one in directions]


def _joins_numbers(kinds: list[str], place: int) -> bool:
    """Whether a separator stands between two digits: the point of 12.5."""
    return kinds[place] in ("CS", "ES") and kinds[max(place - 1, 0) : place + 2 : 2] == ["EN", "EN"]
