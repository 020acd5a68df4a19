"""Questions: about what is unclear, never twice, never about what may not be asked."""

from __future__ import annotations

import numpy as np
import pytest

from core.metrics.online.click_form import ClickForm
from core.searches.judgement import Kind
from core.searches.questions import DRAWN, Answer, Question, ask, judgements_of, next_query

Z = np.random.default_rng(0).normal(size=(200, 4))
START = ClickForm.start(4)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_the_least_clear_cases_are_asked_about() -> None:
    line = np.array([[0.0], [0.1], [5.0], [2.52], [2.6], [0.4], [4.9]])
    one = ask(line, ClickForm.start(1), 0, [1], [2], rng())
    assert one == Question(0, 3, 4)


def test_the_metric_so_far_decides_what_is_unclear() -> None:
    plane = np.array([[0.0, 0.0], [0.0, 0.1], [4.0, 0.0], [2.0, 0.0], [3.9, 9.0], [2.1, 9.0]])
    plain = ask(plane, ClickForm.start(2), 0, [1], [2], rng())
    forgets = ClickForm(np.array([[1.0, 0.0]]), np.array([-1.0]))
    assert {plain.first, plain.second} == {3, 5}
    other = ask(plane, forgets, 0, [1], [2], rng())
    assert other != plain


def test_nothing_is_asked_twice_until_nothing_is_left() -> None:
    alike, unlike, random, seen = [], [], rng(), set()
    while (one := ask(Z, START, 7, alike, unlike, random)) is not None:
        assert one.query == 7
        assert not {one.first, one.second} & {7, *seen}
        assert one.first != one.second
        seen |= {one.first, one.second}
        alike.append(one.first)
        unlike.append(one.second)
    assert len(seen) == 198


def test_only_allowed_cases_and_none_passed_over() -> None:
    allowed = np.zeros(200, dtype=np.bool_)
    allowed[10:20] = True
    one = ask(Z, START, 10, [], [], rng(), allowed=allowed, passed=[11, 12])
    assert {one.first, one.second} <= set(range(13, 20))
    assert allowed.sum() == 10
    assert ask(Z, START, 10, [], [], rng(), allowed=allowed, passed=range(11, 19)) is None


def test_copies_are_not_asked_together() -> None:
    copies = np.repeat(Z[:3], 4, axis=0)
    one = ask(copies, START, 0, [1], [4], rng())
    assert not np.array_equal(copies[one.first], copies[one.second])
    assert ask(np.ones((5, 2)), ClickForm.start(2), 0, [], [], rng()) is None


def test_questions_follow_the_seed_and_differ_beyond_it() -> None:
    assert len(Z) > DRAWN
    first = [ask(Z, START, 0, [1], [2], np.random.default_rng(seed)) for seed in range(20)]
    again = [ask(Z, START, 0, [1], [2], np.random.default_rng(seed)) for seed in range(20)]
    assert first == again
    assert len(set(first)) > 5


def test_another_query_is_new_and_allowed() -> None:
    allowed = np.zeros(200, dtype=np.bool_)
    allowed[[3, 5]] = True
    assert next_query([3], rng(), allowed) == 5
    assert next_query([3, 5], rng(), allowed) is None


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        (Answer.FIRST, (Kind.ALIKE, Kind.NOT_ALIKE)),
        (Answer.SECOND, (Kind.NOT_ALIKE, Kind.ALIKE)),
        (Answer.BOTH, (Kind.ALIKE, Kind.ALIKE)),
        (Answer.NEITHER, (Kind.NOT_ALIKE, Kind.NOT_ALIKE)),
    ],
)
def test_an_answer_is_two_judgements(answer: Answer, kinds: tuple) -> None:
    made = judgements_of(answer, "q", "a", "b", author="ann", time="t")
    assert [(one.kind, one.case) for one in made] == [(kinds[0], "a"), (kinds[1], "b")]
    assert {(one.query, one.author, one.time) for one in made} == {("q", "ann", "t")}
