"""Ask a library: the cases nearest to a query, with their findings, and what was hidden and why."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments
from semblance.core.evaluation.neighbour_votes import VOTERS
from semblance.core.library.records import CaseDetails
from semblance.core.retrieval.click_index import ClickIndex
from semblance.core.retrieval.diversity import AMONG, diverse_order
from semblance.core.retrieval.index import Index, Matrix, Rows
from semblance.core.retrieval.ranking import EmbeddedQuery, rank
from semblance.core.retrieval.scan_index import ScanIndex
from semblance.core.searches.query import Query
from semblance.core.searches.search import UNUSUAL
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.loaded_metric import LoadedMetric, open_metric
from semblance.core.workflows.searches.neighbourhoods import FEWEST, far_quantile, usual_nearest
from semblance.core.workflows.searches.query_features import embed_query
from semblance.core.workflows.searches.ranking_parts import (
    Folded,
    coordinates_of,
    folded_under,
    is_as_calibrated,
    nearest_others,
    other_kind_of_query,
    query_warnings,
)
from semblance.core.workflows.searches.reliability import FEWER, Vote, vote_of


@dataclass(frozen=True)
class RankedCase:
    """One line of a ranking; ``row`` is the case's row id in the catalogue.

    ``alike`` counts its folded near-duplicates, ``alike_rows`` are the ids of the first of them, with their
    ``alike_distances``. ``rank`` is 0 for a case that stands beyond the ranking.
    """

    rank: int
    row: int
    case_id: str
    distance: float
    finding: str | None
    patient: str | None
    path: str
    alike: int = 0
    alike_rows: tuple[int, ...] = ()
    alike_distances: tuple[float, ...] = ()


@dataclass(frozen=True)
class SearchResult:
    """A ranking with what was hidden, and the findings of the nearest (CONTRACT.md, "search").

    ``others``: the nearest cases with another finding than most of the nearest have. ``warnings`` say what
    about the query makes the ranking doubtful.
    """

    query: Query
    metric: str
    ranked: tuple[RankedCase, ...]
    compared: int
    same_patient: int
    near_duplicates: int
    counts: dict[str, int]
    no_good_match: bool
    usual_distance: float | None
    seconds: dict[str, float] = field(default_factory=dict)
    vote: Vote = field(default_factory=Vote)
    others: tuple[RankedCase, ...] = ()
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query.to_json(),
            "metric": self.metric,
            "results": [_told(case) for case in self.ranked],
            "compared": self.compared,
            "hidden": {"same_patient": self.same_patient, "near_duplicates": self.near_duplicates},
            "vote": {**self.vote.to_json(), "counts": self.counts},
            "no_good_match": self.no_good_match,
            "usual_distance": self.usual_distance,
            "other_finding": [_told(case) for case in self.others],
            "warnings": list(self.warnings),
            "seconds": self.seconds,
        }


def _told(case: RankedCase) -> dict[str, Any]:
    return {
        "rank": case.rank or None,
        "case_id": case.case_id,
        "distance": case.distance,
        "finding": case.finding,
        "path": case.path,
        "near_duplicates": case.alike,
    }


def nearest_cases(
    library: Path,
    metric: str,
    query: Query,
    *,
    k: int = 20,
    hide_same_patient: bool = True,
    fold_duplicates: bool = True,
    without: Collection[str] = (),
    diverse: float = 0.0,
    unusual: float = UNUSUAL,
    reporter: Reporter = SILENT,
) -> SearchResult:
    """The ``k`` cases of ``library`` nearest to ``query`` under ``metric``.

    The query itself is never among them; nor, by default, are other cases of its patient and near-duplicates
    (counted with the one that stays). ``diverse`` and ``unusual`` as in :class:`semblance.core.searches.search.Search`.
    ``without``: groups of features that count for nothing. The library's rows under the metric are kept
    between calls of one process.

    Raises:
        BadArguments: no such metric or group of features, or not exactly one of case and image given.
        BadInput: no such case, no features for it, or an image that cannot be read.
    """
    if (query.case is None) == (query.image is None):
        raise BadArguments("A search needs one query.", "Give either --case or --image.")
    loaded = open_metric(library, metric, reporter, without=without)
    begin = time.perf_counter()
    asked = embed_query(loaded, query)
    features = time.perf_counter() - begin
    return ranked_result(
        loaded,
        metric,
        query,
        asked,
        loaded.index,
        k=k,
        hide_same_patient=hide_same_patient,
        fold_duplicates=fold_duplicates,
        diverse=diverse,
        nearest=loaded.neighbourhoods.distances,
        unusual=unusual,
        changed=FEWER if without else "",
        features_seconds=features,
    )


def ranked_result(
    loaded: LoadedMetric,
    metric: str,
    query: Query,
    asked: EmbeddedQuery,
    index: Index | ScanIndex | ClickIndex,
    *,
    k: int,
    hide_same_patient: bool,
    fold_duplicates: bool,
    nearest: Matrix | None,
    features_seconds: float,
    allowed: npt.NDArray[np.bool_] | None = None,
    diverse: float = 0.0,
    unusual: float = UNUSUAL,
    changed: str = "",
) -> SearchResult:
    """What :func:`search` gives, by any ``index`` over the loaded's cases.

    ``nearest`` (s,): squared distances from cases of the library to their nearest, by the same index;
    ``None`` where they are not known. ``allowed`` (n,): cases that may answer. ``changed`` as
    :func:`semblance.core.workflows.searches.reliability.vote_of` takes it.
    """
    begin = time.perf_counter()
    by_rank = partial(
        rank,
        index,
        asked,
        patients=loaded.patients if hide_same_patient else None,
        keys=loaded.keys if fold_duplicates else None,
        allowed=allowed,
    )
    if nearest is not None and len(nearest) < FEWEST:
        nearest = None
    typical = usual_nearest(nearest) if fold_duplicates else None
    wanted = max(k, VOTERS)
    ask = wanted * AMONG if diverse > 0.0 else wanted
    while True:
        ranking = by_rank(ask)
        same = loaded.duplicate_finder.folded(
            ranking.rows, coordinates_of(loaded, index, ranking.rows), typical
        )
        kept = np.flatnonzero(np.array(same, dtype=np.int64) == np.arange(len(same)))
        if len(kept) >= min(wanted, len(ranking.rows)) or len(ranking.rows) < ask:
            break
        ask += len(ranking.rows) - len(kept)
    voters = ranking.rows[kept][:VOTERS].tolist()
    closest = float(ranking.distances[0]) if len(ranking.rows) else None
    if diverse > 0.0:
        places = coordinates_of(loaded, index, ranking.rows[kept])
        kept = kept[diverse_order(ranking.distances[kept], places, k, diverse)]
    kept = kept[:k]
    vote = vote_of(
        loaded,
        asked,
        voters,
        changed=changed,
        is_as_calibrated=is_as_calibrated(loaded, asked, voters, hide_same_patient, fold_duplicates),
        otherwise=other_kind_of_query(loaded, query),
    )
    others = nearest_others(loaded, index, by_rank, ranking, vote, voters, allowed, typical)
    alike = folded_under(loaded, asked, ranking, same, hide_same_patient)
    shown = ranking.rows[kept]
    details = loaded.details(loaded.rows[np.union1d(shown, others[0])].tolist())
    ranked = _lines(loaded, details, shown, ranking.distances[kept], alike)
    rank_of = {case.row: case.rank for case in ranked}
    beside = _lines(loaded, details, *others, {})
    usual = None if nearest is None else far_quantile(nearest, unusual)
    return SearchResult(
        query,
        metric,
        ranked,
        len(loaded.rows) - (asked.row is not None),
        ranking.hidden_same_patient,
        ranking.hidden_near_duplicates + sum(at != place for place, at in enumerate(same)),
        vote.counts,
        bool(closest is not None and usual is not None and closest > usual),
        usual,
        {"features": features_seconds, "search": time.perf_counter() - begin},
        vote,
        tuple(replace(case, rank=rank_of.get(case.row, 0)) for case in beside),
        query_warnings(loaded, query),
    )


def _lines(
    loaded: LoadedMetric,
    details: Mapping[int, CaseDetails],
    places: Rows,
    distances: Matrix,
    alike: Mapping[int, Folded],
) -> tuple[RankedCase, ...]:
    lines = []
    pairs = zip(places.tolist(), distances.tolist(), strict=True)
    for number, (place, distance) in enumerate(pairs, start=1):
        case = details.get(int(loaded.rows[place]))
        if case is not None:
            path = "" if case.address is None else str(case.address)
            copies = alike.get(place, (0, (), ()))
            lines.append(
                RankedCase(
                    number, case.row, case.case_id, distance, case.finding, case.patient, path, *copies
                )
            )
    return tuple(lines)
