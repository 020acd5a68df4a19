"""Score a metric on held-out cases, and beside it a control that was trained on shuffled findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.calibration import Calibration, calibrate
from semblance.core.evaluation.chance import K
from semblance.core.evaluation.data import DROPPED, EvaluationData
from semblance.core.evaluation.evaluate_metric import (
    HELD_OUT_CASES,
    MOST_RETRIEVED,
    held_out_queries,
    score_rankings,
)
from semblance.core.evaluation.search_rankings import (
    VOTERS,
    Gallery,
    SearchRankings,
    neighbour_votes,
    search_rankings,
)
from semblance.core.evaluation.shortcuts import ProbedSearches, ShortcutProbe, number_groups, probe_shortcuts
from semblance.core.evaluation.shuffled_control import ShuffledControl, measure_control, shuffled_by_unit
from semblance.core.evaluation.splits import HoldOut, Rows, patient_codes
from semblance.core.evaluation.subgroups import (
    AGE,
    ATTRIBUTES,
    ScoredQueries,
    SubgroupScore,
    age_bands,
    subgroup_scores,
)
from semblance.core.imaging.burnt_in_marks import MARKS_ATTRIBUTE
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.vault import OPENINGS
from semblance.core.metrics.training_data.training_sample import stratified_sample
from semblance.core.tasks import SILENT, PartReporter, Reporter
from semblance.core.workflows.metrics.held_out_cases import HeldOutCases, held_out_cases
from semblance.core.workflows.metrics.leakage import COUNTED, IdentityIndex, counted_by_patient, is_supervised
from semblance.core.workflows.metrics.stored_metric import stored_metric

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.metric import Metric
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from semblance.core.workflows.metrics.training_data import TrainingData


#: Key of stored scores: the control with shuffled findings, which was trained with the metric.
CONTROL = "shuffled_control"
#: Attributes of cases that should not matter to a metric.
BURNT_IN = "burnt_in_text"
SHORTCUTS = ("manufacturer", "station", "institution", "view", "laterality", BURNT_IN, MARKS_ATTRIBUTE)
_IN_DICOM = "modality"

#: Training cases and queries at most, a seeded sample of whole patients if there are more, so that the control costs
#: no more than a small training.
MOST_TRAINING, MOST_QUERIES = 1_000, 1_000
_K = 10


@dataclass(frozen=True, eq=False)
class HeldOutSearches:
    """``rankings`` of searches with some of the rows ``test`` of ``data``, all cases of the library with their
    findings as in training; the metric was fitted on the rows ``train``."""

    data: EvaluationData
    train: Rows
    test: Rows
    rankings: SearchRankings


def held_out_searches(
    library: Library,
    metric: Metric,
    held_out: HeldOutCases,
    k: int,
    *,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> HeldOutSearches:
    """The first ``k`` ranks of searches in ``library`` with the held-out cases of ``metric``, or a sample of them.

    They are ranked as :func:`semblance.core.workflows.searches.rank_cases.rank_cases` does: every case with the
    features may be ranked except those of the query's patient and lesion, and each lesion is shown once.

    Raises:
        BadInput: no case was held out.
    """
    everything = held_out.everything
    assert everything.case_rows is not None
    renamed = held_out.findings_map or {}
    findings = [renamed.get(name, name) for name in everything.y.tolist()]
    data = replace(everything, y=np.array([name if name != DROPPED else "" for name in findings]))
    unseen = IdentityIndex(library).unseen(held_out.training, held_out.trained_elsewhere)
    train = np.flatnonzero(np.isin(everything.case_rows, held_out.training))
    test = np.flatnonzero(np.isin(everything.case_rows, unseen) & (data.y != ""))
    queries = held_out_queries(data, train, test, seed)
    rankings = search_rankings(Gallery.of(metric, data), queries, k, reporter=reporter)
    return HeldOutSearches(data, train, test, rankings)


def calibrate_estimate(
    library: Library,
    metric: Metric,
    held_out: HeldOutCases,
    *,
    measured_on: str,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> Calibration | None:
    """The calibration of the estimate of ``metric``, measured by searches with held-out cases.

    ``None`` if too few cases were held out.

    Raises:
        BadInput: no case was held out.
    """
    searches = held_out_searches(library, metric, held_out, VOTERS, seed=seed, reporter=reporter)
    return calibrate_rankings(searches.rankings, held_out, measured_on=measured_on, seed=seed)


def calibrate_rankings(
    rankings: SearchRankings, held_out: HeldOutCases, *, measured_on: str, seed: int = 0
) -> Calibration | None:
    """The calibration on existing ``rankings``; ``None`` if they are too few."""
    assert held_out.everything.case_rows is not None
    votes = neighbour_votes(rankings, held_out.everything.case_rows, measured_on)
    return None if votes is None else calibrate(votes, rankings.gallery.names, max_voters=VOTERS, seed=seed)


def score_metric(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Score a stored metric again, on all cases of the library whose patients have no training case.

    Raises:
        BadArguments: no such metric.
        BadInput: no case was held out.
    """
    with open_library(library, writable=True) as opened:
        record = opened.metric(name)
        held_out = held_out_cases(opened, record)
        scores = held_out_scores(opened, stored_metric(record), held_out, reporter=reporter)
        stored = {
            **scores,
            "training_curve": (record.scores or {}).get("training_curve", []),
            CONTROL: (record.scores or {}).get(CONTROL),
            OPENINGS: (record.scores or {}).get(OPENINGS, []),
            COUNTED: counted_by_patient(opened, record.training),
        }
        opened.set_scores(name, stored)
        return scores


