"""Ask a library: the cases nearest to a query, with their findings, and what was hidden and why."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import BadArguments, BadInput, SemblanceError
from core.features.registry import make_extractor
from core.imaging import PictureAddress, PictureReader
from core.library.records import CaseDetails
from core.retrieval.index import Index
from core.retrieval.ranking import Query as RankQuery
from core.retrieval.ranking import rank
from core.retrieval.reranking import ClickIndex
from core.retrieval.scan import ScanIndex
from core.searches.query import Query
from core.tasks import SILENT, Reporter
from core.workflows.desk import Desk, desk_for

#: Nearest cases whose findings are counted.
VOTERS = 10


@dataclass(frozen=True)
class RankedCase:
    """One line of a ranking; ``row`` is the case's row id in the catalogue, ``alike`` folded duplicates."""

    rank: int
    row: int
    case_id: str
    distance: float
    finding: str | None
    patient: str | None
    path: str
    alike: int = 0


@dataclass(frozen=True)
class SearchResult:
    """A ranking with what was hidden, and the findings of the nearest (CONTRACT.md, "search")."""

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

    def to_json(self) -> dict[str, Any]:
        top = max(self.counts, key=lambda f: self.counts[f]) if self.counts else None
        return {
            "query": self.query.to_json(),
            "metric": self.metric,
            "results": [
                {
                    "rank": r.rank,
                    "case_id": r.case_id,
                    "distance": r.distance,
                    "finding": r.finding,
                    "path": r.path,
                }
                for r in self.ranked
            ],
            "compared": self.compared,
            "hidden": {"same_patient": self.same_patient, "near_duplicates": self.near_duplicates},
            "vote": {
                "counts": self.counts,
                "calibrated": False,
                "measured_on": None,
                "finding": top,
                "probability": None,
                "interval": None,
            },
            "no_good_match": self.no_good_match,
            "seconds": self.seconds,
        }


def search(
    library: Path,
    metric: str,
    query: Query,
    *,
    k: int = 20,
    hide_same_patient: bool = True,
    fold_duplicates: bool = True,
    without: Collection[str] = (),
    reporter: Reporter = SILENT,
) -> SearchResult:
    """The ``k`` cases of ``library`` nearest to ``query`` under ``metric``.

    The query itself is never among them; nor, by default, are other cases of its patient and pictures with
    the very same content (counted with the one that stays). ``without``: groups of features that count for
    nothing. The library's rows under the metric are kept
    between calls of one process.

    Raises:
        BadArguments: no such metric or group of features, or not exactly one of case and image given.
        BadInput: no such case, no features for it, or a picture that cannot be read.
    """
    if (query.case is None) == (query.image is None):
        raise BadArguments("A search needs one query.", "Give either --case or --image.")
    desk = desk_for(library, metric, reporter, without=without)
    begin = time.perf_counter()
    asked = asked_of(desk, query)
    features = time.perf_counter() - begin
    return ranked_result(
        desk,
        metric,
        query,
        asked,
        desk.index,
        k=k,
        hide_same_patient=hide_same_patient,
        fold_duplicates=fold_duplicates,
        usual=desk.usual_nearest(),
        features_seconds=features,
    )


def ranked_result(
    desk: Desk,
    metric: str,
    query: Query,
    asked: RankQuery,
    index: Index | ScanIndex | ClickIndex,
    *,
    k: int,
    hide_same_patient: bool,
    fold_duplicates: bool,
    usual: float | None,
    features_seconds: float,
    allowed: npt.NDArray[np.bool_] | None = None,
) -> SearchResult:
    """What :func:`search` gives, by any ``index`` over the desk's cases; ``usual`` as in the result.

    ``allowed`` (n,): cases that may answer.
    """
    begin = time.perf_counter()
    nearest = partial(
        rank,
        index,
        asked,
        patients=desk.patients if hide_same_patient else None,
        keys=desk.keys if fold_duplicates else None,
        allowed=allowed,
    )
    ranking = nearest(k)
    voters = (ranking if k >= VOTERS else nearest(VOTERS)).rows[:VOTERS]
    rows = desk.rows[ranking.rows].tolist()
    details = desk.library.catalogue.details(rows)
    ranked = tuple(
        _line(place, details[row], distance, alike)
        for place, (row, distance, alike) in enumerate(
            zip(rows, ranking.distances.tolist(), ranking.folded.tolist(), strict=True), start=1
        )
        if row in details
    )
    findings = [finding for place in voters.tolist() if (finding := desk.findings[place]) is not None]
    return SearchResult(
        query,
        metric,
        ranked,
        len(desk.rows) - (asked.row is not None),
        ranking.hidden_same_patient,
        ranking.hidden_near_duplicates,
        dict(sorted(Counter(findings).items(), key=lambda item: (-item[1], item[0]))),
        bool(ranked and usual is not None and ranked[0].distance > usual),
        usual,
        {"features": features_seconds, "search": time.perf_counter() - begin},
    )


