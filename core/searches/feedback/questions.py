"""Active learning ("Ask me next"): questions about cases for which the likeness to the query is uncertain.

A question shows two cases beside the query and has four answers: only the first is like it, only the second,
both, neither. The probability that a case is like the query is a function of the share of cases that are nearer
to the query, fitted to the answers so far. If half of all cases are like the query, any case is worth asking about;
if few are, only the near ones. Among about equally uncertain cases one is drawn at random. Asking about the most
uncertain case alone taught less, because what is learnt from must be like what is searched.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind

#: Questions are only about cases whose uncertainty p (1 - p) is at least this share of the largest.
MIN_UNCERTAINTY = 0.9
#: If at least COMMON_SHARE of all cases is like a query, MANY_QUESTIONS are asked about it, otherwise FEW_QUESTIONS.
COMMON_SHARE, MANY_QUESTIONS, FEW_QUESTIONS = 0.35, 80, 2
#: Number of cases for measuring nearness, and of the newest queries for fitting likeness.
_SAMPLE, QUERIES = 1000, 40
#: The prior before any answer: log odds, their fall with log nearness, and the precision of both.
_LEVEL, _FALL, _PRECISION = 0.0, 0.4, (0.5, 20.0)
_STEPS = 30
#: Shorter curves of accuracy are not used for the prior.
_MIN_CURVE = 8
_EVEN_SHARES = (np.arange(200) + 0.5) / 200


@dataclass(frozen=True)
class QuestionRows:
    """A question which of two cases are like the query; all three as row numbers."""

    query: int
    first: int
    second: int


@dataclass(frozen=True)
class LikenessModel:
    """The probability p that a case is like the query: log(p / (1 - p)) = level - fall log u, where the share u of
    all cases is nearer to the query."""

    level: float = _LEVEL
    fall: float = _FALL

    @classmethod
    def from_accuracy(cls, accuracy: Sequence[float | None], n: int) -> Self:
        """The prior from a metric's retrieval accuracy @ 1, 2, ... among ``n`` held-out cases.

        It is the line through the log odds of the near and of the far half of the curve. If the curve is too short or
        does not fall, it is the default.
        """
        k = len(accuracy)
        known = [share for share in accuracy if share is not None]
        if k < _MIN_CURVE or len(known) != k or n <= k:
            return cls()
        half = k // 2
        near, overall = known[half - 1], known[-1]
        far = (overall * k - near * half) / (k - half)
        odds = [np.log(p / (1.0 - p)) for p in np.clip([near, far], 0.02, 0.98)]
        positions = np.log([half / 2 / n, (half + k) / 2 / n])
        fall = float((odds[0] - odds[1]) / (positions[1] - positions[0]))
        return cls(float(odds[0] + fall * positions[0]), fall) if fall > 0.0 else cls()

    @classmethod
    def of(cls, nearer: Matrix, positive: npt.ArrayLike, before: LikenessModel | None = None) -> Self:
        """Fit to answers by Newton's method: ``nearer`` (n,) in (0, 1), ``positive`` (n,) booleans; ``before``
        is the prior."""
        x, answers = np.log(nearer), np.asarray(positive, dtype=np.float64)
        start = before or cls()
        precision, prior = np.array(_PRECISION), np.array([start.level, start.fall])
        design: Any = np.stack([np.ones_like(x), -x], axis=1)
        parameters: Any = prior.copy()
        for _ in range(_STEPS):
            p = 1.0 / (1.0 + np.exp(-design @ parameters))
            slope = design.T @ (p - answers) + (parameters - prior) * precision
            step = np.linalg.solve((design.T * (p * (1.0 - p))) @ design + np.diag(precision), slope)
            # Far from the solution full steps diverge.
            parameters -= step * min(1.0, 1.0 / max(1e-12, float(np.abs(step).max())))
        return cls(float(parameters[0]), max(0.0, float(parameters[1])))

    def probability(self, nearer: Matrix) -> Matrix:
        """(n,) the probability of being like the query; ``nearer`` (n,) as :func:`nearer` gives it."""
        out: Matrix = 1.0 / (1.0 + np.exp(self.fall * np.log(nearer) - self.level))
        return out

    def should_change_query(self, questions: int) -> bool:
        """Whether to ask about another query after so many questions about one."""
        return questions >= (
            MANY_QUESTIONS if float(self.probability(_EVEN_SHARES).mean()) >= COMMON_SHARE else FEW_QUESTIONS
        )


class QuestionAnswer(StrEnum):
    """The four answers to a question."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"
    NEITHER = "neither"