def held_out_scores(
    library: Library, metric: Metric, held_out: HeldOutCases, *, seed: int = 0, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """The scores of ``metric`` as JSON; "calibration" is that of its estimate, ``None`` if too few cases were held
    out.

    Raises:
        BadInput: no case was held out.
    """
    searches = held_out_searches(library, metric, held_out, MOST_RETRIEVED, seed=seed, reporter=reporter)
    scores = score_rankings(
        searches.rankings, searches.data, searches.train, searches.test, seed=seed
    ).to_json()
    if held_out.trained_elsewhere:
        # Patients have different codes in every library, so some may have been training cases elsewhere.
        scores["measured_on"] = HELD_OUT_CASES
    calibration = calibrate_rankings(
        searches.rankings, held_out, measured_on=scores["measured_on"], seed=seed
    )
    subgroups = _subgroups(library, searches, calibration, seed)
    return {
        **scores,
        "calibration": None if calibration is None else calibration.to_json(),
        "subgroups": [one.to_json() for one in subgroups],
        "shortcuts": [one.to_json() for one in _shortcuts(library, searches, seed)],
    }


def _subgroups(
    library: Library, searches: HeldOutSearches, calibration: Calibration | None, seed: int
) -> tuple[SubgroupScore, ...]:
    """The scores by finding, and by other attributes of the cases."""
    data, rankings = searches.data, searches.rankings
    assert data.case_rows is not None
    rows = data.case_rows[rankings.queries].tolist()
    estimates = {} if calibration is None else {row: (p, truth) for row, p, truth in calibration.cases}
    found = np.array([estimates.get(row, (np.nan, np.nan)) for row in rows], dtype=np.float64).reshape(-1, 2)
    units = patient_codes(data.units, data.n_cases)
    accuracy = rankings.retrieval_accuracy
    queries = ScoredQueries(
        accuracy[:, min(K, accuracy.shape[1]) - 1],
        found[:, 0],
        found[:, 1],
        data.y[rankings.queries],
        np.arange(len(rows)) if units is None else units[rankings.queries],
    )
    of_cases = library.catalogue.attributes(ATTRIBUTES)
    attributes = {
        name: np.array([of_cases.get(row, {}).get(name, "").strip() for row in rows], dtype=np.str_)
        for name in ATTRIBUTES
    }
    return subgroup_scores(queries, attributes | {AGE: age_bands(attributes[AGE])}, seed=seed)


def _shortcuts(library: Library, searches: HeldOutSearches, seed: int) -> tuple[ShortcutProbe, ...]:
    """The probes of attributes that should not matter, as far as the cases have them."""
    data, rankings = searches.data, searches.rankings
    assert data.case_rows is not None
    rows = data.case_rows.tolist()
    of_cases = library.catalogue.attributes((*SHORTCUTS, _IN_DICOM))
    for values in of_cases.values():
        if _IN_DICOM in values:
            # A DICOM file without a statement on burnt-in text counts as without.
            values.setdefault(BURNT_IN, "no")
    attributes = {
        name: np.array([of_cases.get(row, {}).get(name, "").strip() for row in rows], dtype=np.str_)
        for name in SHORTCUTS
    }
    # Only whether there are marks: the number of dots of a line says nothing.
    marked = attributes[MARKS_ATTRIBUTE] != ""
    attributes[MARKS_ATTRIBUTE] = np.where(marked, "yes", "no" if marked.any() else "")
    # A case that was removed during the scoring has none.
    of_rows = library.catalogue.extents()
    extents = [of_rows.get(row) for row in rows]
    attributes["source"] = np.array([str(one.source) if one else "" for one in extents], dtype=np.str_)
    for name in ("image_size", "crop_scale"):
        attributes[name] = number_groups(
            np.array([getattr(one, name) if one else None for one in extents], dtype=np.float64)
        )
    units = patient_codes(data.units, data.n_cases)
    probed = ProbedSearches(
        rankings.queries,
        rankings.nearest,
        rankings.gallery.findings,
        np.arange(data.n_cases) if units is None else units,
    )
    return probe_shortcuts(probed, attributes, seed=seed)


def shuffled_control(
    request: TrainRequest,
    metric: Metric,
    data: TrainingData,
    fit: Callable[[TrainingData, Reporter], Metric],
    reporter: Reporter,
) -> ShuffledControl | None:
    """The control of ``metric``: ``fit`` on training cases whose findings were shuffled among patients, searched with
    held-out cases. ``None`` where it was not trained on findings alone, was stopped, or cannot be trained so.
    """
    split, cases = data.split, data.cases
    if split is None or not request.control or not request.from_findings or request.judgements:
        return None
    if reporter.stop_requested or not is_supervised(metric):
        return None
    reporter.progress(0, None, "Training the control with shuffled findings")
    codes = patient_codes(cases.units, cases.n_cases)
    train = _sample(cases.y, split.train, codes, MOST_TRAINING, request.seed)
    queries = _sample(cases.y, split.test, codes, MOST_QUERIES, request.seed)
    rng = np.random.default_rng(request.seed)
    shuffled = cases.y.copy()
    shuffled[train] = shuffled_by_unit(cases.y[train], None if codes is None else codes[train], rng)
    part = np.concatenate([train, queries])
    # Held-out cases must not answer each other, so they get the same patient.
    places = np.arange(len(part))
    groups = np.where(places < len(train), "", "held out")
    learnt = replace(cases, y=shuffled).rows(part)
    here = HoldOut(places[: len(train)], places[len(train) :], split.by_patient, request.seed)
    try:
        control = fit(replace(data, cases=learnt, split=here), PartReporter(reporter))
    except BadInput:
        # A learner may refuse the few remaining cases.
        return None
    gallery = Gallery.of(control, replace(learnt, groups=groups))
    rankings = search_rankings(gallery, here.test, _K, reporter=PartReporter(reporter))
    units = None if codes is None else codes[queries]
    return measure_control(rankings.nearest_findings, rankings.findings, units, len(train), request.seed)


def _sample(
    y: np.typing.NDArray[np.str_],
    rows: np.typing.NDArray[np.intp],
    codes: np.typing.NDArray[np.intp] | None,
    most: int,
    seed: int,
) -> np.typing.NDArray[np.intp]:
    most = max(most, len(np.unique(y[rows])))
    if len(rows) <= most:
        return rows
    units = None if codes is None else np.char.add("u", codes[rows].astype(np.str_))
    return rows[stratified_sample(y[rows], most, seed, units)]
