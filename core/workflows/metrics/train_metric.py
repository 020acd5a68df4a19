"""Train a metric on a library: split by patient, fit, score on the held-out part, keep."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.data_sources import library_data
from semblance.core.evaluation.evaluate_metric import HELD_OUT_CASES, accuracy_after_steps, evaluate_metric
from semblance.core.evaluation.findings_map import parse_findings_map
from semblance.core.evaluation.splits import HoldOut, holdout, patient_codes
from semblance.core.language import as_lazy, join_texts, tr_lazy
from semblance.core.library import open_library
from semblance.core.library.records import FeatureSet, checked_name
from semblance.core.metrics.card import Split
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.pipeline import attach_steps
from semblance.core.metrics.registry import learners, make_learner
from semblance.core.metrics.steps.extractor_steps import chosen_steps
from semblance.core.metrics.steps.sequence import apply_steps, fit_steps
from semblance.core.metrics.storage import save_metric
from semblance.core.metrics.training import TrainingPoint
from semblance.core.parameters import Value
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.region_imbalance import region_imbalance_warning
from semblance.core.workflows.metrics.calibrate_estimate import calibrate_estimate
from semblance.core.workflows.metrics.held_out_cases import held_out_cases
from semblance.core.workflows.metrics.leakage import COUNTED, counted_by_patient
from semblance.core.workflows.metrics.supervision import training_supervision

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.metric import Metric

#: Share of the cases held out from training when nothing else is said.
HELD_OUT = 0.3
#: On the card of a metric nothing could be measured of.
UNSCORED = tr_lazy("Not scored: no case of the library has a finding.")
#: The live curve may cost this share of the time; it scores at most so many held-out cases.
CURVE_SHARE, CURVE_CASES = 0.25, 400

#: Key of a card in a library: what was asked of its training beside learner, settings and seed, by the names
#: of the command's options; and the mark of what the command has no option for.
ASKED, ONLY_IN_WINDOW = "asked", "only in the window"


@dataclass(frozen=True)
class TrainRequest:
    """What to train. ``steps`` as on the command line, "" for the extractor's default.

    ``judgements``: the ledger to learn from beside the findings, "" for none; without ``from_findings`` it is
    learnt from alone, and findings only score.
    """

    learner: str
    name: str
    features: str | None = None
    steps: str = ""
    findings: str = ""
    max_cases: int | None = None
    settings: Mapping[str, Value] | None = None
    seed: int = 0
    held_out: float = HELD_OUT
    judgements: str = ""
    from_findings: bool = True


@dataclass(frozen=True)
class CurvePoint:
    """One point of a training curve: the objective, and accuracy @10 on held-out cases."""

    round: int
    objective: float
    held_out_accuracy: float | None


@dataclass(frozen=True)
class TrainResult:
    """A kept metric: its card and its held-out scores as JSON."""

    library: str
    metric: str
    card: dict[str, Any]
    scores: dict[str, Any] | None
    seconds: float
    #: What makes the scores doubtful, if anything; on the card too.
    warning: str = ""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def train_metric(library: Path, request: TrainRequest, *, reporter: Reporter = SILENT) -> TrainResult:
    """Fit a metric on the training part of ``library``, score it on the held-out part, and keep it.

    Where the library has no findings, or too few to hold some out, a learner that needs none is fitted on all
    cases and not scored.

    The reporter's partial results are :class:`CurvePoint`. A metric of the same name is replaced. Stopping
    keeps the best so far; cancelling keeps nothing.

    Raises:
        BadArguments: unknown learner, setting, step or feature set.
        BadInput: too few cases or findings, or data the learner cannot use.
        Cancelled: asked for by the reporter.
    """
    start = time.monotonic()
    request = replace(request, name=checked_name(request.name, tr_lazy("A metric")))
    learner = make_learner(request.learner, **(request.settings or {}))
    with open_library(library, writable=True) as opened:
        feature_set = opened.features.get(request.features)
        renamed = parse_findings_map(request.findings) if request.findings else None
        reporter.progress(0, None, "Reading features")
        everything = library_data(opened, feature_set)
        if not any(everything.y):
            return _train_unscored(
                opened, feature_set, request, learner, everything, UNSCORED, start, reporter
            )
        try:
            data = prepare(everything, findings=renamed, max_cases=request.max_cases, seed=request.seed)
            split = holdout(data.y.tolist(), data.units, request.seed, request.held_out)
        except BadInput as few:
            if learner.accepts:
                raise BadInput(
                    few.message, join_texts([few.hint, _needing_none()], " ") if few.hint else _needing_none()
                ) from few
            note = tr_lazy("Not scored: {message}", message=few.message)
            return _train_unscored(opened, feature_set, request, learner, everything, note, start, reporter)
        metric, kept = fit_and_score(opened, feature_set, request, learner, data, everything, split, reporter)
        assert data.case_rows is not None
        warning = region_imbalance_warning(opened, feature_set, data.case_rows, data.y.tolist())
        if warning:
            metric = metric.with_card(notes=(*metric.card.notes, warning))
        keep_metric(opened, feature_set, request, metric, data.rows(split.train), kept, reporter)
        scores = {name: value for name, value in kept.items() if name != "training_curve"}
        return TrainResult(
            str(opened.path), request.name, metric.card.to_json(), scores, time.monotonic() - start, warning
        )


def fit_and_score(
    library: Library,
    feature_set: FeatureSet,
    request: TrainRequest,
    learner: Learner,
    data: EvaluationData,
    everything: EvaluationData,
    split: HoldOut,
    reporter: Reporter,
) -> tuple[Metric, dict[str, Any]]:
    """A metric fitted on the training part of ``split``, and its scores on the other with its curve.

    ``everything``: all cases of the library, of which ``data`` may be a part; the vote is calibrated on them.

    Raises:
        BadArguments: unknown step.
        BadInput: data the learner cannot use.
        Cancelled: asked for by the reporter.
    """
    steps = chosen_steps(request.steps, feature_set.extractor)
    train = data.rows(split.train)
    fitted, rows = fit_steps(steps, train.X, train.y)
    held_out = data.rows(split.test)
    curve = _Curve(reporter, apply_steps(fitted, held_out.X, data.X.shape[1]), held_out, request.seed)
    said = training_supervision(library, request, learner, train)
    learner.fit(rows, said.y, groups=train.groups, reporter=curve, pairs=said.pairs, triplets=said.triplets)
    curve.end()
    metric = said.told(attach_steps(learner.metric(), fitted, data.feature_names, data.feature_groups))
    scores = evaluate_metric(
        metric, data, split.train, split.test, seed=request.seed, reporter=reporter
    ).to_json()
    assert train.case_rows is not None
    calibration = calibrate_estimate(
        library,
        metric,
        everything,
        train.case_rows,
        findings=parse_findings_map(request.findings) if request.findings else None,
        measured_on=scores["measured_on"],
        seed=request.seed,
        reporter=reporter,
    )
    scores["calibration"] = None if calibration is None else calibration.to_json()
    error = {} if calibration is None else {"calibration_error": calibration.ece}
    metric = metric.with_card(
        name=request.name,
        library=library.name,
        feature_set=feature_set.name,
        split=Split(request.seed, request.held_out, data.by_patient),
        scores={**_at(scores, 10), "auc": scores["auc"], **error},
        measured_on=scores["measured_on"],
    )
    return metric, {**scores, "training_curve": curve.points_json()}


def _train_unscored(
    library: Library,
    feature_set: FeatureSet,
    request: TrainRequest,
    learner: Learner,
    data: EvaluationData,
    note: str,
    start: float,
    reporter: Reporter,
) -> TrainResult:
    """Fit a learner that needs no findings on all cases of a library; ``note`` says why it is not scored.

    Raises:
        BadInput: the learner needs findings, or there is only one case.
    """
    if learner.accepts and not request.judgements:
        raise BadInput(
            tr_lazy(
                "{data} has no findings, and {title} learns from them.", data=data.name, title=learner.title
            ),
            tr_lazy("Give the cases findings (a labels.csv). {value}", value=_needing_none()),
        )
    if data.n_cases < 2:
        raise BadInput(
            tr_lazy("{data} has {n_cases} case.", data=data.name, n_cases=data.n_cases),
            "Import more: there is nothing to compare.",
        )
    steps = chosen_steps(request.steps, feature_set.extractor, labelled=False)
    fitted, rows = fit_steps(steps, data.X, None)
    said = training_supervision(library, replace(request, from_findings=False), learner, data)
    learner.fit(rows, groups=data.groups, reporter=reporter, pairs=said.pairs, triplets=said.triplets)
    metric = said.told(attach_steps(learner.metric(), fitted, data.feature_names, data.feature_groups))
    notes = (*metric.card.notes, note)
    metric = metric.with_card(
        name=request.name, library=library.name, feature_set=feature_set.name, notes=notes
    )
    keep_metric(library, feature_set, request, metric, data, None, reporter)
    seconds = time.monotonic() - start
    return TrainResult(str(library.path), request.name, metric.card.to_json(), None, seconds)


def _needing_none() -> str:
    """Which learners can be trained on any library."""
    return tr_lazy(
        "These need no findings: {those}.",
        those=join_texts(as_lazy(one.title) for one in learners() if not one.accepts),
    )


def keep_metric(
    library: Library,
    feature_set: FeatureSet,
    request: TrainRequest,
    metric: Metric,
    train: EvaluationData,
    scores: Mapping[str, Any] | None,
    reporter: Reporter,
    **told: Any,
) -> None:
    """Enter the metric with its training cases, unless it was cancelled; ``told`` goes onto its card."""
    reporter.check_cancelled()
    file = library.new_metric_file()
    save_metric(metric, file)
    assert train.case_rows is not None
    asked = {
        "steps": request.steps,
        "max-cases": request.max_cases,
        "judgements": request.judgements,
        ONLY_IN_WINDOW: request.held_out != HELD_OUT or not request.from_findings,
    }
    card = {
        **metric.card.to_json(),
        "findings_map": request.findings,
        ASKED: {option: value for option, value in asked.items() if value},
        **told,
    }
    library.add_metric(request.name, request.learner, feature_set.id, file, card, train.case_rows, scores)


def score_metric(library: Path, name: str, *, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Measure a kept metric again on every case of the library that is no training case's patient.

    Raises:
        BadArguments: no such metric.
        BadInput: no case was held out.
    """
    with open_library(library, writable=True) as opened:
        given = held_out_cases(opened, name)
        scores = evaluate_metric(
            given.metric, given.data, given.trained, given.unseen, reporter=reporter
        ).to_json()
        if given.seen:
            # Patients have other codes in every library: some may have been trained on where it came from.
            scores["measured_on"] = HELD_OUT_CASES
        calibration = calibrate_estimate(
            opened,
            given.metric,
            given.everything,
            given.record.training,
            findings=given.renamed,
            measured_on=scores["measured_on"],
            elsewhere=given.seen,
            reporter=reporter,
        )
        scores["calibration"] = None if calibration is None else calibration.to_json()
        kept = {
            **scores,
            "training_curve": (given.record.scores or {}).get("training_curve", []),
            COUNTED: counted_by_patient(opened, given.record.training),
        }
        opened.set_scores(name, kept)
        return scores


