"""Protocols that split the cases at random several times, and measure every split in the same way."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from semblance.core.errors import BadArguments
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.protocols.plan import Plan, Trial
from semblance.core.evaluation.protocols.protocol import LearnerSpec, Protocol
from semblance.core.evaluation.protocols.runner import repeat_seed, run_trials, run_trials_on_cluster
from semblance.core.evaluation.result import EvaluationResult, Measured
from semblance.core.evaluation.splits import HoldOut, folds, halves
from semblance.core.language import tr_lazy
from semblance.core.parameters import Value
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.engine.cluster import Cluster
    from semblance.core.metrics.steps import Step


class SplitProtocol(Protocol):
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
    def measure(self, trial: Trial) -> Measured:
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
        """As :meth:`Protocol.run`: every learner on the splits of :meth:`plan`."""
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
    ) -> Plan:
        """The splits of all repeats, each measured by :meth:`measure`."""
        data = prepare(data)
        repeats = self.checked_repeats(repeats)
        rule, splits = self.splits(data, repeats, seed)
        return Plan(
            data, data, rule, tuple(splits), self.measure, len(splits) // repeats, points=self.needs_points
        )

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
