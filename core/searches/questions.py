"""Ask me next: two cases of which it is least sure whether they are like the query.

A question shows two cases beside the query and has four answers, each one click: only the first is like it,
only the second, both, neither. How likely a case is like the query is told by how many are nearer to it, as
far as the answers so far say so: where half of all cases are like it any case is worth asking about, where
few are only the near ones. Among those about equally unsure cases are drawn at random, which keeps them
diverse: asking about the least sure alone taught less, as what is learnt from must be like what is searched.
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
from semblance.core.searches.judgement import Judgement, Kind

#: Cases are asked about whose doubt p (1 - p) is at least this share of the largest.
DOUBTFUL = 0.9
#: Where at least this share of all cases is like a query, questions stay with it for LONG, else for SHORT.
COMMON, LONG, SHORT = 0.35, 80, 2
#: Cases by which nearness is told, and newest queries by which likeness is.
_SAMPLE, QUERIES = 1000, 40
#: What is thought before any answer: log odds, their fall with log nearness, and how firmly.
_LEVEL, _FALL, _FIRM = 0.0, 0.4, (0.5, 20.0)
_STEPS = 30
#: Shorter curves of accuracy tell too little of how likeness falls.
_CURVE = 8
_EVENLY = (np.arange(200) + 0.5) / 200


@dataclass(frozen=True)
class Question:
    """Places of the query and of two cases: which of them are like it?"""

    query: int
    first: int
    second: int


@dataclass(frozen=True)
class Likeness:
    """log(p / (1 - p)) = level - fall log u of a case to which the share u of all cases is nearer."""

    level: float = _LEVEL
    fall: float = _FALL

    @classmethod
    def of_accuracy(cls, accuracy: Sequence[float | None], n: int) -> Self:
        """What a metric's retrieval accuracy @ 1, 2, ... among ``n`` held-out cases tells before any answer.

        The line through the log odds of the near and of the far half of the curve; the usual start where the
        curve is too short or falls nowhere.
        """
        k = len(accuracy)
        known = [share for share in accuracy if share is not None]
        if k < _CURVE or len(known) != k or n <= k:
            return cls()
        half = k // 2
        near, whole = known[half - 1], known[-1]
        far = (whole * k - near * half) / (k - half)
        odds = [np.log(p / (1.0 - p)) for p in np.clip([near, far], 0.02, 0.98)]
        places = np.log([half / 2 / n, (half + k) / 2 / n])
        fall = float((odds[0] - odds[1]) / (places[1] - places[0]))
        return cls(float(odds[0] + fall * places[0]), fall) if fall > 0.0 else cls()

    @classmethod
    def of(cls, nearer: Matrix, alike: npt.ArrayLike, before: Likeness | None = None) -> Self:
        """From answers: ``nearer`` (n,) in (0, 1), ``alike`` (n,) what was said. Newton, from what
        was thought ``before``."""
        x, answers = np.log(nearer), np.asarray(alike, dtype=np.float64)
        begun = before or cls()
        firm, prior = np.array(_FIRM), np.array([begun.level, begun.fall])
        design: Any = np.stack([np.ones_like(x), -x], axis=1)
        at: Any = prior.copy()
        for _ in range(_STEPS):
            p = 1.0 / (1.0 + np.exp(-design @ at))
            slope = design.T @ (p - answers) + (at - prior) * firm
            step = np.linalg.solve((design.T * (p * (1.0 - p))) @ design + np.diag(firm), slope)
            # From afar whole steps go farther still.
            at -= step * min(1.0, 1.0 / max(1e-12, float(np.abs(step).max())))
        return cls(float(at[0]), max(0.0, float(at[1])))

    def likely(self, nearer: Matrix) -> Matrix:
        """(n,) the probability of being like the query; ``nearer`` (n,) as :func:`nearer` gives it."""
        out: Matrix = 1.0 / (1.0 + np.exp(self.fall * np.log(nearer) - self.level))
        return out

    def enough(self, questions: int) -> bool:
        """Whether another query teaches more after so many questions about one."""
        return questions >= (LONG if float(self.likely(_EVENLY).mean()) >= COMMON else SHORT)


class Answer(StrEnum):
    """The four answers to a question."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"
    NEITHER = "neither"


def nearer(cases: Matrix, query: Matrix, sample: Matrix, form: FeedbackForm) -> Matrix:
    """(n,) which share of ``sample`` (s, m) is nearer to ``query`` (m,) than each of ``cases`` (n, m).

    In (0, 1); see :func:`sample_of`.
    """
    line = np.sort(form.squared(sample - query))
    places = np.searchsorted(line, form.squared(cases - query)).astype(np.float64)
    return (places + 0.5) / (len(line) + 1.0)


def sample_of(coordinates: Matrix) -> Matrix:
    """At most about 1,000 of the cases (n, m), spread evenly over their order."""
    sample: Matrix = coordinates[:: max(1, len(coordinates) // _SAMPLE)]
    return sample


def ask(
    coordinates: Matrix,
    form: FeedbackForm,
    query: int,
    likeness: Likeness,
    judged: Collection[int],
    rng: np.random.Generator,
    *,
    allowed: npt.NDArray[np.bool_] | None = None,
) -> Question | None:
    """The question about ``query`` whose answer would teach most; ``None`` without two cases left.

    ``coordinates`` (n, m) and ``form`` are those of the metric so far; ``judged`` places not to ask about
    again. ``allowed`` (n,): cases that may be asked about, such as those of training patients other than the
    query's.
    """
    free = np.ones(len(coordinates), dtype=np.bool_) if allowed is None else allowed.copy()
    free[[query, *judged]] = False
    left = np.flatnonzero(free)
    if len(left) < 2:
        return None
    shares = nearer(coordinates[left], coordinates[query], sample_of(coordinates), form)
    likely = likeness.likely(shares)
    doubt = likely * (1.0 - likely)
    drawn = rng.permutation(left[doubt >= DOUBTFUL * doubt.max()])
    # With few as doubtful as that, the next doubtful ones: the sort is stable on a random order.
    rest = rng.permutation(left)
    order = np.argsort(-doubt[np.searchsorted(left, rest)], kind="stable")
    first = int(drawn[0])
    # Two copies of one image would be one answer given twice.
    for second in (*drawn[1:].tolist(), *rest[order].tolist()):
        if not np.array_equal(coordinates[second], coordinates[first]):
            return Question(query, first, int(second))
    return None


def next_query(
    asked: Collection[int], rng: np.random.Generator, allowed: npt.NDArray[np.bool_]
) -> int | None:
    """Another case to ask about, drawn among those ``allowed`` (n,) and not ``asked`` yet."""
    free = allowed.copy()
    free[list(asked)] = False
    left = np.flatnonzero(free)
    return int(rng.choice(left)) if len(left) else None


def judgements_of(
    answer: Answer, query: str, first: str, second: str, *, author: str = "", time: str = ""
) -> list[Judgement]:
    """The two judgements that an answer is, by case ids.

    Raises:
        BadInput: one of the cases is the query.
    """
    yes = {Answer.FIRST: (True, False), Answer.SECOND: (False, True), Answer.BOTH: (True, True)}
    kinds = [Kind.ALIKE if alike else Kind.NOT_ALIKE for alike in yes.get(answer, (False, False))]
    return [
        Judgement(kind, query, case, author=author, time=time)
        for kind, case in zip(kinds, (first, second), strict=True)
    ]