def _at(scores: Mapping[str, Any], k: int) -> dict[str, float | None]:
    """Retrieval accuracy @ ``k``, or at the largest k that few held-out cases allow, by that name."""
    values = scores["retrieval_accuracy"]["mean"]
    k = min(k, len(values))
    return {f"retrieval_accuracy@{k}": values[k - 1]}


class _Curve(Reporter):
    """Passes a learner's news on, its rounds as points of a curve scored on held-out cases.

    Scoring may take CURVE_SHARE of the time: the longer a round of it took, the rarer it comes. The last
    round is scored whatever it takes.
    """

    def __init__(self, outer: Reporter, held_out: Matrix, data: EvaluationData, seed: int) -> None:
        self._outer = outer
        chosen = np.arange(data.n_cases)
        if data.n_cases > CURVE_CASES:
            chosen = np.sort(np.random.default_rng(seed).choice(data.n_cases, CURVE_CASES, replace=False))
        part = data.rows(chosen)
        self._rows = held_out[chosen]
        self._findings = np.unique(part.y, return_inverse=True)[1].astype(np.intp)
        self._patients = patient_codes(part.units, part.n_cases)
        self._points: list[CurvePoint] = []
        self._last: TrainingPoint | None = None
        self._next = 0.0

    def progress(self, done: int, total: int | None, what: str) -> None:
        self._outer.progress(done, total, what)

    def check_cancelled(self) -> None:
        self._outer.check_cancelled()

    @property
    def stop_requested(self) -> bool:
        return self._outer.stop_requested

    def partial(self, result: object) -> None:
        if not isinstance(result, TrainingPoint):
            self._outer.partial(result)
            return
        accuracy = None
        begin = time.monotonic()
        if begin >= self._next:
            accuracy = self._accuracy(result)
            spent = time.monotonic() - begin
            self._next = time.monotonic() + spent * (1 / CURVE_SHARE - 1)
        self._last = result
        self._points.append(CurvePoint(result.round, result.objective, accuracy))
        self._outer.partial(self._points[-1])

    def end(self) -> None:
        """Training is over: the last round is told again with its score, where it had none."""
        if self._last is not None and self._points[-1].held_out_accuracy is None:
            self._points[-1] = replace(self._points[-1], held_out_accuracy=self._accuracy(self._last))
            self._outer.partial(self._points[-1])

    def _accuracy(self, point: TrainingPoint) -> float | None:
        return accuracy_after_steps(point.distance, self._rows, self._findings, self._patients)

    def points_json(self) -> list[list[float | None]]:
        """[round, objective, held-out accuracy or null] of every point."""
        return [[p.round, p.objective, p.held_out_accuracy] for p in self._points]
