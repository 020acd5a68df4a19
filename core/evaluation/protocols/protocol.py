"""What every protocol is: its plan, the fits and trials of its repeats, and how it chooses the number of voters."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.neighbours import EmbeddedDistances, ScannedDistances, distances_after_steps
from semblance.core.evaluation.query_records import QueryRecords, query_records
from semblance.core.evaluation.result import (
    EvaluationResult,
    LearnerFailure,
    LearnerResult,
    MeasuredScores,
    NamedSplit,
    SplitFacts,
    SplitQueries,
    compare,
    summarise,
)
from semblance.core.evaluation.scores import Matrix, Rows, mean_over_findings, mean_over_queries, votes
from semblance.core.evaluation.split_file import GivenSplits, SplitTable
from semblance.core.evaluation.splits import HoldOut, folds, halves, patient_codes
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter, Value, checked
from semblance.core.tasks import SILENT, PartReporter, Reporter

if TYPE_CHECKING:
    from semblance.core.engine.cluster import Cluster
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.metric import Metric
    from semblance.core.metrics.steps import Step
    from semblance.core.metrics.training import TrainingPoint


#: Exceptions that data can cause. Any other exception is an error of the program and is not caught.
FAILURES = (SemblanceError, ArithmeticError, ValueError, np.linalg.LinAlgError, MemoryError)

#: The learner without learning, and the name of the choice among learners and descriptions by validation.
PLAIN, AUTO = "euclidean", "auto"
#: The score of a given validation part that ``auto`` chooses by, where a protocol has it.
_CHOSEN_BY = "macro_retrieval_accuracy@10"
#: Number of progress steps within one fit.
_PROGRESS_STEPS = 100

MAX_VOTERS = 25
#: Maximum number of training cases that are queries.
_MAX_QUERIES = 2000


@dataclass(frozen=True, eq=False)
class MetricTrial:
    """One metric, fitted on the training rows of ``split``, about to be measured on the others.

    ``learner`` fitted it, on rows after the steps; ``points`` are its training curve, if requested. ``keeps_queries``:
    what single queries found is wanted too.
    """

    metric: Metric
    data: EvaluationData
    split: HoldOut
    reporter: Reporter
    learner: Learner
    points: tuple[TrainingPoint, ...] = ()
    keeps_queries: bool = False


@dataclass(frozen=True, eq=False)
class EvaluationPlan:
    """How a protocol measures some data: every split it makes, and what it does on each.

    ``data`` is for fitting and testing, ``reported`` is named in the result; ``rule`` describes the ``splits``,
    of which each repeat has ``per_repeat`` consecutive ones. ``triplets`` returns the triplets of a split's training
    rows, for learners that take them. ``baselines``: names of the plain distance on other features of the same cases,
    without steps. ``points``: keep training curves until they are measured. ``chosen_by``: the scores whose mean, with
    the validation part of a split as queries, ``auto`` chooses by; without them it splits the training part again.
    ``labels``: repeat and fold of each split, as they are given. ``copies_apart``: no copy of an image is in two parts
    of a split; given splits may have some, which their rule counts, but never a patient. ``keeps_queries``: measure
    what single queries found too.
    """

    data: EvaluationData
    reported: EvaluationData
    rule: str
    splits: tuple[HoldOut, ...]
    measure: Callable[[MetricTrial], MeasuredScores]
    per_repeat: int = 1
    triplets: Callable[[HoldOut], npt.NDArray[np.int64]] | None = None
    baselines: Mapping[str, EvaluationData] = field(default_factory=dict)
    points: bool = False
    chosen_by: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    copies_apart: bool = True
    keeps_queries: bool = False

    def label(self, place: int) -> tuple[str, str]:
        """Repeat and fold of the split at ``place``, counted from 1 where they are not given."""
        if self.labels:
            return self.labels[place]
        repeat, fold = divmod(place, self.per_repeat)
        return str(repeat + 1), str(fold + 1) if self.per_repeat > 1 else ""

    def prepared(self, place: int, steps: Sequence[Step], baseline: str | None = None) -> PreparedSplit:
        """The split at ``place``, checked for leakage, with its training rows after ``steps``.

        Raises:
            BadInput: a case or a patient is in two of its parts.
        """
        split = self.splits[place]
        split.check_leakage(self.data.units if self.copies_apart else self.data.groups, self.data.n_cases)
        if baseline is not None:
            return PreparedSplit(self.baselines[baseline], split, (), None, self.keeps_queries)
        return PreparedSplit(self.data, split, steps, self.triplets, self.keeps_queries)


class PreparedSplit:
    """The training rows of a split after the steps, computed once for all learners."""

    def __init__(
        self,
        data: EvaluationData,
        split: HoldOut,
        steps: Sequence[Step],
        triplets: Callable[[HoldOut], npt.NDArray[np.int64]] | None,
        keeps_queries: bool = False,
    ) -> None:
        from semblance.core.metrics.steps import fit_steps

        self.data, self.split, self.keeps_queries = data, split, keeps_queries
        self.y = data.y[split.train]
        self.groups: npt.NDArray[np.str_] | None = None if data.groups is None else data.groups[split.train]
        self.fitted: tuple[Step, ...] = ()
        self.problem: Exception | None = None
        self.triplets: npt.NDArray[np.int64] | None = None
        try:
            if triplets is not None:
                self.triplets = triplets(split)
            self.fitted, self.rows = fit_steps(steps, data.X[split.train], self.y)
        except FAILURES as problem:
            self.problem = problem


@dataclass(frozen=True)
class LearnerSpec:
    """A learner to measure: its registered name and the parameters that differ from the defaults.

    :data:`AUTO` is the learner, and of the encoder's levels the description, that is best on cases for validation;
    ``extractor`` made the features it chooses for.
    """

    name: str
    params: Mapping[str, Value] = field(default_factory=dict)
    extractor: str = "raw"


class EvaluationProtocol(abc.ABC):
    """Measures learners on cases they were not fitted on. It is named after its paper."""

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    #: What is measured and on which cases, in one line.
    summary: ClassVar[str]
    #: The default number of repeats.
    repeats: ClassVar[int]
    #: The scores that learners are compared by, most important first.
    compared: ClassVar[tuple[str, ...]]
    #: The scores whose mean on the validation part decides what ``auto`` chooses, if its splits have such a part.
    chosen_by: ClassVar[tuple[str, ...]] = ()
    #: Attributes of the cases that it needs.
    attributes: ClassVar[tuple[str, ...]] = ()
    #: Names of baselines that can be given like learners.
    baselines: ClassVar[tuple[str, ...]] = ()
    #: What is measured where no learner is named; none: one must be.
    default_learners: ClassVar[tuple[str, ...]] = ()
    #: Whether it compares the places of the cases' images.
    needs_places: ClassVar[bool] = False
    #: The parameters of the protocol, and those that say how it splits.
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    split_parameters: ClassVar[tuple[str, ...]] = ()
    #: Why it takes no splits from outside; "": it takes them.
    own_splits: ClassVar[str] = ""
    #: Splits that take the place of its own, and whether it keeps what single queries found.
    given: SplitTable | None = None
    keeps_queries: bool = False

    def __init__(self, **settings: Value) -> None:
        """``settings`` are values of :attr:`parameters`; the others keep their defaults.

        Raises:
            BadArguments: an unknown name or a refused value.
        """
        self.settings: Mapping[str, Value] = checked(
            tr_lazy("The protocol {name}", name=self.name), self.parameters, settings
        )

    def check_splits(self) -> None:
        """Check that splits may take the place of its own.

        Raises:
            BadArguments: it takes none, or a setting says how it splits.
        """
        if self.own_splits:
            raise BadArguments(
                tr_lazy(
                    "The protocol {name} takes no splits: {reason}", name=self.name, reason=self.own_splits
                ),
                "Leave --splits out, or choose another protocol.",
            )
        defaults = {one.name: one.default for one in self.parameters}
        changed = [name for name in self.split_parameters if self.settings[name] != defaults[name]]
        if changed:
            raise BadArguments(
                tr_lazy("'protocol.{name}' says how to split, and so do the splits.", name=changed[0]),
                "Leave one of them out.",
            )

    def take_splits(self, given: SplitTable) -> None:
        """Measure on these splits in place of its own.

        Raises:
            BadArguments: as :meth:`check_splits`.
        """
        self.check_splits()
        self.given = given

    @abc.abstractmethod
    def run(
        self,
        data: EvaluationData,
        learners: Sequence[LearnerSpec],
        *,
        steps: Sequence[Step] = (),
        repeats: int | None = None,
        seed: int = 0,
        reporter: Reporter = SILENT,
        cluster: Cluster | None = None,
    ) -> EvaluationResult:
        """Scores of every learner on the same splits, which the workers of ``cluster`` measure if it is given.

        Unfitted ``steps`` are fitted on each training part. A learner that cannot be fitted or measured is
        listed in ``failed``, and the others continue. After each repeat the result so far goes to
        ``reporter.partial``; ``reporter.stop_requested`` ends the run with the repeats done.

        Raises:
            BadArguments: no learner, one named twice, an unknown one, or a refused parameter.
            BadInput: too few cases, findings or patients.
        """

    @abc.abstractmethod
    def plan(
        self, data: EvaluationData, repeats: int | None, seed: int, learners: Sequence[str] = ()
    ) -> EvaluationPlan:
        """The splits of all ``repeats``, and how each is measured; ``learners`` are their names.

        Raises:
            BadArguments: fewer than one repeat.
            BadInput: too few cases, findings or patients.
        """

    @abc.abstractmethod
    def as_in_the_paper(self, spec: LearnerSpec) -> LearnerSpec:
        """The learner with the paper's parameters for those that are not set."""


