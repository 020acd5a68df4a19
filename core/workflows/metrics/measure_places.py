"""Measure for the card of a metric what places are worth in its library: beside the metric, and for regions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.choose_learner import MOST_FITTED, inner_splits, sampled_rows
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import metric_distances
from semblance.core.evaluation.place_weight import PlaceWeight, chosen_weight, shares_with_places
from semblance.core.evaluation.protocols.region import RegionProtocol, RegionSearchScore
from semblance.core.evaluation.scores import Rows, mean_over_findings
from semblance.core.evaluation.splits import patient_codes
from semblance.core.features.places import PLACES
from semblance.core.language import tr_lazy
from semblance.core.library.records import FeatureSet
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.pipeline import attach_steps
from semblance.core.metrics.registry import make_learner
from semblance.core.metrics.steps.sequence import chosen_steps, fit_steps
from semblance.core.tasks import SILENT, PartReporter, Reporter
from semblance.core.workflows.features.region_cases import case_places
from semblance.core.workflows.features.stored_places import read_places
from semblance.core.workflows.metrics.train_request import PLACE_WEIGHT, TrainRequest
from semblance.core.workflows.metrics.training_data import TrainingData

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.metric import Metric

#: Entries of a stored card: how the weight of places was chosen; what regions
#: as queries find; and of the last two why one could not be measured.
WEIGHT_CHOICE, REGION_SEARCH = "place_weight_choice", "region_search"
PLACES_NOT_MEASURED = "places_not_measured"
#: Cases that are compared at most, seeded samples with the findings in proportion, and queries of all splits together.
MOST_CASES, MOST_QUERIES = 2000, 240


def weight_entries(
    library: Library,
    request: TrainRequest,
    metric: Metric,
    data: TrainingData,
    *,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """What the card of ``metric``, as ``request`` made it on the training part of ``data``, says of places beside it;
    nothing where the library has none.

    ``place_weight`` is there only where :attr:`PlaceWeight.is_better`. With too few patients or findings the reason
    is there instead.

    Raises:
        Cancelled: the reporter was cancelled.
    """
    if not _are_described(library, data):
        return {}
    reporter.progress(0, None, tr_lazy("Measuring search by place"))
    try:
        choice = _choice(library, request, metric, data, seed, PartReporter(reporter, stops_early=False))
    except BadInput as error:
        return {PLACES_NOT_MEASURED: {WEIGHT_CHOICE: str(error.message)}}
    if choice is None:
        return {}
    return {WEIGHT_CHOICE: choice.to_json(), **({PLACE_WEIGHT: choice.weight} if choice.is_better else {})}


def region_entries(
    library: Library, data: TrainingData, *, seed: int = 0, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """What the cards of all metrics of ``data`` say of regions as queries by place, or why it was not measured; nothing
    where the library has no places.

    Raises:
        Cancelled: the reporter was cancelled.
    """
    if not _are_described(library, data):
        return {}
    reporter.progress(0, None, tr_lazy("Measuring search by place"))
    try:
        region = _region_search(library, data, seed, PartReporter(reporter, stops_early=False))
    except BadInput as error:
        return {PLACES_NOT_MEASURED: {REGION_SEARCH: str(error.message)}}
    return {} if region is None else {REGION_SEARCH: region.to_json()}


def _are_described(library: Library, data: TrainingData) -> bool:
    return library.features.part(library.features.whole(data.feature_set), PLACES) is not None


def _region_search(
    library: Library, data: TrainingData, seed: int, reporter: Reporter
) -> RegionSearchScore | None:
    """What regions find by place, measured on a sample.

    Raises:
        BadInput: too few cases have a region, or the places are damaged.
    """
    cases = data.cases
    rows = sampled_rows(cases.y, np.arange(cases.n_cases), MOST_CASES, seed)
    sample = case_places(library, data.feature_set, cases.rows(rows), whole=False, reporter=reporter)
    return RegionSearchScore.of(
        RegionProtocol(queries=MOST_QUERIES).run(sample, (), seed=seed, reporter=reporter)
    )


def _choice(
    library: Library, request: TrainRequest, metric: Metric, data: TrainingData, seed: int, reporter: Reporter
) -> PlaceWeight | None:
    """The weight chosen inside the training patients, with its difference on the held-out ones."""
    if data.split is None:
        return None
    train = data.train
    train = train.rows(sampled_rows(train.y, np.arange(train.n_cases), MOST_CASES, seed))
    train, codes = _with_codes(library, data.feature_set, train)
    names, findings = np.unique(train.y, return_inverse=True)
    units = _units(train)
    splits = inner_splits(train, seed)
    shares, queries = [], []
    for split in splits:
        reporter.check_cancelled()
        rows = sampled_rows(train.y, split.test, MOST_QUERIES // len(splits), seed)
        fit = train.rows(sampled_rows(train.y, split.train, MOST_FITTED, seed))
        own = _fitted(request, data.feature_set, fit, seed)
        distances = _all_distances(own, train, rows)
        shares.append(
            shares_with_places(distances, codes, rows, findings, units, len(names), reporter=reporter)
        )
        queries.append(rows)
    every = np.concatenate(queries)
    choice = chosen_weight(
        np.concatenate(shares, axis=1),
        findings[every],
        units[every],
        np.repeat(np.arange(len(splits)), [len(one) for one in queries]),
        names.tolist(),
        title=tr_lazy("The metric with places"),
        seed=seed,
    )
    if not choice.is_better:
        return choice
    return replace(
        choice, held_out=_held_out_difference(library, metric, data, choice.weight, seed, reporter)
    )


def _held_out_difference(
    library: Library, metric: Metric, data: TrainingData, weight: float, seed: int, reporter: Reporter
) -> float | None:
    """The difference of the macro accuracies on the held-out patients, who search all cases."""
    assert data.split is not None
    cases = data.cases
    queries = sampled_rows(cases.y, data.split.test, MOST_QUERIES, seed)
    others = np.setdiff1d(np.arange(cases.n_cases), queries)
    others = sampled_rows(cases.y, others, MOST_CASES, seed)
    assert cases.case_rows is not None
    wanted = cases.case_rows[queries]
    sample, codes = _with_codes(library, data.feature_set, cases.rows(np.union1d(queries, others)))
    assert sample.case_rows is not None
    rows = np.flatnonzero(np.isin(sample.case_rows, wanted))
    names, findings = np.unique(sample.y, return_inverse=True)
    shares = shares_with_places(
        _all_distances(metric, sample, rows),
        codes,
        rows,
        findings,
        _units(sample),
        len(names),
        (0.0, weight),
        reporter,
    )
    own = shares[:, np.arange(len(rows)), findings[rows]]
    found = float(mean_over_findings((own[1] - own[0])[:, np.newaxis], findings[rows])[0])
    return found if np.isfinite(found) else None


def _with_codes(
    library: Library, feature_set: FeatureSet, data: EvaluationData
) -> tuple[EvaluationData, Any]:
    """The cases of ``data`` that have places, and these (n, p, m).

    Raises:
        BadInput: none has, or they are damaged.
    """
    assert data.case_rows is not None
    stored = read_places(library, feature_set, np.sort(data.case_rows))
    data = data.rows(np.flatnonzero(np.isin(data.case_rows, stored.rows)))
    assert data.case_rows is not None
    return data, stored.codes[np.searchsorted(stored.rows, data.case_rows)]


def _units(data: EvaluationData) -> Rows:
    units = patient_codes(data.units, data.n_cases)
    return np.arange(data.n_cases) if units is None else units


def _fitted(request: TrainRequest, feature_set: FeatureSet, fit: EvaluationData, seed: int) -> Metric:
    made = make_learner(request.learner, **(request.settings or {}))
    unfitted = chosen_steps(request.steps, feature_set.extractor, fit.made_by)
    steps, rows = fit_steps(unfitted, fit.X, fit.y)
    made.fit(rows, fit.y, groups=fit.groups, reporter=SILENT)
    return attach_steps(made.metric(), steps, fit.feature_names, fit.feature_groups)


def _all_distances(metric: Metric, data: EvaluationData, queries: Rows) -> Matrix:
    """(q, n) distances of the metric from some rows to all."""
    return metric_distances(metric, data.X[queries], data.X).rough(np.arange(len(queries)))[0]
