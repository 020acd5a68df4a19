"""What stands beside a ranking: other findings, what is folded, and what makes it doubtful."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.retrieval.click_index import ClickIndex
from semblance.core.retrieval.index import Index, Matrix, Rows
from semblance.core.retrieval.ranking import EmbeddedQuery, Ranking
from semblance.core.retrieval.scan_index import ScanIndex
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.reliability import PART_ASKED, WHOLE_ASKED, Vote

#: Cases beside the ranking that have the other finding, and folded ones told by id.
OTHERS, MOST_ALIKE = 6, 100
#: How many are folded under a case, the ids of the first of them, and their distances.
Folded = tuple[int, tuple[int, ...], tuple[float, ...]]


def coordinates_of(loaded: LoadedMetric, index: Index | ScanIndex | ClickIndex, rows: Rows) -> Matrix:
    """(r, m) where Euclidean distances are those of ``index``, or near them where it has no coordinates."""
    if isinstance(index, ClickIndex):
        return index.embedded(rows)
    return np.asarray(loaded.embedding[rows], dtype=np.float64)


def is_as_calibrated(
    loaded: LoadedMetric,
    asked: EmbeddedQuery,
    voters: list[int],
    hide_same_patient: bool,
    fold_duplicates: bool,
) -> bool:
    """Whether the voters are those of a search that hides the query's patient and folds copies."""
    if not hide_same_patient and asked.own_cases(loaded.patients)[voters].any():
        return False
    if fold_duplicates:
        return True
    keys = loaded.keys[voters].tolist()
    return len(set(keys)) == len(keys) and not asked.copies_among(loaded.keys)[voters].any()


def nearest_others(
    loaded: LoadedMetric,
    index: Index | ScanIndex | ClickIndex,
    by_rank: Callable[..., Ranking],
    ranking: Ranking,
    vote: Vote,
    voters: list[int],
    allowed: npt.NDArray[np.bool_] | None,
    typical: float | None,
) -> tuple[Rows, Matrix]:
    """The nearest cases with another finding than most of the voters have, near-duplicates folded.

    ``typical`` is the squared distance from a case to its nearest, ``None`` where nothing is folded.
    """
    top = next(iter(vote.counts), None)
    if top is None:
        return np.empty(0, dtype=np.int64), np.empty(0)
    code = next(loaded.finding_codes[place] for place in voters if loaded.findings[place] == top)
    codes = loaded.finding_codes[ranking.rows]
    near = np.flatnonzero((codes >= 0) & (codes != code))[: 2 * OTHERS]
    rows, distances = ranking.rows[near], ranking.distances[near]
    if len(near) < 2 * OTHERS and not isinstance(index, ClickIndex):
        # A click may not cost a second comparison with all cases; the window ranks two hundred.
        other = (loaded.finding_codes >= 0) & (loaded.finding_codes != code)
        found = by_rank(2 * OTHERS, allowed=other if allowed is None else other & allowed)
        rows, distances = found.rows, found.distances
    same = loaded.duplicate_finder.folded(rows, coordinates_of(loaded, index, rows), typical)
    kept = [place for place, stands in enumerate(same) if place == stands][:OTHERS]
    return rows[kept], distances[kept]


def folded_under(
    loaded: LoadedMetric, asked: EmbeddedQuery, ranking: Ranking, same: list[int], hide_same_patient: bool
) -> dict[int, Folded]:
    """The near-duplicates that each ranked place stands for."""
    out: dict[int, Folded] = {}
    for at, (place, distance) in enumerate(
        zip(ranking.rows.tolist(), ranking.distances.tolist(), strict=True)
    ):
        found = []
        if ranking.folded[at]:
            copies = loaded.keys == loaded.keys[place]
            if hide_same_patient:
                copies &= ~asked.own_cases(loaded.patients)
            found = [one for one in np.flatnonzero(copies).tolist() if one not in (place, asked.row)]
        stands = int(ranking.rows[same[at]])
        n, rows, distances = out.get(stands, (0, (), ()))
        if stands != place:
            n, found = n + 1, [place, *found]
        # What has the same content is as far away.
        ids = (rows + tuple(loaded.rows[found].tolist()))[:MOST_ALIKE]
        out[stands] = (
            n + int(ranking.folded[at]),
            ids,
            (distances + (distance,) * len(found))[:MOST_ALIKE],
        )
    return out


def other_kind_of_query(loaded: LoadedMetric, query: Query) -> str:
    """Why ``query`` is of another kind than the cases that votes are calibrated on; or nothing."""
    if query.region is not None and not loaded.with_regions:
        return PART_ASKED
    if query.image is not None and query.region is None and loaded.with_regions:
        return WHOLE_ASKED
    return ""


def query_warnings(loaded: LoadedMetric, query: Query) -> tuple[str, ...]:
    """What about ``query`` makes its ranking doubtful."""
    if other_kind_of_query(loaded, query) == WHOLE_ASKED:
        return (
            tr_lazy(
                "The cases of this library are regions of images, and the query is a whole image. "
                "Draw the region to compare."
            ),
        )
    return ()