def repeat_seed(seed: int, repeat: int) -> int:
    """The seed of one repeat; the same however many repeats there are."""
    return int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])


def run_trials(
    protocol: str,
    plan: EvaluationPlan,
    learners: Sequence[LearnerSpec],
    *,
    compared: Sequence[str],
    steps: Sequence[Step],
    seed: int,
    reporter: Reporter = SILENT,
) -> EvaluationResult:
    """Fit every learner on the training rows of every split of ``plan`` and measure it.

    ``compared`` are the scores for the comparison of learners. The rest is as in
    :meth:`semblance.core.evaluation.protocols.protocol.EvaluationProtocol.run`.
    """
    runs = _runs(learners, plan)
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
    protocol: EvaluationProtocol,
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
    if any(spec.name == AUTO for spec in learners):
        raise BadArguments(
            "'auto' is not measured on a cluster.", "Leave --cluster out, or name the learners."
        )
    runs = _runs(learners, plan)
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
    protocol: EvaluationProtocol,
    learners: Sequence[LearnerSpec],
    steps: Sequence[Step],
    repeats: int | None,
    seed: int,
    repeat: int,
    number: int,
    *,
    reporter: Reporter,
) -> tuple[list[MeasuredScores], list[float], LearnerFailure | None]:
    """One learner on one split, on a worker of a cluster."""
    plan = protocol.plan(data, repeats, seed, [spec.name for spec in learners])
    run = _runs(learners, plan)[number]
    is_baseline = run.spec.name in plan.baselines
    prepared = plan.prepared(repeat, () if is_baseline else steps, run.spec.name if is_baseline else None)
    progress = _RunProgress(reporter, 0, 1, "", plan.points)
    run.measure_split(prepared, repeat, repeat_seed(seed, repeat), plan.measure, progress)
    return run.measured, run.seconds, run.failure


