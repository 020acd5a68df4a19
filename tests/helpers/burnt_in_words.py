"""Images with words burnt in, drawn from a seed in 12 fonts that Python packages ship, and what of them is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import numpy as np
import numpy.typing as npt
import reportlab
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import gaussian_filter

from semblance.core.imaging.text_detector import TextBox

_MATPLOTLIB = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
_REPORTLAB = Path(reportlab.__file__).parent / "fonts"
#: The font files; ``None`` is that of Pillow.
FACES = (
    *(
        _MATPLOTLIB / f"{name}.ttf"
        for name in (
            "DejaVuSans",
            "DejaVuSans-Bold",
            "DejaVuSansMono",
            "DejaVuSerif",
            "DejaVuSerif-Italic",
            "STIXGeneral",
            "STIXGeneralBol",
            "cmr10",
            "cmss10",
            "cmtt10",
        )
    ),
    _REPORTLAB / "Vera.ttf",
    None,
)
BACKGROUNDS = ("black", "ultrasound", "radiograph", "ct", "bright")
#: A word is hidden if no more than this share of its pixels is left: less than a letter.
LEFT = 0.02
_LAST = [
    "SMITH",
    "Mueller",
    "GARCIA",
    "Nguyen",
    "Kowalski",
    "Ozturk",
    "ROSSI",
    "Johansson",
    "LI",
    "O'Brien",
    "Schmidt-Weber",
]
_FIRST = ["ANNA", "JOHN", "Maria", "Peter", "WEI", "Olga", "Ahmed", "Lucia", "James", "Elif"]
_OTHER = ["Charite", "St.Mary", "HOSPITAL", "Dr.Weber", "ICU-4", "Klinikum", "Female", "DOB:"]


@dataclass
class Word:
    """A burnt-in word: its top left corner, and the pixels that show it."""

    text: str
    size: int
    face: int
    y: int
    x: int
    ink: npt.NDArray[np.bool_]

    def left(self, hidden: npt.NDArray[np.bool_]) -> float:
        """The share of its pixels that ``hidden`` does not cover."""
        height, width = self.ink.shape
        return 1 - float(hidden[self.y : self.y + height, self.x : self.x + width][self.ink].mean())


@dataclass
class BurntInImage:
    """An image (h, w) of bytes and the words in it."""

    pixels: npt.NDArray[np.uint8]
    words: list[Word] = field(default_factory=list)

    def hidden(self, boxes: Sequence[TextBox]) -> int:
        """How many words ``boxes`` hide."""
        covered = covered_by(boxes, self.pixels.shape)
        return sum(word.left(covered) <= LEFT for word in self.words)

    def falsely_hidden(self, boxes: Sequence[TextBox]) -> float:
        """The share of the area that ``boxes`` hide farther from every word than half its height."""
        covered = covered_by(boxes, self.pixels.shape)
        for word in self.words:
            height, width = word.ink.shape
            more = word.size // 2
            covered[
                max(0, word.y - more) : word.y + height + more, max(0, word.x - more) : word.x + width + more
            ] = False
        return float(covered.mean())


def covered_by(boxes: Sequence[TextBox], shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    out = np.zeros(shape, bool)
    for box in boxes:
        out[box.part] = True
    return out


def burnt_in_image(
    seed: int,
    *,
    shape: tuple[int, int] = (512, 512),
    size: tuple[int, int] = (12, 40),
    contrast: tuple[float, float] = (100, 255),
    angle: tuple[float, float] = (0, 0),
    words: int = 10,
    background: str | None = None,
    by_mean: bool = False,
) -> BurntInImage:
    """An image with about so many ``words`` that do not touch.

    ``size``: the font's size in pixels; capitals are 0.7 of it. ``contrast``: the difference, of 255, between the grey
    of a word and 95 % of the pixels it is drawn on; ``by_mean``: and their mean.
    """
    rng = np.random.default_rng(seed)
    grey = _background(rng, shape, background or str(rng.choice(BACKGROUNDS)))
    out = BurntInImage(np.zeros(shape, np.uint8))
    used = np.zeros(shape, bool)
    for _ in range(8 * words):
        if len(out.words) == words:
            break
        _burn_in(rng, grey, used, out.words, size, contrast, angle, by_mean)
    out.pixels = np.rint(grey).astype(np.uint8)
    return out


def _burn_in(
    rng: np.random.Generator,
    grey: npt.NDArray[np.float64],
    used: npt.NDArray[np.bool_],
    words: list[Word],
    size: tuple[int, int],
    contrast: tuple[float, float],
    angle: tuple[float, float],
    by_mean: bool,
) -> None:
    face = int(rng.integers(len(FACES)))
    height = round(float(np.exp(rng.uniform(np.log(size[0]), np.log(size[1])))))
    text, turned = _text(rng), float(rng.uniform(*angle))
    shape = _drawn(text, face, height, turned)
    if any(side + 2 >= whole for side, whole in zip(shape.shape, grey.shape, strict=True)):
        return
    y, x = (int(rng.integers(1, whole - side)) for side, whole in zip(shape.shape, grey.shape, strict=True))
    part = slice(y, y + shape.shape[0]), slice(x, x + shape.shape[1])
    around = (
        slice(max(0, y - height), part[0].stop + height),
        slice(max(0, x - height), part[1].stop + height),
    )
    if used[around].any():
        return
    below = grey[part]
    ends = (below.mean(),) * 2 if by_mean else np.percentile(below, (5, 95))
    difference = float(rng.uniform(*contrast))
    possible = [value for value in (ends[1] + difference, ends[0] - difference) if 0 <= value <= 255]
    if not possible:
        return
    grey[part] = below * (1 - shape) + possible[0] * shape
    used[part] = True
    words.append(Word(text, height, face, y, x, shape > 0.5))


def _drawn(text: str, face: int, size: int, angle: float) -> npt.NDArray[np.float64]:
    file = FACES[face]
    font = ImageFont.load_default(size=size) if file is None else ImageFont.truetype(str(file), size)
    left, top, right, bottom = font.getbbox(text)
    image = Image.new("L", (int(right - left) + 4, int(bottom - top) + 4))
    ImageDraw.Draw(image).text((2 - left, 2 - top), text, fill=255, font=font)
    if angle:
        image = image.rotate(angle, expand=True, resample=Image.Resampling.BICUBIC)
    return np.asarray(image, np.float64) / 255


def _text(rng: np.random.Generator) -> str:
    digits = "".join(str(one) for one in rng.integers(0, 10, int(rng.integers(5, 11))))
    day, month, year = rng.integers(1, 29), rng.integers(1, 13), rng.integers(1930, 2020)
    last, first = str(rng.choice(_LAST)), str(rng.choice(_FIRST))
    return (
        last,
        first,
        f"{last}^{first}",
        f"{day:02d}.{month:02d}.{year}",
        f"{year}-{month:02d}-{day:02d}",
        digits,
        f"MRN{digits}",
        str(rng.choice(_OTHER)),
    )[int(rng.integers(8))]


def _background(rng: np.random.Generator, shape: tuple[int, int], kind: str) -> npt.NDArray[np.float64]:
    height, width = shape
    y, x = np.mgrid[:height, :width]

    def shades(scale: float) -> npt.NDArray[np.float64]:
        return 2 * scale * gaussian_filter(rng.standard_normal(shape), scale)

    if kind == "ultrasound":
        distance, direction = (
            np.hypot(x - width / 2, y + 0.1 * height),
            np.arctan2(x - width / 2, y + 0.1 * height),
        )
        in_fan = (np.abs(direction) < 0.6) & (distance > 0.2 * height) & (distance < 1.02 * height)
        speckle = np.hypot(shades(0.9), shades(0.9))
        grey = np.where(in_fan, 60 * speckle / speckle.mean() * np.exp(0.35 * shades(20)), 0)
    elif kind == "radiograph":
        grey = 90 + 45 * shades(60) + 18 * shades(12) + 5 * shades(1)
    elif kind == "ct":
        in_body = ((x - width / 2) / (0.42 * width)) ** 2 + ((y - height / 2) / (0.33 * height)) ** 2 < 1
        grey = np.where(in_body, 110 + 25 * shades(15) + 10 * shades(1), 5)
        for _ in range(6):
            column, row = rng.uniform(0.25, 0.75) * width, rng.uniform(0.3, 0.7) * height
            radius = rng.uniform(0.02, 0.1) * width
            inside = (x - column) ** 2 + (y - row) ** 2 < radius**2
            grey = np.where(inside & in_body, rng.uniform(20, 240), grey)
        grey = gaussian_filter(grey, 0.8) + 4 * rng.standard_normal(shape)
    elif kind == "bright":
        grey = 200 + 15 * shades(30) + 4 * shades(1)
    else:
        grey = np.full(shape, rng.uniform(0, 10))
    return np.clip(grey, 0, 255)
