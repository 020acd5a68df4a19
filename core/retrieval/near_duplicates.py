"""Find near-duplicates among ranked cases: by their features first, then by their pixels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.image_signature import ImageSignature, image_signature, near_duplicate_pairs

if TYPE_CHECKING:
    from semblance.core.library.library import Library

Matrix = npt.NDArray[np.float64]

#: First cases of a ranking among which near-duplicates are looked for: all 200 that the window shows, and
#: those that take the places of grouped ones. A signature takes .8 ms, once.
COMPARED = 256
#: Two of one image are closer to each other than this many times the usual squared distance to a nearest:
#: an image saved in another size has other edges and texture, and the pixels decide.
_CLOSE = 2.0
#: Fingerprints kept in memory, of 6 kB each.
_MAX_FINGERPRINTS = 15_000


class DuplicateFinder:
    """Finds near-duplicates among the cases ``rows`` (n,), which have these ``findings``.

    ``by_hand``: row ids of the cases whose lesions a person told apart; they are not grouped with each other.
    """

    def __init__(
        self,
        library: Library,
        rows: npt.NDArray[np.int64],
        findings: Sequence[str | None],
        by_hand: Collection[int] = (),
    ) -> None:
        self._library, self._rows, self._findings = library, rows, findings
        self._by_hand = np.isin(rows, list(by_hand))
        #: Content and file of the cases looked at, by place; ``None`` for a case without an image.
        self._shown: dict[int, tuple[str, str] | None] = {}
        self._known: dict[str, ImageSignature | None] = {}

    def representatives(
        self, places: npt.NDArray[np.int64], coordinates: Matrix, usual: float | None
    ) -> list[int]:
        """For each of ``places`` (r,), nearest first, the number in the list it is a near-duplicate of; its
        own where it is none.

        ``coordinates`` (r, m) decide which images are worth comparing; ``usual`` is the squared distance
        from a case to its nearest. Cases of other findings, or of other regions of one image, are not
        grouped: a copy that contradicts is worth seeing.
        """
        own = list(range(len(places)))
        if usual is None or len(own) < 2:
            return own
        first = coordinates[:COMPARED]
        norms = np.einsum("ij,ij->i", first, first)
        between = norms[:, None] + norms - 2.0 * first @ first.T
        compared = places[: len(first)].tolist()
        numbers: dict[str | None, int] = {}
        codes = np.array([numbers.setdefault(self._findings[place], len(numbers)) for place in compared])
        worth = np.triu((between <= _CLOSE * usual) & (codes[:, None] == codes), 1)
        told_apart = self._by_hand[places[: len(first)]]
        worth &= ~(told_apart[:, None] & told_apart)
        prints = self._prints([compared[at] for at in _numbers_in_pairs(worth)])
        there = np.array([place in prints for place in compared])
        worth &= there[:, None] & there
        # Prints are compared only where both of a pair have one: most have neither a pair nor a copy.
        known = _numbers_in_pairs(worth)
        if not len(known):
            return own
        marks = [prints[compared[at]] for at in known]
        are_equal = near_duplicate_pairs([mark for _, mark in marks]) & worth[np.ix_(known, known)]
        for left, right in np.argwhere(are_equal).tolist():
            a, b = int(known[left]), int(known[right])
            if own[a] == a and own[b] == b and marks[left][0] != marks[right][0]:
                own[b] = a
        return own

    def places_like(
        self,
        signature: ImageSignature,
        places: npt.NDArray[np.int64],
        distances: Matrix,
        usual: float | None,
    ) -> set[int]:
        """Those of ``places`` (r,) whose image has nearly the pixels that ``signature`` is of.

        ``distances`` (r,) from the image decide which are worth comparing; with ``usual`` (see
        :meth:`representatives`) unknown, all are.
        """
        close = places if usual is None else places[distances <= _CLOSE * usual]
        prints = self._prints(close.tolist())
        are_equal = near_duplicate_pairs([signature, *(mark for _, mark in prints.values())])[0, 1:]
        return {place for place, same in zip(prints, are_equal.tolist(), strict=True) if same}

    def _prints(self, places: list[int]) -> dict[int, tuple[str, ImageSignature]]:
        """File and signature of cases whose thumbnail is there."""
        library, rows = self._library, self._rows
        if len(self._shown) > _MAX_FINGERPRINTS:
            self._shown.clear()
            self._known.clear()
        unseen = [place for place in places if place not in self._shown]
        if unseen:
            details = library.catalogue.details([int(rows[place]) for place in unseen])
            for place in unseen:
                case = details.get(int(rows[place]))
                imaged = case is not None and case.address is not None
                self._shown[place] = (case.content, str(case.address)) if case and imaged else None
        shown = {place: found for place in places if (found := self._shown[place]) is not None}
        new = sorted({content for content, _ in shown.values()} - self._known.keys())
        if new:
            # A thumbnail that is not there yet may be the next time.
            for content, encoded in library.thumbnails.get(new).items():
                self._known[content] = _signature_of(encoded)
        return {
            place: (address, mark)
            for place, (content, address) in shown.items()
            if (mark := self._known.get(content)) is not None
        }


def _numbers_in_pairs(pairs: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Numbers, in order, that stand in any of ``pairs`` (r, r)."""
    return np.flatnonzero(pairs.any(axis=0) | pairs.any(axis=1))


def _signature_of(encoded: bytes) -> ImageSignature | None:
    try:
        return image_signature(encoded)
    except (OSError, ValueError):
        # A damaged thumbnail is made again when it is seen; until then its case is like no other.
        return None