def fit_and_measure(
    learner: Learner,
    prepared: PreparedSplit,
    measure: Callable[[MetricTrial], MeasuredScores],
    reporter: Reporter,
    points: Callable[[], Sequence[TrainingPoint]] = tuple,
) -> tuple[MeasuredScores, float]:
    """The scores of the metric that ``learner`` fits on the training rows, and the seconds of the fit.

    Raises:
        SemblanceError: rows the steps, the learner or the measuring cannot use.
    """
    if prepared.problem is not None:
        raise prepared.problem
    metric, seconds = _fit(learner, prepared, reporter)
    trial = MetricTrial(
        metric, prepared.data, prepared.split, reporter, learner, tuple(points()), prepared.keeps_queries
    )
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
        self.params: Mapping[str, Any] = {} if spec.name == AUTO else self._make(0).method_params()
        self.measured: list[MeasuredScores] = []
        self.seconds: list[float] = []
        self.failure: LearnerFailure | None = None

    def _make(self, seed: int) -> Learner:
        from semblance.core.metrics.registry import make_learner

        return make_learner(self._learner, random_state=seed, **self.spec.params)

    def measure_split(
        self,
        prepared: PreparedSplit,
        repeat: int,
        seed: int,
        measure: Callable[[MetricTrial], MeasuredScores],
        reporter: _RunProgress,
    ) -> None:
        if self.failure is not None:
            return
        try:
            learner, prepared = self._learner_for(prepared, seed, measure, reporter)
            measured, seconds = fit_and_measure(learner, prepared, measure, reporter, lambda: reporter.points)
            self.measured.append(measured)
            self.seconds.append(seconds)
        except BadArguments:
            raise
        except FAILURES as problem:
            self.failure = LearnerFailure(
                self.spec.name, tr_lazy("Repeat {n}: {problem}", n=repeat + 1, problem=failure_text(problem))
            )

    def _learner_for(
        self,
        prepared: PreparedSplit,
        seed: int,
        measure: Callable[[MetricTrial], MeasuredScores],
        reporter: Reporter,
    ) -> tuple[Learner, PreparedSplit]:
        """The learner, and the split that it is fitted on."""
        return self._make(seed), prepared

    def add(
        self, measured: Sequence[MeasuredScores], seconds: Sequence[float], failure: LearnerFailure | None
    ) -> None:
        """Add what another process measured on the next split."""
        if self.failure is None:
            self.failure = failure
            self.measured += measured
            self.seconds += seconds


