"""Questions: about what is unclear, never twice, never about excluded cases."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm
from semblance.core.searches.feedback.judgements import JudgementKind
from semblance.core.searches.feedback.questions import (
    COMMON_SHARE,
    FEW_QUESTIONS,
    MANY_QUESTIONS,
    LikenessModel,
    QuestionAnswer,
    answer_judgements,
    choose_question,
    draw_query,
    nearer,
    nearness_sample,
)

Z = np.random.default_rng(0).normal(size=(200, 4))
START = FeedbackForm.start(4)
SHARES = (np.arange(400) + 0.5) / 400


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("common", [0.5, 0.02])
def test_similarity_is_learnt_from_answers(common: float) -> None:
    chance = np.random.default_rng(1).random(400)
    true = common if common == 0.5 else np.clip(0.02 / SHARES**0.8, 0.0, 0.6)
    found = LikenessModel.of(SHARES, chance < true)
    at = found.probability(np.array([0.01, 0.9]))
    assert at[0] >= at[1]
    assert at[1] == pytest.approx(0.5 if common == 0.5 else 0.02, abs=0.1)
    assert found.should_change_query(FEW_QUESTIONS) == (common < COMMON_SHARE)
    assert found.should_change_query(MANY_QUESTIONS)


def test_similarity_never_grows_with_distance() -> None:
    assert LikenessModel.of(SHARES, SHARES > 0.5).fall == 0.0


def test_near_cases_are_the_questions_if_few_are_alike() -> None:
    rare = LikenessModel.of(SHARES, SHARES < 0.01)
    near = nearer(Z, Z[7], Z, START)
    for seed in range(10):
        one = choose_question(Z, START, 7, rare, [], np.random.default_rng(seed))
        assert max(near[[one.first, one.second]]) < 0.1


def test_any_case_may_be_the_question_if_half_are_alike() -> None:
    even = LikenessModel(0.0, 0.0)
    near = nearer(Z, Z[7], Z, START)
    questions = [choose_question(Z, START, 7, even, [], np.random.default_rng(seed)) for seed in range(60)]
    shares = near[[place for one in questions for place in (one.first, one.second)]]
    assert shares.min() < 0.2
    assert shares.max() > 0.8


def test_nearness_is_by_the_refined_metric() -> None:
    forgets = FeedbackForm(np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([-1.0]))
    flat = nearer(Z, Z[0], Z, forgets)
    moved = Z.copy()
    moved[:, 0] = 0.0
    np.testing.assert_array_equal(flat, nearer(moved, moved[0], moved, START))


def test_nearness_by_a_sample() -> None:
    many = np.random.default_rng(0).normal(size=(30_000, 4))
    sample = nearness_sample(many)
    assert 900 <= len(sample) <= 1100
    exact = np.argsort(np.argsort((many**2).sum(axis=1))) / len(many)
    np.testing.assert_allclose(nearer(many, np.zeros(4), sample, START), exact, atol=0.06)


def test_questions_do_not_repeat_and_end() -> None:
    judged, random = [], rng()
    while (one := choose_question(Z, START, 7, LikenessModel(), judged, random)) is not None:
        assert one.query == 7
        assert not {one.first, one.second} & {7, *judged}
        assert one.first != one.second
        judged += [one.first, one.second]
    assert len(judged) == 198


def test_only_allowed_cases_and_none_judged() -> None:
    allowed = np.zeros(200, dtype=np.bool_)
    allowed[10:20] = True
    one = choose_question(Z, START, 10, LikenessModel(), [11, 12], rng(), allowed=allowed)
    assert {one.first, one.second} <= set(range(13, 20))
    assert allowed.sum() == 10
    assert choose_question(Z, START, 10, LikenessModel(), range(11, 19), rng(), allowed=allowed) is None


def test_copies_are_not_in_one_question() -> None:
    copies = np.repeat(Z[:3], 4, axis=0)
    one = choose_question(copies, START, 0, LikenessModel(), [1], rng())
    assert not np.array_equal(copies[one.first], copies[one.second])
    assert choose_question(np.ones((5, 2)), FeedbackForm.start(2), 0, LikenessModel(), [], rng()) is None


def test_questions_follow_the_seed_and_differ_beyond_it() -> None:
    first = [
        choose_question(Z, START, 0, LikenessModel(), [1], np.random.default_rng(seed)) for seed in range(20)
    ]
    again = [
        choose_question(Z, START, 0, LikenessModel(), [1], np.random.default_rng(seed)) for seed in range(20)
    ]
    assert first == again
    assert len(set(first)) > 5


def test_another_query_is_new_and_allowed() -> None:
    allowed = np.zeros(200, dtype=np.bool_)
    allowed[[3, 5]] = True
    assert draw_query([3], rng(), allowed) == 5
    assert draw_query([3, 5], rng(), allowed) is None


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        (QuestionAnswer.FIRST, (JudgementKind.ALIKE, JudgementKind.NOT_ALIKE)),
        (QuestionAnswer.SECOND, (JudgementKind.NOT_ALIKE, JudgementKind.ALIKE)),
        (QuestionAnswer.BOTH, (JudgementKind.ALIKE, JudgementKind.ALIKE)),
        (QuestionAnswer.NEITHER, (JudgementKind.NOT_ALIKE, JudgementKind.NOT_ALIKE)),
    ],
)
def test_an_answer_is_two_judgements(answer: QuestionAnswer, kinds: tuple) -> None:
    made = answer_judgements(answer, "q", "a", "b", author="ann", time="t")
    assert [(one.kind, one.case) for one in made] == [(kinds[0], "a"), (kinds[1], "b")]
    assert {(one.query, one.author, one.time) for one in made} == {("q", "ann", "t")}


@pytest.mark.parametrize(("near", "far"), [(0.95, 0.4), (0.7, 0.6)])
def test_prior_of_similarity_from_the_accuracy_curve(near, far):
    curve = [near] * 10 + [(near * 10 + far * (k - 10)) / k for k in range(11, 21)]
    found = LikenessModel.from_accuracy(curve, 200)
    probabilities = found.probability(np.array([5 / 200, 15 / 200]))
    np.testing.assert_allclose(probabilities, [near, far], atol=1e-9)


@pytest.mark.parametrize(
    ("curve", "n"),
    [
        ([0.9] * 5, 100),
        ([0.9] * 20, 20),
        ([0.5 + k / 100 for k in range(20)], 100),
        ([None] * 20, 100),
        ([], 0),
    ],
    ids=["short", "all of them", "rising", "undefined", "none"],
)
def test_uninformative_accuracy_gives_the_default_prior(curve, n):
    assert LikenessModel.from_accuracy(curve, n) == LikenessModel()


def test_answers_update_the_prior():
    known = LikenessModel(-3.0, 1.5)
    assert LikenessModel.of(np.array([0.5]), [False], known).level < 0.0
    many = np.linspace(0.01, 0.99, 400)
    answers = np.random.default_rng(0).random(400) < LikenessModel(1.0, 0.5).probability(many)
    from_known, from_usual = LikenessModel.of(many, answers, known), LikenessModel.of(many, answers)
    evenly = np.linspace(0.005, 0.995, 100)
    shares = [one.probability(evenly).mean() for one in (from_known, from_usual)]
    assert abs(shares[0] - shares[1]) < 0.05