def explain(library: Path, metric: str, query: Query, case: str, *, reporter: Reporter = SILENT) -> list[Any]:
    """Parts of the distance from ``query`` to ``case``; they sum to it.

    Raises:
        BadInput: no such case, or no features for it.
    """
    desk = desk_for(library, metric, reporter)
    return list(desk.metric.explain(numbers_of(desk, query), case_numbers(desk, case)))


def asked_of(desk: Desk, query: Query) -> RankQuery:
    """The query in the metric's coordinates, and who it is."""
    place = patient = None
    key = -1
    if query.case is not None:
        row = desk.row_of(query.case)
        place, patient, key = desk.place_of(row), desk.patient_of(row), desk.key_of(row)
        if query.region is None and place is not None:
            tie = None if desk.ties is None else desk.ties[place]
            return RankQuery(desk.embedding[place], tie, place, patient, key)
    numbers = numbers_of(desk, query)[None, :]
    tie = desk.metric.tie_break(numbers)
    return RankQuery(
        desk.metric.coordinates(numbers)[0], None if tie is None else tie[0], place, patient, key
    )


def numbers_of(desk: Desk, query: Query) -> Any:
    """(d,) features of the query, float64.

    Raises:
        BadInput: no such case, no features for it, or a picture that cannot be read.
    """
    if query.case is not None and query.region is None:
        return case_numbers(desk, query.case)
    feature_set = desk.feature_set
    extractor = make_extractor(feature_set.extractor, **feature_set.settings)
    if extractor.version != feature_set.version:
        raise SemblanceError(
            f"The features '{feature_set.name}' were made by another version of {extractor.title}.",
            "Extract them again, then train anew.",
        )
    if query.case is not None:
        details = desk.library.catalogue.details([desk.row_of(query.case)])
        case = next(iter(details.values()))
        if case.address is None:
            raise BadInput(f"The case {query.case} has no picture.", "Search with the whole case instead.")
        address, shown = case.address, case.region
    else:
        assert query.image is not None
        if not extractor.needs_picture:
            raise BadInput(
                f"A picture cannot be compared by '{feature_set.name}': these are a table's own columns.",
                "Ask with --case, or choose a metric on picture features.",
            )
        address, shown = PictureAddress(query.image), None
    with PictureReader() as reader:
        if extractor.volumes and reader.is_stack(address):
            region = query.region
            if region is not None and region.z is None and shown is not None:
                # Drawn without a slice it lies on the one that is shown.
                region = replace(region, z=shown.middle_slice)
            with reader.stack(address) as stack:
                prepared = extractor.prepare_stack(stack, region)
            return extractor.measure([prepared])[0].astype(np.float64)
        picture = reader.open(address, query.region or shown)
    return extractor.extract(picture, query.region).astype(np.float64)


def case_numbers(desk: Desk, case: str) -> Any:
    """(d,) features of a case as extracted, float64.

    Raises:
        BadInput: no such case, or no features for it.
    """
    row = desk.row_of(case)
    ids, values = desk.library.features.read(desk.feature_set, np.array([row]))
    if not len(ids):
        raise BadInput(
            f"The case {case} has no numbers in the feature set '{desk.feature_set.name}'.",
            f"Extract them: semblance features LIB --extractor {desk.feature_set.extractor}.",
        )
    return values[0].astype(np.float64)


def _line(rank: int, case: CaseDetails, distance: float, alike: int) -> RankedCase:
    path = "" if case.address is None else str(case.address)
    return RankedCase(rank, case.row, case.case_id, distance, case.finding, case.patient, path, alike)