class _AutoRun(_LearnerRun):
    """The results of the learner that was chosen in each split, with what it was chosen among as the parameters."""

    def __init__(self, spec: LearnerSpec, chosen_by: Sequence[str]) -> None:
        super().__init__(spec, AUTO)
        self._chosen_by = chosen_by
        self._choices: list[dict[str, Any]] = []
        self.params = {"chosen": self._choices}

    def _learner_for(
        self,
        prepared: PreparedSplit,
        seed: int,
        measure: Callable[[MetricTrial], MeasuredScores],
        reporter: Reporter,
    ) -> tuple[Learner, PreparedSplit]:
        from semblance.core.evaluation.choose_learner import best_on_validation_part, validate_learners
        from semblance.core.evaluation.friedman import smaller_is_better
        from semblance.core.metrics.registry import make_learner
        from semblance.core.metrics.steps import steps_text

        data, split, extractor = prepared.data, prepared.split, self.spec.extractor
        if self._chosen_by and len(split.validation):

            def score(steps: Sequence[Step], learner: str) -> float:
                tried = replace(split, test=split.validation, validation=split.validation[:0])
                part = PreparedSplit(data, tried, steps, None)
                scores = fit_and_measure(make_learner(learner, random_state=seed), part, measure, reporter)[
                    0
                ].scores
                signs = [-1.0 if smaller_is_better(name) else 1.0 for name in self._chosen_by]
                return float(
                    np.mean([sign * scores[name] for sign, name in zip(signs, self._chosen_by, strict=True)])
                )

            validation = best_on_validation_part(data, extractor, score, reporter=reporter)
        else:
            validation = validate_learners(data.rows(split.train), extractor, seed=seed, reporter=reporter)
        best = validation.best
        steps = best.steps(extractor, data.made_by)
        self._choices.append(
            {
                "learner": best.learner,
                "description": best.description,
                "steps": steps_text(steps),
                "validation": dict(validation.accuracy),
                "refused": {key: str(reason) for key, reason in validation.failed.items()},
            }
        )
        return make_learner(best.learner, random_state=seed), PreparedSplit(data, split, steps, None)


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


def _runs(learners: Sequence[LearnerSpec], plan: EvaluationPlan) -> list[_LearnerRun]:
    names = [spec.name for spec in learners]
    if not names:
        raise BadArguments("No learner was named.", "Name at least one, like euclidean,bdm_v.")
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise BadArguments(
            tr_lazy("The learner '{twice}' is named twice.", twice=duplicates[0]), "Name each learner once."
        )
    return [
        _AutoRun(spec, plan.chosen_by)
        if spec.name == AUTO
        else _LearnerRun(spec, PLAIN if spec.name in plan.baselines else spec.name)
        for spec in learners
    ]


