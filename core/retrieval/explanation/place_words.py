"""What can be said of places in words, only as far as it is measured on both images.

Grey is measured on the image as the encoder is shown it. Each phrase has a threshold that both images must pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from semblance.core.features.places import Floats
from semblance.core.language import join_texts, tr_lazy
from semblance.core.metrics.distance import Matrix

#: Half sides of a place with its neighbours and of what surrounds it, in places.
_INNER, _OUTER = 1.5, 3.5
#: Below this share of the deviation of the image's grey nothing is seen.
_FLAT = 0.03
#: Least differences, in standard deviations of the grey of the image: of an area from what surrounds it, between the
#: two sides of an edge, and of a part of one image from the same part of the other.
_APART, _EDGE, _PART = 0.5, 1.0, 0.75
#: An area is smooth or has strong texture if its texture is below or above these shares of the image's, and a part of
#: one image has a stronger texture than that of the other if it is at least so many times as strong.
_SMOOTH, _STRONG, _STRONGER = 0.6, 1.5, 1.75
#: A part is named as unlike from so many times its even share of the distance.
_FAR = 1.5

_ALIKE = {
    "dark": tr_lazy("a dark area"),
    "bright": tr_lazy("a bright area"),
    "bright below": tr_lazy("an edge that is bright below and dark above"),
    "bright above": tr_lazy("an edge that is bright above and dark below"),
    "bright right": tr_lazy("an edge that is bright on the right and dark on the left"),
    "bright left": tr_lazy("an edge that is bright on the left and dark on the right"),
    "smooth": tr_lazy("smooth texture"),
    "textured": tr_lazy("strong texture"),
}
_PARTS = (
    (tr_lazy("at the upper left"), tr_lazy("at the upper middle"), tr_lazy("at the upper right")),
    (tr_lazy("at the middle left"), tr_lazy("in the centre"), tr_lazy("at the middle right")),
    (tr_lazy("at the lower left"), tr_lazy("at the lower middle"), tr_lazy("at the lower right")),
)


class MeasuredGrey:
    """Grey and texture of an image (h, w, 3) uint8 as an encoder is shown it, with a grid of ``side`` x ``side``
    places."""

    def __init__(self, pixels: npt.NDArray[np.uint8], side: int) -> None:
        from scipy.ndimage import gaussian_filter

        self.grey: Floats = pixels.astype(np.float32).mean(axis=2) / np.float32(255.0)
        self.side = side
        #: A flat image has no deviation: then nothing is said.
        self.deviation = float(self.grey.std())
        fine = self.grey - gaussian_filter(self.grey, 3.0, mode="nearest")
        self.texture: Floats = np.abs(fine)

    def is_flat(self, place: int) -> bool:
        """Whether nothing is seen in ``place``, as on a black background."""
        row, column = divmod(place, self.side)
        return float(self._window(self.grey, row, column, 0.5).std()) < _FLAT * self.deviation

    def words(self, place: int) -> frozenset[str]:
        """The keys of what is measured around ``place``: of an area, an edge and a texture one at most."""
        if self.deviation < 0.01:
            return frozenset()
        row, column = divmod(place, self.side)
        inner = self._window(self.grey, row, column, _INNER)
        around = self._around(row, column)
        found = set()
        apart = (float(inner.mean()) - around) / self.deviation
        halves = self._halves(inner)
        side, step = max(halves.items(), key=lambda half: half[1])
        if step >= _EDGE * self.deviation:
            found.add(side)
        elif abs(apart) >= _APART:
            found.add("bright" if apart > 0 else "dark")
        texture = float(self._window(self.texture, row, column, _INNER).mean())
        usual = float(self.texture.mean())
        if texture <= _SMOOTH * usual:
            found.add("smooth")
        elif texture >= _STRONG * usual:
            found.add("textured")
        return frozenset(found)

    def part(self, row: int, column: int) -> tuple[float, float]:
        """The mean grey, 0 to 1, and the mean texture of a ninth of the image."""
        ends = np.linspace(0, len(self.grey), 4).round().astype(int)
        window = np.s_[ends[row] : ends[row + 1], ends[column] : ends[column + 1]]
        return float(self.grey[window].mean()), float(self.texture[window].mean())

    def _window(self, values: Floats, row: int, column: int, half: float) -> Floats:
        size = len(self.grey) / self.side
        top, left = ((at + 0.5 - half) * size for at in (row, column))
        bottom, right = ((at + 0.5 + half) * size for at in (row, column))
        rows = slice(max(0, round(top)), max(1, round(bottom)))
        return values[rows, max(0, round(left)) : max(1, round(right))]

    def _around(self, row: int, column: int) -> float:
        """The mean grey between the place with its neighbours and the larger square around it."""
        inner = self._window(self.grey, row, column, _INNER)
        outer = self._window(self.grey, row, column, _OUTER)
        pixels = outer.size - inner.size
        return float((outer.sum(dtype=np.float64) - inner.sum(dtype=np.float64)) / max(1, pixels))

    @staticmethod
    def _halves(inner: Floats) -> dict[str, float]:
        """By direction, how much brighter that half is than the one opposite."""
        rows, columns = inner.shape[0] // 2, inner.shape[1] // 2
        down = float(inner[-rows:].mean() - inner[:rows].mean()) if rows else 0.0
        right = float(inner[:, -columns:].mean() - inner[:, :columns].mean()) if columns else 0.0
        return {"bright below": down, "bright above": -down, "bright right": right, "bright left": -right}


def sentence_of_places(
    query: MeasuredGrey, case: MeasuredGrey, pairs: Sequence[tuple[str, int, int]], shares: Matrix | None
) -> str:
    """``Alike in a dark area (b, c) and smooth texture (c). Unlike: the query is brighter at the lower left.``

    ``pairs``: the letter and the places of the query and of the case. ``shares`` (side, side): the mean of both images'
    shares in the distance by position; ``None``: only what is alike is said.
    """
    by_word: dict[str, list[str]] = {}
    for letter, of_query, of_case in pairs:
        both = query.words(of_query) & case.words(of_case)
        for word in (one for one in _ALIKE if one in both):
            by_word.setdefault(word, []).append(letter)
    phrases = [
        tr_lazy("{what} ({letters})", what=_ALIKE[word], letters=", ".join(letters))
        for word, letters in sorted(
            by_word.items(), key=lambda item: (-len(item[1]), list(_ALIKE).index(item[0]))
        )
    ][:3]
    if not phrases:
        alike = tr_lazy("These places match best.")
    elif len(phrases) == 1:
        alike = tr_lazy("Alike in {what}.", what=phrases[0])
    else:
        alike = tr_lazy("Alike in {first} and {last}.", first=join_texts(phrases[:-1]), last=phrases[-1])
    unlike = "" if shares is None else _unlike(query, case, shares)
    return tr_lazy("{alike} {unlike}", alike=alike, unlike=unlike) if unlike else alike


def _unlike(query: MeasuredGrey, case: MeasuredGrey, shares: Matrix) -> str:
    """The part with the largest share of the distance whose grey or texture differs; empty if none does."""
    thirds = np.array([len(part) for part in np.array_split(np.arange(len(shares)), 3)])
    ends = np.concatenate([[0], np.cumsum(thirds)])
    amounts = np.array(
        [[shares[ends[r] : ends[r + 1], ends[c] : ends[c + 1]].sum() for c in range(3)] for r in range(3)]
    )
    even = np.outer(thirds, thirds) / shares.size * max(float(shares.sum()), 0.0)
    deviation = max(query.deviation, case.deviation, 1e-6)
    for number in np.argsort(-amounts, axis=None).tolist():
        row, column = divmod(number, 3)
        if amounts[row, column] < _FAR * even[row, column] or amounts[row, column] <= 0.0:
            return ""
        (grey, texture), (other, other_texture) = query.part(row, column), case.part(row, column)
        where = _PARTS[row][column]
        if abs(grey - other) >= _PART * deviation:
            if grey > other:
                return tr_lazy("Unlike: the query is brighter {part}.", part=where)
            return tr_lazy("Unlike: the query is darker {part}.", part=where)
        if min(texture, other_texture) * _STRONGER <= max(texture, other_texture):
            if texture > other_texture:
                return tr_lazy("Unlike: the query has a stronger texture {part}.", part=where)
            return tr_lazy("Unlike: the query has a weaker texture {part}.", part=where)
    return ""
