"""Run a protocol: fit every learner on the same splits, measure it, and collect the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.evaluation.protocols.plan import FAILURES, Plan, PreparedSplit, Trial
from semblance.core.evaluation.protocols.protocol import LearnerSpec, Protocol
from semblance.core.evaluation.result import (
    EvaluationResult,
    Failure,
    LearnerResult,
    Measured,
    SplitFacts,
    compare,
    summarise,
)
from semblance.core.evaluation.splits import HoldOut
from semblance.core.language import tr_lazy
from semblance.core.tasks import SILENT, PartReporter, Reporter

if TYPE_CHECKING:
    from semblance.core.engine.cluster import Cluster
    from semblance.core.evaluation.data import EvaluationData
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.metric import Metric
    from semblance.core.metrics.steps import Step
    from semblance.core.metrics.training import TrainingPoint

#: The learner without learning.
PLAIN = "euclidean"
#: Number of progress steps within one fit.
_PROGRESS_STEPS = 100


def repeat_seed(seed: int, repeat: int) -> int:
    """The seed of one repeat; the same however many repeats there are."""
    return int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])


def run_trials(
    protocol: str,
    plan: Plan,
    learners: Sequence[LearnerSpec],
    *,
    compared: Sequence[str],
    steps: Sequence[Step],
    seed: int,
    reporter: Reporter = SILENT,
) -> EvaluationResult:
    """Fit every learner on the training rows of every split of ``plan`` and measure it.

    ``compared`` are the scores for the comparison of learners. The rest is as in
    :meth:`semblance.core.evaluation.protocols.protocol.Protocol.run`.
    """
    runs = _runs(learners, plan.baselines)
    splits = plan.splits
    for repeat in range(len(splits)):
        prepared = plan.prepared(repeat, steps)
        baselines = {name: plan.prepared(repeat, (), name) for name in plan.baselines}
        for place, run in enumerate(runs):
            reporter.check_cancelled()
            what = tr_lazy(
                "{spec}, repeat {repeat} of {n}", spec=run.spec.name, repeat=repeat + 1, n=len(splits)
            )
            share = _RunProgress(
                reporter, repeat * len(runs) + place, len(splits) * len(runs), what, plan.points
            )
            share.progress(0, 1, what)
            run.measure_split(
                baselines.get(run.spec.name, prepared), repeat, repeat_seed(seed, repeat), plan.measure, share
            )
            share.progress(1, 1, what)
        result = _result(protocol, plan, runs, splits[: repeat + 1], compared, steps, seed)
        reporter.partial(result)
        if reporter.stop_requested:
            break
    return result


def run_trials_on_cluster(
    cluster: Cluster,
    protocol: Protocol,
    data: EvaluationData,
    learners: Sequence[LearnerSpec],
    *,
    steps: Sequence[Step],
    repeats: int | None,
    seed: int,
    reporter: Reporter = SILENT,
) -> EvaluationResult:
    """As :func:`run_trials` with the plan of ``protocol``, each learner and split as a task of ``cluster``."""
    plan = protocol.plan(data, repeats, seed, [spec.name for spec in learners])
    runs = _runs(learners, plan.baselines)
    request = (protocol, tuple(learners), tuple(steps), repeats, seed)
    places = [(repeat, number) for repeat in range(len(plan.splits)) for number in range(len(runs))]
    with cluster.submit_sharing(_measure_trial, data, [(*request, *place) for place in places]) as tasks:
        for repeat in range(len(plan.splits)):
            for number, run in enumerate(runs):
                ended = sum(map(tasks.has_ended, range(len(tasks))))
                reporter.progress(ended, len(tasks), "Evaluating on the cluster")
                run.add(*tasks.result(repeat * len(runs) + number, reporter))
            done_splits = plan.splits[: repeat + 1]
            result = _result(protocol.name, plan, runs, done_splits, protocol.compared, steps, seed)
            reporter.partial(result)
            if reporter.stop_requested:
                break
        return result


def _measure_trial(
    data: EvaluationData,
    protocol: Protocol,
    learners: Sequence[LearnerSpec],
    steps: Sequence[Step],
    repeats: int | None,
    seed: int,
    repeat: int,
    number: int,
    *,
    reporter: Reporter,
) -> tuple[list[Measured], list[float], Failure | None]:
    """One learner on one split, on a worker of a cluster."""
    plan = protocol.plan(data, repeats, seed, [spec.name for spec in learners])
    run = _runs(learners, plan.baselines)[number]
    is_baseline = run.spec.name in plan.baselines
    prepared = plan.prepared(repeat, () if is_baseline else steps, run.spec.name if is_baseline else None)
    progress = _RunProgress(reporter, 0, 1, "", plan.points)
    run.measure_split(prepared, repeat, repeat_seed(seed, repeat), plan.measure, progress)
    return run.measured, run.seconds, run.failure


def fit_and_measure(
    learner: Learner,
    prepared: PreparedSplit,
    measure: Callable[[Trial], Measured],
    reporter: Reporter,
    points: Callable[[], Sequence[TrainingPoint]] = tuple,
) -> tuple[Measured, float]:
    """The scores of the metric that ``learner`` fits on the training rows, and the seconds of the fit.

    Raises:
        SemblanceError: rows the steps, the learner or the measuring cannot use.
    """
    if prepared.problem is not None:
        raise prepared.problem
    metric, seconds = _fit(learner, prepared, reporter)
    trial = Trial(metric, prepared.data, prepared.split, reporter, learner, tuple(points()))
    return measure(trial), seconds


def _fit(learner: Learner, prepared: PreparedSplit, reporter: Reporter) -> tuple[Metric, float]:
    from semblance.core.metrics.pipeline import attach_steps

    started = time.perf_counter()
    triplets = prepared.triplets if "triplets" in learner.accepts else None
    learner.fit(prepared.rows, prepared.y, triplets=triplets, groups=prepared.groups, reporter=reporter)
    metric = learner.metric()
    seconds = time.perf_counter() - started
    data = prepared.data
    return attach_steps(metric, prepared.fitted, data.feature_names, data.feature_groups), seconds


class _LearnerRun:
    """The results of one learner over the repeats."""

    def __init__(self, spec: LearnerSpec, learner: str) -> None:
        self.spec, self._learner = spec, learner
        self.params = self._make(0).method_params()
        self.measured: list[Measured] = []
        self.seconds: list[float] = []
        self.failure: Failure | None = None

    def _make(self, seed: int) -> Learner:
        from semblance.core.metrics.registry import make_learner

        return make_learner(self._learner, random_state=seed, **self.spec.params)

    def measure_split(
        self,
        prepared: PreparedSplit,
        repeat: int,
        seed: int,
        measure: Callable[[Trial], Measured],
        reporter: _RunProgress,
    ) -> None:
        if self.failure is not None:
            return
        try:
            learner = self._make(seed)
            measured, seconds = fit_and_measure(learner, prepared, measure, reporter, lambda: reporter.points)
            self.measured.append(measured)
            self.seconds.append(seconds)
        except BadArguments:
            raise
        except FAILURES as problem:
            self.failure = Failure(
                self.spec.name,
                tr_lazy("Repeat {n}: {problem}", n=repeat + 1, problem=failure_text(problem)),
            )

    def add(self, measured: Sequence[Measured], seconds: Sequence[float], failure: Failure | None) -> None:
        """Add what another process measured on the next split."""
        if self.failure is None:
            self.failure = failure
            self.measured += measured
            self.seconds += seconds


class _RunProgress(PartReporter):
    """The progress of one fit as part of the total. Requests to stop early are not passed to the learner."""

    def __init__(self, reporter: Reporter, done: int, total: int, what: str, keep_points: bool) -> None:
        super().__init__(reporter, stops_early=False)
        self._done, self._total, self._what = done, total, what
        self._keep_points = keep_points
        self.points: list[TrainingPoint] = []

    def progress(self, done: int, total: int | None, what: str) -> None:
        part = 0 if not total else int(_PROGRESS_STEPS * min(done, total) / total)
        self._whole.progress(self._done * _PROGRESS_STEPS + part, self._total * _PROGRESS_STEPS, self._what)

    def partial(self, result: object) -> None:
        from semblance.core.metrics.training import TrainingPoint

        if self._keep_points and isinstance(result, TrainingPoint):
            self.points.append(result)


def _runs(learners: Sequence[LearnerSpec], baselines: Collection[str]) -> list[_LearnerRun]:
    names = [spec.name for spec in learners]
    if not names:
        raise BadArguments("No learner was named.", "Name at least one, like euclidean,bdm_v.")
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise BadArguments(
            tr_lazy("The learner '{twice}' is named twice.", twice=duplicates[0]),
            "Name each learner once.",
        )
    return [_LearnerRun(spec, PLAIN if spec.name in baselines else spec.name) for spec in learners]


def failure_text(problem: Exception) -> str:
    """The message for one of :data:`FAILURES`."""
    if isinstance(problem, SemblanceError):
        return str(problem)
    if isinstance(problem, MemoryError):
        return "There was not enough memory; use fewer cases or fewer features."
    return tr_lazy("The computation failed ({problem}).", problem=problem)


def _result(
    protocol: str,
    plan: Plan,
    runs: Sequence[_LearnerRun],
    splits: Sequence[HoldOut],
    compared: Sequence[str],
    steps: Sequence[Step],
    seed: int,
) -> EvaluationResult:
    from semblance.core.metrics.steps import steps_text
    from semblance.core.metrics.training import versions

    results: list[LearnerResult] = [
        summarise(
            run.spec.name,
            run.params,
            steps_text(steps),
            run.measured,
            run.seconds,
        )
        for run in runs
        if run.failure is None
    ]
    n_train = float(np.mean([len(split.train) for split in splits]))
    n_test = float(np.mean([len(split.test) for split in splits]))
    return EvaluationResult(
        protocol=protocol,
        source=plan.reported.source_json(),
        seed=seed,
        repeats=len(splits),
        split=SplitFacts(plan.rule, plan.reported.by_patient, n_train, n_test),
        results=tuple(results),
        comparisons=compare(results, compared, n_train, n_test),
        failed=tuple(run.failure for run in runs if run.failure is not None),
        compared=tuple(compared),
        versions=versions(),
    )