def failure_text(problem: Exception) -> str:
    """The message for one of :data:`FAILURES`."""
    if isinstance(problem, SemblanceError):
        return str(problem)
    if isinstance(problem, MemoryError):
        return "There was not enough memory; use fewer cases or fewer features."
    return tr_lazy("The computation failed ({problem}).", problem=problem)


def _result(
    protocol: str,
    plan: EvaluationPlan,
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
            AUTO if run.spec.name == AUTO else steps_text(steps),
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
        splits=tuple(NamedSplit(*plan.label(place), split) for place, split in enumerate(splits)),
        queries=tuple(
            SplitQueries(run.spec.name, *plan.label(place), measured.records)
            for run in runs
            if run.failure is None
            for place, measured in enumerate(run.measured)
            if measured.records is not None
        ),
    )


class SplitProtocol(EvaluationProtocol):
    """The base of these protocols. They differ in how they split and what they measure."""

    #: Whether :meth:`measure` needs the training curve.
    needs_points: ClassVar[bool] = False
    #: The paper's parameters of a learner, by its name, used if the user set none.
    paper_params: ClassVar[Mapping[str, Mapping[str, Value]]] = {}

    @abc.abstractmethod
    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """A description of the splits, and the splits of all ``repeats``.

        Raises:
            BadInput: too few cases, findings or patients.
        """

    @abc.abstractmethod
    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """The scores of one fitted metric on its split.

        Raises:
            BadInput: cases that this protocol cannot measure.
        """

    def run(
        self,
        data: EvaluationData,
        learners: Sequence[LearnerSpec],
        *,
        steps: Sequence[Step] = (),
        repeats: int | None = None,
        seed: int = 0,
        reporter: Reporter = SILENT,
        cluster: Cluster | None = None,
    ) -> EvaluationResult:
        """As :meth:`EvaluationProtocol.run`: every learner on the splits of :meth:`plan`."""
        if cluster is not None:
            return run_trials_on_cluster(
                cluster,
                self,
                data,
                [self.as_in_the_paper(spec) for spec in learners],
                steps=steps,
                repeats=repeats,
                seed=seed,
                reporter=reporter,
            )
        return run_trials(
            self.name,
            self.plan(data, repeats, seed, [spec.name for spec in learners]),
            [self.as_in_the_paper(spec) for spec in learners],
            compared=self.compared,
            steps=steps,
            seed=seed,
            reporter=reporter,
        )

    def plan(
        self, data: EvaluationData, repeats: int | None, seed: int, learners: Sequence[str] = ()
    ) -> EvaluationPlan:
        """The splits of all repeats, each measured by :meth:`measure`."""
        data = prepare(data)
        parted = self.parted(data, repeats, seed)
        return EvaluationPlan(
            data,
            data,
            parted.rule,
            parted.splits,
            self.measure,
            parted.per_repeat,
            points=self.needs_points,
            **self.plan_options(parted),
        )

    def parted(self, data: EvaluationData, repeats: int | None, seed: int) -> GivenSplits:
        """The splits that are given, or else its own.

        Raises:
            BadArguments: fewer than one repeat, or a number of them although splits are given.
            BadInput: as :meth:`splits`, or as :meth:`SplitTable.splits`.
        """
        if self.given is not None:
            if repeats is not None:
                raise BadArguments("The splits say how many repeats there are.", "Leave --repeats out.")
            return self.given.splits(data, lambda repeat: self.given_seed(seed, repeat))
        repeats = self.checked_repeats(repeats)
        rule, splits = self.splits(data, repeats, seed)
        return GivenSplits(rule, tuple(splits), (), len(splits) // repeats)

    def given_seed(self, seed: int, repeat: int) -> int:
        """The seed of a repeat of given splits: the one that a repeat of its own has."""
        return repeat_seed(seed, repeat)

    def plan_options(self, parted: GivenSplits) -> dict[str, Any]:
        """What a plan of ``parted`` has besides its data and how it measures."""
        chosen_by = self.chosen_by
        if not chosen_by and any(len(split.validation) for split in parted.splits):
            # A validation part that is given is there to choose by.
            best = [name for name in self.compared if name == _CHOSEN_BY] or self.compared[:1]
            chosen_by = tuple(best) if self.given is not None else ()
        return {
            "labels": parted.labels,
            "copies_apart": self.given is None,
            "keeps_queries": self.keeps_queries,
            "chosen_by": chosen_by,
        }

    def checked_repeats(self, repeats: int | None) -> int:
        """The number requested, or the default.

        Raises:
            BadArguments: fewer than one.
        """
        if repeats is not None and repeats < 1:
            raise BadArguments(
                "There must be at least one repeat.",
                tr_lazy("Use --repeats {repeats}, for example.", repeats=self.repeats),
            )
        return repeats or self.repeats

    def as_in_the_paper(self, spec: LearnerSpec) -> LearnerSpec:
        """The learner with the paper's parameters for those that are not set."""
        return replace(spec, params={**self.paper_params.get(spec.name, {}), **spec.params})


def random_halves(data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
    """A stratified random half for training in each repeat, the other for testing."""
    seeds = [repeat_seed(seed, repeat) for repeat in range(repeats)]
    return tr_lazy("random halves"), [halves(data.y.tolist(), data.units, one) for one in seeds]


def repeated_folds(data: EvaluationData, repeats: int, seed: int, k: int) -> list[HoldOut]:
    """``k`` stratified folds, drawn again in each repeat; every case is tested once in each repeat."""
    seeds = [repeat_seed(seed, repeat) for repeat in range(repeats)]
    return [split for one in seeds for split in folds(data.y.tolist(), data.units, one, k)]


class TrainingQueries:
    """Training cases as queries of all others: ``queries`` (q,) rows of the training part, evenly spaced.

    ``distances`` are those from ``queries`` to the training part; ``findings`` (n,) and ``patients`` (n,) are
    of the training part. If patients are unknown, every case is its own patient, so none is retrieved for itself.
    """

    def __init__(self, trial: MetricTrial, findings: Rows) -> None:
        data, train = trial.data, trial.split.train
        rows = trial.metric.transform(data.X[train])
        self.queries: Rows = np.arange(0, len(train), -(-len(train) // _MAX_QUERIES))
        self.findings = findings[train]
        self.patients = patient_numbers(data)[train]
        self.distances: EmbeddedDistances | ScannedDistances = distances_after_steps(
            trial.metric.distance, rows[self.queries], rows
        )

    def correct(self, trial: MetricTrial, n_findings: int) -> Matrix:
        """(q, K) credit of the vote of the 1, 2, ... K nearest, as :func:`semblance.core.evaluation.scores.votes`."""
        found = votes(
            self.distances,
            self.findings,
            self.findings[self.queries],
            n_findings,
            k=1,
            max_k=MAX_VOTERS,
            query_patients=self.patients[self.queries],
            gallery_patients=self.patients,
            reporter=trial.reporter,
        )
        # With all cases the last neighbour is the query itself, which does not vote.
        return found.correct[:, : max(1, len(self.findings) - 1)]

    def best_k(self, correct: Matrix) -> tuple[int, int]:
        """The k with the smallest plain and the smallest balanced error; the smallest k of ties."""
        plain = mean_over_queries(correct)
        balanced = mean_over_findings(correct, self.findings[self.queries])
        return int(plain.argmax()) + 1, int(balanced.argmax()) + 1


def kept_records(
    trial: MetricTrial,
    ks: Sequence[int],
    *,
    inside: bool,
    queries: Rows | None = None,
    columns: Mapping[str, Matrix] | None = None,
    chosen: Mapping[str, float] | None = None,
) -> QueryRecords | None:
    """As :func:`semblance.core.evaluation.query_records.query_records` of a trial that keeps queries, else ``None``."""
    if not trial.keeps_queries:
        return None
    return query_records(
        trial.metric,
        trial.data,
        trial.split,
        ks,
        inside=inside,
        queries=queries,
        columns=columns,
        chosen=chosen,
        reporter=trial.reporter,
    )


def patient_numbers(data: EvaluationData) -> Rows:
    """(n,) a number for each patient; every case is its own patient if none is known."""
    known = patient_codes(data.units, data.n_cases)
    return np.arange(data.n_cases) if known is None else known
