"""Train a metric once more on shuffled findings, as a control of its scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.search_rankings import Gallery, search_rankings
from semblance.core.evaluation.shuffled_control import ShuffledControl, measure_control, shuffled_by_unit
from semblance.core.evaluation.splits import HoldOut, patient_codes
from semblance.core.metrics.training_data.training_sample import stratified_sample
from semblance.core.tasks import PartReporter, Reporter
from semblance.core.workflows.metrics.leakage import is_supervised

if TYPE_CHECKING:
    from semblance.core.metrics.metric import Metric
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from semblance.core.workflows.metrics.training_data import TrainingData

#: Training cases and queries at most, a seeded sample of whole patients if there are more, so that the control costs
#: no more than a small training.
MOST_TRAINING, MOST_QUERIES = 1_000, 1_000
_K = 10


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
