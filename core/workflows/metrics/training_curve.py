"""The training curve: a learner's objective after each round, with the accuracy on held-out cases."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.evaluate_metric import accuracy_after_steps
from semblance.core.evaluation.splits import Rows, patient_codes
from semblance.core.metrics.steps.sequence import apply_steps
from semblance.core.metrics.steps.step import Step
from semblance.core.metrics.training import TrainingPoint
from semblance.core.tasks import PartReporter, Reporter

#: Scoring the curve may take this share of the time; it scores at most so many held-out cases.
CURVE_SHARE, CURVE_CASES = 0.25, 400


@dataclass(frozen=True)
class CurvePoint:
    """One point of a training curve: the objective, and accuracy @10 on held-out cases."""

    round: int
    objective: float
    held_out_accuracy: float | None


class CurveReporter(PartReporter):
    """Passes on what a learner reports, its rounds as points of a curve scored on held-out cases.

    Scoring may take :data:`CURVE_SHARE` of the time: the longer a round's score took, the fewer rounds are
    scored. The last round is always scored, by :meth:`end`.
    """

    def __init__(
        self, whole: Reporter, steps: Sequence[Step], data: EvaluationData, held_out: Rows, seed: int
    ) -> None:
        """``held_out`` (n,): the rows of ``data`` to score on after the fitted ``steps``."""
        super().__init__(whole)
        chosen = held_out
        if len(held_out) > CURVE_CASES:
            places = np.random.default_rng(seed).choice(len(held_out), CURVE_CASES, replace=False)
            chosen = held_out[np.sort(places)]
        part = data.rows(chosen)
        self._rows = apply_steps(steps, part.X, part.X.shape[1])
        self._findings = np.unique(part.y, return_inverse=True)[1].astype(np.intp)
        self._patients = patient_codes(part.units, part.n_cases)
        self._lesions = part.lesions_of(np.arange(part.n_cases))
        self._points: list[CurvePoint] = []
        self._last: TrainingPoint | None = None
        self._next = 0.0

    def progress(self, done: int, total: int | None, what: str) -> None:
        """Pass it on."""
        self._whole.progress(done, total, what)

    def partial(self, result: object) -> None:
        """Pass ``result`` on, a round as a :class:`CurvePoint`."""
        if not isinstance(result, TrainingPoint):
            self._whole.partial(result)
            return
        accuracy = None
        begin = time.monotonic()
        if begin >= self._next:
            accuracy = self._accuracy(result)
            spent = time.monotonic() - begin
            self._next = time.monotonic() + spent * (1 / CURVE_SHARE - 1)
        self._last = result
        self._points.append(CurvePoint(result.round, result.objective, accuracy))
        self._whole.partial(self._points[-1])

    def end(self) -> None:
        """Score the last round, and report it again, where it has no score yet."""
        if self._last is not None and self._points[-1].held_out_accuracy is None:
            self._points[-1] = replace(self._points[-1], held_out_accuracy=self._accuracy(self._last))
            self._whole.partial(self._points[-1])

    def to_json(self) -> list[list[float | None]]:
        """[round, objective, held-out accuracy or null] of every point."""
        return [[p.round, p.objective, p.held_out_accuracy] for p in self._points]

    def _accuracy(self, point: TrainingPoint) -> float | None:
        return accuracy_after_steps(point.distance, self._rows, self._findings, self._patients, self._lesions)
