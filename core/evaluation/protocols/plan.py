"""The plan of a protocol: its splits, and how it measures each fitted metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import SemblanceError
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.result import Measured
from semblance.core.evaluation.splits import HoldOut
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.metric import Metric
    from semblance.core.metrics.steps import Step
    from semblance.core.metrics.training import TrainingPoint

#: Exceptions that data can cause. Any other exception is an error of the program and is not caught.
FAILURES = (SemblanceError, ArithmeticError, ValueError, np.linalg.LinAlgError, MemoryError)


@dataclass(frozen=True, eq=False)
class Trial:
    """One metric, fitted on the training rows of ``split``, about to be measured on the others.

    ``learner`` fitted it, on rows after the steps; ``points`` are its training curve, if requested.
    """

    metric: Metric
    data: EvaluationData
    split: HoldOut
    reporter: Reporter
    learner: Learner
    points: tuple[TrainingPoint, ...] = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """How a protocol measures some data: every split it makes, and what it does on each.

    ``data`` is for fitting and testing, ``reported`` is named in the result; ``rule`` describes the ``splits``,
    of which each repeat has ``per_repeat`` consecutive ones. ``triplets`` returns the triplets of a split's training
    rows, for learners that take them. ``baselines``: names of the plain distance on other features of the same cases,
    without steps. ``points``: keep training curves until they are measured.
    """

    data: EvaluationData
    reported: EvaluationData
    rule: str
    splits: tuple[HoldOut, ...]
    measure: Callable[[Trial], Measured]
    per_repeat: int = 1
    triplets: Callable[[HoldOut], npt.NDArray[np.int64]] | None = None
    baselines: Mapping[str, EvaluationData] = field(default_factory=dict)
    points: bool = False

    def prepared(self, place: int, steps: Sequence[Step], baseline: str | None = None) -> PreparedSplit:
        """The split at ``place``, checked for leakage, with its training rows after ``steps``.

        Raises:
            BadInput: a case or a patient is in two of its parts.
        """
        split = self.splits[place]
        split.check_leakage(self.data.units, self.data.n_cases)
        if baseline is not None:
            return PreparedSplit(self.baselines[baseline], split, (), None)
        return PreparedSplit(self.data, split, steps, self.triplets)


class PreparedSplit:
    """The training rows of a split after the steps, computed once for all learners."""

    def __init__(
        self,
        data: EvaluationData,
        split: HoldOut,
        steps: Sequence[Step],
        triplets: Callable[[HoldOut], npt.NDArray[np.int64]] | None,
    ) -> None:
        from semblance.core.metrics.steps import fit_steps

        self.data, self.split = data, split
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
