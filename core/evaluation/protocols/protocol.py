"""The contract of a protocol: how learners are measured, the same way for all of them."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols.plan import Plan
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter, Value, checked
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.engine.cluster import Cluster
    from semblance.core.metrics.steps import Step


@dataclass(frozen=True)
class LearnerSpec:
    """A learner to measure: its registered name and the parameters that differ from the defaults."""

    name: str
    params: Mapping[str, Value] = field(default_factory=dict)


class Protocol(abc.ABC):
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
    #: Attributes of the cases that it needs.
    attributes: ClassVar[tuple[str, ...]] = ()
    #: Names of baselines that can be given like learners.
    baselines: ClassVar[tuple[str, ...]] = ()
    #: The parameters of the protocol.
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __init__(self, **settings: Value) -> None:
        """``settings`` are values of :attr:`parameters`; the others keep their defaults.

        Raises:
            BadArguments: an unknown name or a refused value.
        """
        self.settings: Mapping[str, Value] = checked(
            tr_lazy("The protocol {name}", name=self.name), self.parameters, settings
        )

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
    ) -> Plan:
        """The splits of all ``repeats``, and how each is measured; ``learners`` are their names.

        Raises:
            BadArguments: fewer than one repeat.
            BadInput: too few cases, findings or patients.
        """

    @abc.abstractmethod
    def as_in_the_paper(self, spec: LearnerSpec) -> LearnerSpec:
        """The learner with the paper's parameters for those that are not set."""