def nearer(cases: Matrix, query: Matrix, sample: Matrix, form: FeedbackForm) -> Matrix:
    """(n,) the share of ``sample`` (s, m) that is nearer to ``query`` (m,) than each of ``cases`` (n, m).

    In (0, 1); see :func:`nearness_sample`.
    """
    distances = np.sort(form.squared(sample - query))
    positions = np.searchsorted(distances, form.squared(cases - query)).astype(np.float64)
    return (positions + 0.5) / (len(distances) + 1.0)


def nearness_sample(coordinates: Matrix) -> Matrix:
    """About 1,000 of the cases (n, m) at most, evenly spaced."""
    sample: Matrix = coordinates[:: max(1, len(coordinates) // _SAMPLE)]
    return sample


def choose_question(
    coordinates: Matrix,
    form: FeedbackForm,
    query: int,
    likeness: LikenessModel,
    judged: Collection[int],
    rng: np.random.Generator,
    *,
    allowed: npt.NDArray[np.bool_] | None = None,
) -> QuestionRows | None:
    """The next question about ``query``; ``None`` if fewer than two cases are left.

    ``coordinates`` (n, m) and ``form`` are those of the refined metric; ``judged`` rows are not asked about again.
    ``allowed`` (n,): cases that may be asked about, such as those of training patients other than the query's.
    """
    available = np.ones(len(coordinates), dtype=np.bool_) if allowed is None else allowed.copy()
    available[[query, *judged]] = False
    left = np.flatnonzero(available)
    if len(left) < 2:
        return None
    shares = nearer(coordinates[left], coordinates[query], nearness_sample(coordinates), form)
    probability = likeness.probability(shares)
    uncertainty = probability * (1.0 - probability)
    drawn = rng.permutation(left[uncertainty >= MIN_UNCERTAINTY * uncertainty.max()])
    # If few are that uncertain, the next ones follow: the sort is stable on a random order.
    rest = rng.permutation(left)
    order = np.argsort(-uncertainty[np.searchsorted(left, rest)], kind="stable")
    first = int(drawn[0])
    # Two copies of one image would give the same answer twice.
    for second in (*drawn[1:].tolist(), *rest[order].tolist()):
        if not np.array_equal(coordinates[second], coordinates[first]):
            return QuestionRows(query, first, int(second))
    return None


def draw_query(
    known: Collection[int], rng: np.random.Generator, allowed: npt.NDArray[np.bool_]
) -> int | None:
    """Draw another query among the cases that are ``allowed`` (n,) and not ``known`` yet."""
    available = allowed.copy()
    available[list(known)] = False
    left = np.flatnonzero(available)
    return int(rng.choice(left)) if len(left) else None


def answer_judgements(
    answer: QuestionAnswer, query: str, first: str, second: str, *, author: str = "", time: str = ""
) -> list[Judgement]:
    """The two judgements of an answer, by case ids.

    Raises:
        BadInput: one of the cases is the query.
    """
    yes = {
        QuestionAnswer.FIRST: (True, False),
        QuestionAnswer.SECOND: (False, True),
        QuestionAnswer.BOTH: (True, True),
    }
    kinds = [
        JudgementKind.ALIKE if positive else JudgementKind.NOT_ALIKE
        for positive in yes.get(answer, (False, False))
    ]
    return [
        Judgement(kind, query, case, author=author, time=time)
        for kind, case in zip(kinds, (first, second), strict=True)
    ]
