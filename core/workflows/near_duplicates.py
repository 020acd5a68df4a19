"""Ranked pictures that show one and the same: found by their features first, then by what is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from core.imaging.fingerprint import Fingerprint, fingerprint

if TYPE_CHECKING:
    from core.workflows.desk import Desk

Matrix = npt.NDArray[np.float64]

#: First cases of a ranking among which near-duplicates are looked for: what is seen without scrolling far.
LOOKED_AT = 60
#: Two of one picture are closer to each other than this many times the usual squared distance to a nearest:
#: a picture saved in another size has other edges and texture, and what is seen decides.
_CLOSE = 2.0
#: Fingerprints kept in memory.
_KEPT = 20_000


class Lookalikes:
    """Tells near-duplicates of one desk apart from cases that are only close."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._known: dict[str, Fingerprint | None] = {}

    def folded(self, places: npt.NDArray[np.int64], coordinates: Matrix, usual: float | None) -> list[int]:
        """For each of ``places`` (r,), nearest first, the number in the list it is a near-duplicate of; its
        own where it is none.

        ``coordinates`` (r, m) decide which pictures are worth comparing; ``usual`` is the squared distance
        from a case to its nearest. Cases of other findings, or of other regions of one picture, are not
        folded: a copy that contradicts is worth seeing.
        """
        own = list(range(len(places)))
        if usual is None or len(own) < 2:
            return own
        first = coordinates[:LOOKED_AT]
        norms = np.einsum("ij,ij->i", first, first)
        between = norms[:, None] + norms - 2.0 * first @ first.T
        one, other = np.nonzero(np.triu(between <= _CLOSE * usual, 1))
        findings = self._desk.findings
        pairs = [
            (a, b)
            for a, b in zip(one.tolist(), other.tolist(), strict=True)
            if findings[places[a]] == findings[places[b]]
        ]
        if not pairs:
            return own
        prints = self._prints([int(places[at]) for at in sorted({at for pair in pairs for at in pair})])
        for a, b in pairs:
            left, right = prints.get(int(places[a])), prints.get(int(places[b]))
            if own[b] != b or own[a] != a or left is None or right is None or left[0] == right[0]:
                continue
            if left[1].is_alike(right[1]):
                own[b] = a
        return own

    def _prints(self, places: list[int]) -> dict[int, tuple[str, Fingerprint]]:
        """File and fingerprint of cases whose thumbnail is there."""
        library = self._desk.library
        details = library.catalogue.details([int(self._desk.rows[place]) for place in places])
        cases = {place: details.get(int(self._desk.rows[place])) for place in places}
        contents = {case.content for case in cases.values() if case is not None and case.address is not None}
        new = sorted(contents - self._known.keys())
        if len(self._known) > _KEPT:
            self._known.clear()
            new = sorted(contents)
        for content, encoded in library.thumbnails.get(new).items():
            self._known[content] = _of(encoded)
        out = {}
        for place, case in cases.items():
            found = None if case is None else self._known.get(case.content)
            if case is not None and found is not None:
                out[place] = (str(case.address), found)
        return out


def _of(encoded: bytes) -> Fingerprint | None:
    try:
        return fingerprint(encoded)
    except (OSError, ValueError):
        # A damaged thumbnail is made again when it is seen; until then its case is like no other.
        return None
