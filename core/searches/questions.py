"""Ask me next: two cases of which it is least clear whether they are like the query.

A question shows two cases beside the query and has four answers, each one click: only the first is like it,
only the second, both, neither. Either case is as near, under the metric so far, to what was called like the
query as to what was not: the answer moves the border between them. Cases far inside are passed over, and so
are those already judged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from core.metrics.distance import Matrix
from core.metrics.online.click_form import ClickForm
from core.searches.judgement import Judgement, Kind

#: Cases drawn at random among which the least clear are looked for: it keeps questions diverse.
DRAWN = 60
#: Questions about one query before another one teaches more.
QUESTIONS_EACH = 40
_TINY = 1e-12


@dataclass(frozen=True)
class Question:
    """Places of the query and of two cases: which of them are like it?"""

    query: int
    first: int
    second: int


class Answer(StrEnum):
    """The four answers to a question."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"
    NEITHER = "neither"


def ask(
    coordinates: Matrix,
    form: ClickForm,
    query: int,
    alike: Sequence[int],
    unlike: Sequence[int],
    rng: np.random.Generator,
    *,
    allowed: npt.NDArray[np.bool_] | None = None,
    passed: Collection[int] = (),
) -> Question | None:
    """The question about ``query`` whose answer would teach most; ``None`` without two cases left.

    ``coordinates`` (n, m) and ``form`` are those of the metric so far; ``alike`` and ``unlike`` the places
    judged for the query. ``allowed`` (n,): cases that may be asked about, such as those of training patients
    other than the query's. ``passed``: places the person did not want to answer.
    """
    free = np.ones(len(coordinates), dtype=np.bool_) if allowed is None else allowed.copy()
    free[[query, *alike, *unlike, *passed]] = False
    left = np.flatnonzero(free)
    if len(left) < 2:
        return None
    drawn = left if len(left) <= DRAWN else rng.choice(left, DRAWN, replace=False)
    to_alike = _nearest(coordinates, form, drawn, [query, *alike])
    to_unlike = _nearest(coordinates, form, drawn, unlike) if len(unlike) else np.ones(len(drawn))
    clear = np.abs(np.log((to_alike + _TINY) / (to_unlike + _TINY)))
    first = int(drawn[np.argmin(clear)])
    # Two copies of one picture would be one answer given twice.
    copies = (coordinates[drawn] == coordinates[first]).all(axis=1)
    clear[copies] = np.inf
    if copies.all():
        return None
    return Question(query, first, int(drawn[np.argmin(clear)]))


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


def _nearest(coordinates: Matrix, form: ClickForm, rows: npt.NDArray[np.int64], to: Sequence[int]) -> Matrix:
    """(r,) squared distance of each of ``rows`` to the nearest of ``to``."""
    from_rows, from_to = form.embed(coordinates[rows]), form.embed(coordinates[list(to)])
    nearest = np.full(len(rows), np.inf)
    for one in from_to:
        nearest = np.minimum(nearest, ((from_rows - one) ** 2).sum(axis=1))
    return nearest
