"""What a protocol plans for some data: its splits, and what it measures of each fitted metric."""

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

#: What arithmetic on unlucky data raises; anything else is a mistake in the program and is not hidden.
FAILURES = (SemblanceError, ArithmeticError, ValueError, np.linalg.LinAlgError, MemoryError)


@dataclass(frozen=True, eq=False)
class Trial:
    """One metric, fitted on the training rows of ``split``, about to be measured on the others.

    ``learner`` fitted it, on rows after the steps; ``points`` are its training curve, where asked for.
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

    ``data`` is what learners are fitted on, ``reported`` those that a result names; ``rule`` says how the ``splits``
    were made, ``per_repeat`` of them one after another in each repeat. ``triplets`` gives those of a split's
    training rows, for the learners that take them. ``baselines``: names that are the plain distance on other
    numbers of the same cases, without steps. ``points``: training curves are kept until measured.
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
        """The split at ``place``, refused if it leaks, with its training rows after ``steps``.

        Raises:
            BadInput: a case or a patient is in two of its parts.
        """
        split = self.splits[place]
        split.check_leakage(self.data.units, self.data.n_cases)
        if baseline is not None:
            return PreparedSplit(self.baselines[baseline], split, (), None)
        return PreparedSplit(self.data, split, steps, self.triplets)


class PreparedSplit:
    """The training rows of a split after the steps, made once for all learners."""

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
