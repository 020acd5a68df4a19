"""Regions as queries of whole images, by their places: how near each case is, and where in it the region is found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.features.places import Codes, Floats, unit_codes
from semblance.core.retrieval.place_index import PlaceQuery, evenly_sampled
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: A place counts as inside a region if more than this share of it is.
IN_REGION = 0.25
#: A place belongs to a query if more than this share of it is inside the region.
_IN_QUERY = 0.5
#: Cases that are compared at a time (13 MB of places).
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class CasePlaces:
    """Of n cases the coded places (n, p, m) of their whole images, and what of them lies inside regions.

    ``own`` (n, p): the share of each place inside the region of the case; ``marked`` (n, p): inside any region of its
    image. Both are NaN for a case without a region. ``whole`` (n, d): features of the whole images.
    """

    codes: Codes
    own: Floats
    marked: Floats
    whole: npt.NDArray[np.float32]

    @property
    def has_region(self) -> npt.NDArray[np.bool_]:
        """(n,) whether a region of the case is known."""
        return np.asarray(~np.isnan(self.own).any(axis=1), dtype=np.bool_)

    def rows(self, rows: Rows) -> CasePlaces:
        """Those of some cases (k,)."""
        return CasePlaces(self.codes[rows], self.own[rows], self.marked[rows], self.whole[rows])

    def query(self, row: int) -> PlaceQuery:
        """The places of the region of a case, as a search compares them."""
        inside = np.flatnonzero(self.own[row] > _IN_QUERY)
        chosen = inside if len(inside) else np.array([int(self.own[row].argmax())])
        return PlaceQuery.of(self.codes[row, evenly_sampled(chosen)])


def found_places(places: CasePlaces, queries: Rows, reporter: Reporter = SILENT) -> tuple[Matrix, Rows]:
    """Squared distances (q, n) of the regions of ``queries`` (q,) to all cases, and the place (q, n) of each case where
    the region is found.

    They are those of :class:`semblance.core.retrieval.place_index.PlaceIndex`, of all queries at once: each block of
    cases is read once. The region is found at the place with the largest mean cosine with the places of the region.
    """
    parts = [places.query(row).places for row in queries.tolist()]
    n, per_case, width = places.codes.shape
    distances = np.empty((len(queries), n))
    found = np.empty((len(queries), n), dtype=np.intp)
    for start in range(0, n, _BLOCK):
        reporter.check_cancelled()
        block = unit_codes(places.codes[start : start + _BLOCK])
        rows = block.reshape(-1, width)
        for number, part in enumerate(parts):
            cosines = (rows @ part.T).reshape(len(block), per_case, len(part))
            best = cosines.max(axis=1).mean(axis=1, dtype=np.float64)
            distances[number, start : start + len(block)] = np.maximum(2.0 - 2.0 * best, 0.0)
            found[number, start : start + len(block)] = cosines.mean(axis=2).argmax(axis=1)
    return distances, found
