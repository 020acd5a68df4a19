"""Whether two thumbnails show one image: saved again, windowed, mirrored, annotated or cropped.

Both are reduced to their finest detail, normalised to equal contrast everywhere, which a window hardly changes. Laid
on each other, the details of one image correlate, whatever text and callipers cover; those of another image do so
less, even of the same anatomy in the same position. How much they must correlate depends on how many pixels have
detail: few pixels correlate by chance, and the outline of a breast or chest is much of a small image. So the
correlation is tested as Fisher's z (R. A. Fisher, "On the probable error of a coefficient of correlation", Metron,
1921), with the pixels that have detail as the sample. Strong compression invents detail where an image is smooth and
leaves its edges, so two images are also one where what a band of frequencies keeps of both is almost equal (the
difference of Gaussians of D. Marr and E. Hildreth, "Theory of edge detection", Proc. R. Soc. B 207, 1980). Uniform
borders, which a copy may have been padded with, are also left out of both.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL import Image as PILImage

Pixels = npt.NDArray[np.float32]
Spectra = npt.NDArray[np.complex64]
#: Left, top, right and bottom of a part of an image, as shares of its width and height.
Box = tuple[float, float, float, float]

#: Pixels of the longer side at which images are compared.
SIDE = 96
#: The correlation of details from which two images may be one, and a part and its place in the whole, which was looked
#: for and so fits better by chance; and the significance that it must have. Changed copies of Corel, BUSI and MIAS at
#: 64 pixels and more have one of 17 to 200, others of them at most 16.5 (3 of 5,000 pairs of mammograms more).
_LEAST_CORRELATION, _LEAST_CORRELATION_OF_PART, SAME_SIGNIFICANCE = 0.5, 0.6, 17.0
#: A correlation that is enough at sizes from so many pixels, where less of the image has detail: others reach .67.
_ENOUGH_CORRELATION, _ENOUGH_SIDE = 0.7, 40
#: The correlation of edges from which images are the same at sizes from :data:`_EDGES_SIDE` pixels; and that of smaller
#: ones, and of a part and its place in the whole. Copies saved again of Corel, BUSI, MIAS, chests and CT have .98 or
#: more, of 28 to 64 pixels too; others at most .969 from 36 pixels and .981 below: the breasts of a woman, one
#: mirrored. Parts have .988 or more at 64 pixels.
_SAME_EDGES, _SAME_EDGES_OF_SMALL, _EDGES_SIDE = 0.975, 0.985, 36
#: The correlation of details below which edges are not compared, which saves time; copies have .3 or more, parts .49.
_LEAST_CORRELATION_OF_EDGES, _LEAST_CORRELATION_OF_EDGES_OF_PART = 0.2, 0.4
#: Widths of the Gaussians of edges, in pixels.
_EDGE_WIDTHS = (1.0, 3.0)
#: Width of what is taken for shading, in pixels; the contrast below which it is noise; and the product of the lengths
#: of two details that are rounding errors of uniform images.
_SHADING, _NOISE, _ROUNDING = 1.0, 2.0, 1e-3
#: Images whose logarithms of width by height differ by at most this may be the same whole image; and by so many
#: pixels of the shorter side, as sizes are rounded.
MAX_LOG_ASPECT_DIFFERENCE, _ROUNDED = 0.02, 1.0
#: Pixels of the longer side at which a part is looked for in the whole image, sides of the part as shares of those
#: of the whole, and the correlation from which its place is worth a closer look: parts of Corel, BUSI, MIAS and
#: Medical MNIST have .6 or more, and nine in ten of the other candidates less than .5.
_COARSE, _PARTS, _PLACE_CORRELATION = 32, tuple(1.05**-n for n in range(1, 8)), 0.5
#: Times the place of a part is refined, while the details correlate at least this much: once refined, parts have .4
#: or more.
_REFINEMENTS, _REFINED_CORRELATION = 4, 0.3
#: Greys by which pixels of a uniform border, and the mean of a row of it, may differ from its outermost row, as
#: compression spreads what is beside it; the share of each side that must be left; the share by which what is left of
#: a padded image is smaller; and the difference of the logarithms of width by height of what two borders leave of one
#: image.
_BORDER_NOISE, _LEAST_CONTENT, _LEAST_PADDING, _MAX_LOG_ASPECT_OF_CONTENT = (30.0, 4.0), 0.25, 0.03, 0.08
#: Pixels of the small image whose detail is compared first, the width of its shading, and how many of its frequencies
#: in each direction.
_OUTLINE_SIDE, _OUTLINE_SHADING, _FREQUENCIES = 32, 2.0, 12
OUTLINE_NUMBERS = _FREQUENCIES**2
#: Near-duplicates but for crops have outlines that correlate at least this much: those of Corel and BUSI .85 or more.
OUTLINE_CORRELATION = 0.65
#: The whole image.
_WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


class ComparableImage:
    """A thumbnail prepared to be compared with many others."""

    def __init__(self, encoded: bytes) -> None:
        """``encoded``: a JPEG or PNG.

        Raises:
            OSError, ValueError: it cannot be decoded.
        """
        from PIL import Image

        with Image.open(io.BytesIO(encoded)) as decoded:
            self._grey: PILImage.Image = decoded.convert("L")

    @cached_property
    def content(self) -> ComparableImage:
        """The image without uniform borders; itself where it has none."""
        from PIL import Image

        pixels = np.asarray(self._grey)
        rows, columns = _without_border(pixels), _without_border(pixels.T)
        least = tuple(_LEAST_CONTENT * side for side in pixels.shape)
        left = pixels[rows, columns]
        if left.shape == pixels.shape or left.shape[0] < least[0] or left.shape[1] < least[1]:
            return self
        content = object.__new__(ComparableImage)
        content._grey = Image.fromarray(left)
        return content

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self._grey.size

    @property
    def longest(self) -> int:
        """The longer side in pixels."""
        return max(self.size)

    @property
    def shortest(self) -> int:
        """The shorter side in pixels."""
        return min(self.size)

    @property
    def log_aspect(self) -> float:
        """The logarithm of width by height."""
        return float(np.log(self._grey.width / self._grey.height))

    def detail(self, width: int, height: int, box: Box = _WHOLE, shading: float = _SHADING) -> Pixels:
        """(height, width) detail of a part of the image."""
        return detail_of(self.greys(width, height, box), shading)

    def edges(self, width: int, height: int, box: Box = _WHOLE) -> Pixels:
        """(height, width) edges of a part of the image, with the contrast that they have."""
        greys = self.greys(width, height, box)
        narrow, wide = (_blurred(greys, one) for one in _EDGE_WIDTHS)
        return narrow - wide

    def greys(self, width: int, height: int, box: Box = _WHOLE) -> Pixels:
        """(height, width) greys, 0 to 255, of a part of the image."""
        from PIL import Image

        w, h = self._grey.size
        part = (box[0] * w, box[1] * h, box[2] * w, box[3] * h)
        shown = self._grey.resize((width, height), Image.Resampling.BICUBIC, box=part, reducing_gap=None)
        return np.asarray(shown, dtype=np.float32)

    def size_for(self, side: int) -> tuple[int, int]:
        """Width and height with the longer side ``side``."""
        scale = side / self.longest
        return max(1, round(self._grey.width * scale)), max(1, round(self._grey.height * scale))

    @cached_property
    def fine(self) -> dict[int, Pixels]:
        """Longer side -> detail of the whole image, cached."""
        return {}

    @cached_property
    def outline(self) -> Pixels | None:
        """(144,) low frequencies of the image's detail, of length 1; ``None`` for a uniform image.

        A sign is all that :func:`mirrored` images differ by.
        """
        from scipy.fft import dctn

        detail = self.detail(_OUTLINE_SIDE, _OUTLINE_SIDE, shading=_OUTLINE_SHADING)
        low = dctn(detail, norm="ortho")[:_FREQUENCIES, :_FREQUENCIES].astype(np.float32)
        low[0, 0] = 0.0
        length = float(np.linalg.norm(low))
        return None if length < 1.0 else np.asarray(low.ravel() / length, dtype=np.float32)

    @cached_property
    def as_whole(self) -> tuple[Spectra, tuple[int, int]]:
        """Spectra (2, ...) of the coarse detail and of its square, and width and height, to look for parts in it."""
        width, height = self.size_for(_COARSE)
        coarse = self.detail(width, height)
        return _spectra([coarse, coarse * coarse]), (width, height)

    @cached_property
    def as_parts(self) -> tuple[Spectra, list[tuple[int, int]]]:
        """For each of :data:`_PARTS`: spectra (2, ...) of the detail of length 1 and of its area; width and height."""
        parts = [self.detail(*self.size_for(max(8, round(_COARSE * share)))) for share in _PARTS]
        pairs = [(part / max(float(np.linalg.norm(part)), 1e-9), np.ones_like(part)) for part in parts]
        spectra = np.stack([_spectra(pair) for pair in pairs])
        return spectra.conj(), [(part.shape[1], part.shape[0]) for part in parts]


def _spectra(images: Sequence[Pixels]) -> Spectra:
    """(n, ...) spectra of coarse images; no place of a part in the whole goes over its edge, so nothing is padded."""
    from scipy.fft import rfft2

    return np.stack([np.asarray(rfft2(image, (_COARSE, _COARSE))) for image in images])


def _without_border(pixels: npt.NDArray[np.uint8]) -> slice:
    """The rows between those at the top and at the bottom that are as uniform as the outermost."""
    uniform = []
    for edge in (pixels[0], pixels[-1]):
        off = np.abs(pixels - np.float32(np.median(edge)))
        uniform.append((off.max(axis=1) <= _BORDER_NOISE[0]) & (off.mean(axis=1) <= _BORDER_NOISE[1]))
    if uniform[0].all() or uniform[1].all():
        return slice(0, len(pixels))
    return slice(int(np.argmin(uniform[0])), len(pixels) - int(np.argmin(uniform[1][::-1])))


@lru_cache(maxsize=1024)
def _gaussian(pixels: int, width: float) -> Pixels:
    """(pixels, pixels) what the Gaussian of this width does along an axis, mirrored at its ends."""
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(gaussian_filter1d(np.eye(pixels), width, axis=0), dtype=np.float32)


def _blurred(pixels: Pixels, width: float) -> Pixels:
    """A small image smoothed by a Gaussian. Two products of matrices take less time than filters."""
    height, across = pixels.shape
    return np.asarray(_gaussian(height, width) @ pixels @ _gaussian(across, width).T)


def detail_of(grey: Pixels, shading: float = _SHADING) -> Pixels:
    """The image without its shading, normalised to equal contrast everywhere."""
    edges = grey - _blurred(grey, shading)
    strength = np.sqrt(_blurred(edges * edges, shading))
    return np.asarray(edges / (strength + np.float32(_NOISE)), dtype=np.float32)


def is_same_image(a: ComparableImage, b: ComparableImage, *, parts: bool = False) -> bool:
    """Whether both show one image, perhaps mirrored; with ``parts`` also whether one is a part of the other."""
    return _is_same_whole(a, b) or _is_same_content(a, b) or (parts and (_is_part(a, b) or _is_part(b, a)))


def _is_same_content(a: ComparableImage, b: ComparableImage) -> bool:
    """Whether both show one image without their borders, one of which may be some pixels off.

    Borders of equal width are no padding; such images are compared as a whole.
    """
    one, other = a.content, b.content
    left = np.divide(one.size, a.size) - np.divide(other.size, b.size)
    if np.abs(left).max() < _LEAST_PADDING:
        return False
    if _is_same_whole(one, other):
        return True
    if abs(one.log_aspect - other.log_aspect) > _MAX_LOG_ASPECT_OF_CONTENT:
        return False
    if one.outline is None or other.outline is None or one.outline @ other.outline < OUTLINE_CORRELATION:
        return False
    return _fits(one, other, _WHOLE) or _is_part(one, other) or _is_part(other, one)


def _is_same_whole(a: ComparableImage, b: ComparableImage) -> bool:
    rounding = _ROUNDED / min(a.shortest, b.shortest)
    if abs(a.log_aspect - b.log_aspect) > MAX_LOG_ASPECT_DIFFERENCE + rounding:
        return False
    side = min(SIDE, a.longest, b.longest)
    width, height = a.size_for(side)
    one, other = (_fine(image, side, width, height) for image in (a, b))
    turned = max(_ways(other), key=lambda way: correlation(one, way))
    if _is_same_detail(one, turned, _LEAST_CORRELATION):
        return True
    if correlation(one, turned) < _LEAST_CORRELATION_OF_EDGES:
        return False
    edges, least = a.edges(width, height), _SAME_EDGES if side >= _EDGES_SIDE else _SAME_EDGES_OF_SMALL
    return any(correlation(edges, way) >= least for way in _ways(b.edges(width, height)))


def _ways(pixels: Pixels) -> list[Pixels]:
    """``pixels`` as they are, and mirrored in either direction and in both."""
    return [pixels[::down, ::across] for down in (1, -1) for across in (1, -1)]


def _fine(image: ComparableImage, side: int, width: int, height: int) -> Pixels:
    known = image.fine.get(side)
    if known is None or known.shape != (height, width):
        known = image.fine[side] = image.detail(width, height)
    return known


def correlation(a: Pixels, b: Pixels) -> float:
    """The correlation of two details (h, w); 0 where one of them has none."""
    return float(np.vdot(a, b) / max(float(np.linalg.norm(a) * np.linalg.norm(b)), _ROUNDING))


def _is_same_detail(a: Pixels, b: Pixels, least: float) -> bool:
    found = correlation(a, b)
    if found >= _ENOUGH_CORRELATION and max(a.shape) >= _ENOUGH_SIDE:
        return True
    return found >= least and significance(a, b) >= SAME_SIGNIFICANCE


def significance(a: Pixels, b: Pixels) -> float:
    """How far the correlation of two details (h, w) is from chance: Fisher's z, in standard deviations.

    As many pixels as have detail, by the participation ratio, are the sample.
    """
    pixels = min(float((x * x).sum()) ** 2 / max(float((x**4).sum()), 1e-9) for x in (a, b))
    return float(np.arctanh(min(correlation(a, b), 0.999)) * np.sqrt(pixels))


def _is_part(whole: ComparableImage, part: ComparableImage) -> bool:
    """Whether ``part`` is a part of ``whole``."""
    box = _place(whole, part)
    return box is not None and _fits(whole, part, box)


def _fits(whole: ComparableImage, part: ComparableImage, box: Box) -> bool:
    """Whether ``part`` is what is near ``box`` of ``whole``."""
    side = min(SIDE, whole.longest, part.longest)
    width, height = part.size_for(side)
    other = _fine(part, side, width, height)
    for step in range(_REFINEMENTS + 1):
        shown = whole.detail(width, height, box)
        if _is_same_detail(shown, other, _LEAST_CORRELATION_OF_PART):
            return True
        found = correlation(shown, other)
        if found >= _LEAST_CORRELATION_OF_EDGES_OF_PART:
            edges = whole.edges(width, height, box), part.edges(width, height)
            if correlation(*edges) >= _SAME_EDGES_OF_SMALL:
                return True
        if step == _REFINEMENTS or (step and found < _REFINED_CORRELATION):
            return False
        box = _refined(box, shown, other)
    return False


def _place(whole: ComparableImage, part: ComparableImage) -> Box | None:
    """Where ``part`` best fits into ``whole``; ``None`` where it fits nowhere."""
    from scipy.fft import irfft2

    spectra, (width, height) = whole.as_whole
    of_parts, sizes = part.as_parts
    found_anywhere = np.asarray(irfft2(spectra * of_parts, (_COARSE, _COARSE)))
    best, box = _PLACE_CORRELATION, None
    for (w, h), (match, energy) in zip(sizes, found_anywhere, strict=True):
        if w > width or h > height:
            continue
        there = (slice(height - h + 1), slice(width - w + 1))
        found = match[there] / np.sqrt(np.maximum(energy[there], 1.0))
        y, x = np.unravel_index(int(found.argmax()), found.shape)
        if found[y, x] > best:
            best = float(found[y, x])
            box = (x / width, y / height, (x + w) / width, (y + h) / height)
    return box


def _refined(box: Box, shown: Pixels, other: Pixels) -> Box:
    """``box`` moved and stretched by how far its four quarters are off."""
    height, width = other.shape
    if min(height, width) < 2:
        # A strip of one pixel has no quarters.
        return box
    off = _offsets(_quarters(shown), _quarters(other))
    # Where the part lies at +y in what is shown, the box must move there. The quarters' centres lie at 1/4 and 3/4.
    top, bottom = off[:, :, 0].mean(axis=1) / height
    left, right = off[:, :, 1].mean(axis=0) / width
    w, h = box[2] - box[0], box[3] - box[1]
    moved = (
        box[0] + w * (1.5 * left - 0.5 * right),
        box[1] + h * (1.5 * top - 0.5 * bottom),
        box[2] + w * (1.5 * right - 0.5 * left),
        box[3] + h * (1.5 * bottom - 0.5 * top),
    )
    x0, y0, x1, y1 = (min(1.0, max(0.0, value)) for value in moved)
    return (x0, y0, x1, y1) if x1 - x0 > w / 2 and y1 - y0 > h / 2 else box


def _quarters(pixels: Pixels) -> Pixels:
    """(2, 2, h / 2, w / 2) the quarters of an image (h, w); of odd sides without the middle."""
    height, width = pixels.shape
    rows, columns = (
        (slice(height // 2), slice(-(height // 2), None)),
        (slice(width // 2), slice(-(width // 2), None)),
    )
    return np.stack([np.stack([pixels[row, column] for column in columns]) for row in rows])


def _offsets(shown: Pixels, other: Pixels) -> npt.NDArray[np.float64]:
    """(2, 2, 2) how many pixels down and across ``other`` (2, 2, h, w) lies in ``shown``: the peak of their
    cross-correlation, between pixels by a parabola through the peak and its neighbours."""
    from scipy.fft import irfft2, rfft2

    height, width = shown.shape[2:]
    crossed = np.asarray(irfft2(rfft2(shown) * rfft2(other).conj(), (height, width)))
    off = np.zeros((2, 2, 2))
    for row, column in np.ndindex(2, 2):
        found = crossed[row, column]
        y, x = np.unravel_index(int(found.argmax()), found.shape)
        off[row, column] = (
            _peak(found[(y - 1) % height, x], found[y, x], found[(y + 1) % height, x])
            + (y if y <= height // 2 else y - height),
            _peak(found[y, (x - 1) % width], found[y, x], found[y, (x + 1) % width])
            + (x if x <= width // 2 else x - width),
        )
    return off


def _peak(before: float, at: float, after: float) -> float:
    """Where between -1/2 and 1/2 the parabola through three values at -1, 0 and 1 is largest."""
    bend = before - 2.0 * at + after
    return float(0.5 * (before - after) / bend) if bend < 0.0 else 0.0


def outlines(image: ComparableImage) -> Pixels:
    """(n, 144) outlines of the image, and of it without borders where it has some; none of a uniform image."""
    found = [image.outline] if image.content is image else [image.outline, image.content.outline]
    return np.array([one for one in found if one is not None], dtype=np.float32).reshape(-1, OUTLINE_NUMBERS)


def mirrored(outlines: Pixels) -> list[Pixels]:
    """(n, 144) outlines as they are, and mirrored in either direction and in both."""
    odd = np.where(np.arange(_FREQUENCIES) % 2, -1.0, 1.0).astype(np.float32)
    across, down = np.tile(odd, _FREQUENCIES), np.repeat(odd, _FREQUENCIES)
    return [outlines, outlines * across, outlines * down, outlines * across * down]
