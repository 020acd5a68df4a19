"""What clicks are turned into, and how far each moves the ranking."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics.distances import LinearDistance
from semblance.core.metrics.relevance_feedback.feedback_space import FeedbackSpace
from semblance.core.searches.feedback.influence import influences
from semblance.core.searches.feedback.ledger import Ledger
from semblance.core.searches.feedback.relevance_feedback import (
    MAX_NEGATIVE,
    MAX_POSITIVE,
    STRETCH,
    WEIGHT,
    WEIGHT_PER_JUDGEMENT,
    feedback_triplets,
    gather_feedback,
    learn_form,
    trust,
)
from tests.unit.core.searches.feedback.test_ledger import closer, like, unlike

Z = np.random.default_rng(0).normal(size=(60, 5))


def coordinates(key: str) -> np.ndarray | None:
    return Z[int(key)] if int(key) < len(Z) else None


def named(judgements: list) -> set:
    """Triplets as points, each a tuple of coordinates."""
    judged = feedback_triplets(judgements, coordinates)
    return {tuple(tuple(judged.points[row]) for row in triplet) for triplet in judged.triplets}


def points(*rows: int) -> tuple:
    return tuple(tuple(Z[row]) for row in rows)


def test_a_comparison_is_a_triplet() -> None:
    assert named([closer("0", "1", "2")]) == {points(0, 1, 2)}


def test_cases_like_a_query_are_like_each_other() -> None:
    given_feedback = [like("0", "1"), like("0", "2"), unlike("0", "3")]
    assert named(given_feedback) == {points(a, b, 3) for a in (0, 1, 2) for b in (0, 1, 2) if a != b}


def test_queries_are_learnt_separately() -> None:
    given_feedback = [like("0", "1"), unlike("0", "2"), like("5", "6"), unlike("5", "7")]
    assert named(given_feedback) == {points(0, 1, 2), points(1, 0, 2), points(5, 6, 7), points(6, 5, 7)}


def test_single_judgement_is_compared_with_the_mean_of_visible_cases() -> None:
    shown = ("1", "2", "3")
    mean = tuple(Z[[2, 3]].mean(axis=0))
    assert named([unlike("0", "1", shown=shown)]) == {(tuple(Z[0]), mean, tuple(Z[1]))}
    assert named([like("0", "1", shown=shown)]) == {(tuple(Z[0]), tuple(Z[1]), mean)}


def test_an_anchor_is_compared_with_the_nearest_and_in_bounds() -> None:
    given_feedback = [like("0", str(n)) for n in range(1, 20)] + [unlike("0", str(n)) for n in range(20, 60)]
    judged = feedback_triplets(given_feedback, coordinates)
    assert len(judged.triplets) == 20 * MAX_POSITIVE * MAX_NEGATIVE
    own = judged.triplets[judged.triplets[:, 0] == np.flatnonzero((judged.points == Z[0]).all(axis=1))[0]]
    nearest = np.argsort(((Z[20:] - Z[0]) ** 2).sum(axis=1))[:MAX_NEGATIVE] + 20
    assert {tuple(judged.points[row]) for row in own[:, 2]} == set(points(*nearest))


@pytest.mark.parametrize(
    "given_feedback", [[], [like("0", "1")], [like("99", "1"), unlike("99", "2")], [closer("0", "99", "2")]]
)
def test_initial_form_without_usable_judgements(given_feedback: list) -> None:
    assert len(learn_form(given_feedback, coordinates, 5).gains) == 0


def test_case_marked_both_ways_is_not_in_its_own_triplets() -> None:
    form = learn_form([like("0", "1"), unlike("0", "1")], coordinates, 5)
    assert np.isfinite(form.dense()).all()


def test_order_and_repetition_do_not_matter() -> None:
    given_feedback = [
        like("0", "1"),
        unlike("0", "2"),
        closer("0", "3", "4"),
        like("7", "8"),
        unlike("7", "9"),
    ]
    once = learn_form(given_feedback, coordinates, 5).dense()
    np.testing.assert_array_equal(
        learn_form([*given_feedback[::-1], *given_feedback], coordinates, 5).dense(), once
    )


@pytest.mark.parametrize("rank", [1, 3, 12])
@pytest.mark.parametrize("alike", [True, False])
def test_one_mark_moves_mainly_its_own_case(rank: int, alike: bool) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 12))
    space = FeedbackSpace.of(LinearDistance(12, rng.normal(size=(rank, 12))), X)
    at = space.coordinates(X)
    own, others = [], []
    for query in range(24):
        before = np.argsort(space.start().squared(at - at[query]))
        top = [str(case) for case in before[1:21]]
        given_feedback = (like if alike else unlike)(str(query), top[9], shown=tuple(top))
        form = learn_form(
            [given_feedback], lambda key: at[int(key)], at.shape[1], initial_weights=space.initial_weights
        )
        after = np.argsort(form.squared(at - at[query])).tolist()
        shifts = [after.index(int(case)) - place for place, case in enumerate(top, 1)]
        own.append(shifts.pop(9) * (-1 if alike else 1))
        others += shifts
    # Along one direction alone nothing can change places.
    assert np.mean(own) > 0.0 or rank == 1
    assert np.mean(np.abs(others)) < 1.0


def test_strength_and_trust_reduce_the_effect() -> None:
    given_feedback = [like("0", "1"), unlike("0", "2")]
    full = learn_form(given_feedback, coordinates, 5).dense() - np.eye(5)
    np.testing.assert_allclose(
        learn_form(given_feedback, coordinates, 5, 0.5).dense() - np.eye(5), full / 2, atol=1e-12
    )
    np.testing.assert_array_equal(learn_form(given_feedback, coordinates, 5, 0.0).dense(), np.eye(5))
    assert trust(0) == 0.0
    assert 0.0 < trust(1) < trust(100) < 1.0


def test_influence_is_the_ranking_with_and_without() -> None:
    ledger = Ledger()
    ids = ledger.add([like("0", "1"), unlike("0", "2"), like("0", "3"), closer("0", "50", "51")])
    rest = Z[1:]
    found = influences(ledger.in_force, coordinates, rest, Z[0], k=10)
    assert [one.entry for one in found] == ids
    entries = [entry.judgement for entry in ledger.in_force]
    with_all = np.argsort(np.argsort(learn_form(entries, coordinates, 5).squared(rest - Z[0])))
    without = np.argsort(np.argsort(learn_form(entries[1:], coordinates, 5).squared(rest - Z[0])))
    shown = np.flatnonzero(with_all < 10)
    assert found[0].mean_shift == pytest.approx(np.abs(without - with_all)[shown].mean())
    assert found[0].shift == without[found[0].most_moved] - with_all[found[0].most_moved]
    assert max(abs(one.shift) for one in found) > 0


def thumbs_by_first_coordinate(n: int, wrong: int = 0) -> list:
    given_feedback = []
    for row in range(1, n):
        yes = (Z[row, 0] > 0.0) == (Z[0, 0] > 0.0)
        given_feedback.append((like if yes != (row <= wrong) else unlike)("0", str(row)))
    return given_feedback


def test_form_is_stretched_along_the_separating_direction() -> None:
    change = learn_form(thumbs_by_first_coordinate(50), coordinates, 5).dense() - np.eye(5)
    values, vectors = np.linalg.eigh(change)
    assert values[-1] > 10.0
    assert abs(vectors[0, -1]) > 0.9


def about_others(each: int, queries: range) -> list:
    """Of each query too few cases for a direction of its own."""
    return [
        (like if row % 2 else unlike)(str(query), str(row))
        for query in queries
        for row in range(1, each + 1)
        if row != query
    ]


def test_one_query_among_many_has_less_weight() -> None:
    alone = gather_feedback(thumbs_by_first_coordinate(50), coordinates).directions(5)
    among = gather_feedback(
        [*thumbs_by_first_coordinate(50), *about_others(7, range(50, 57))], coordinates
    ).directions(5)
    assert len(alone) == len(among) == 1
    np.testing.assert_allclose(among, alone * np.sqrt(49 / 98), rtol=1e-9)


def test_agreeing_queries_do_not_stretch_more_than_one() -> None:
    given_feedback = [
        (like if (Z[row, 0] > 0.0) == (Z[query, 0] > 0.0) else unlike)(str(query), str(row))
        for query in range(12)
        for row in range(12, 50)
    ]
    found = gather_feedback(given_feedback, coordinates).directions(5)
    assert len(found) == 12
    assert (found**2).sum() <= STRETCH
    one = gather_feedback([each for each in given_feedback if each.query_key == "0"], coordinates).directions(
        5
    )
    assert (one**2).sum() <= STRETCH
    assert (found**2).sum() / (one**2).sum() == pytest.approx(1.0, rel=0.2)


def test_a_few_wrong_answers_change_little() -> None:
    right = learn_form(thumbs_by_first_coordinate(50), coordinates, 5)
    wrong = learn_form(thumbs_by_first_coordinate(50, wrong=6), coordinates, 5)
    ends = [np.linalg.eigh(one.dense())[1][:, -1] for one in (right, wrong)]
    assert abs(ends[0] @ ends[1]) > 0.9


def test_weight_of_triplets_is_limited_by_judgements() -> None:
    judged = feedback_triplets(thumbs_by_first_coordinate(50), coordinates)
    assert len(judged.triplets) > 500
    assert judged.weights.sum() == pytest.approx(WEIGHT + 49 * WEIGHT_PER_JUDGEMENT)
    few = feedback_triplets(thumbs_by_first_coordinate(5), coordinates)
    assert few.weights.sum() == pytest.approx(min(len(few.triplets), WEIGHT + 4 * WEIGHT_PER_JUDGEMENT))


def test_learning_in_threads_gives_the_same_form() -> None:
    from threadpoolctl import ThreadpoolController, threadpool_limits

    given_feedback = [
        like("0", "1"),
        unlike("0", "2"),
        like("3", "4"),
        unlike("3", "5"),
        closer("6", "7", "8"),
    ]
    with threadpool_limits(2, user_api="blas"):
        form = learn_form(given_feedback, coordinates, 5)
        left = {one["num_threads"] for one in ThreadpoolController().info() if one["user_api"] == "blas"}
    with threadpool_limits(1, user_api="blas"):
        np.testing.assert_array_equal(learn_form(given_feedback, coordinates, 5).dense(), form.dense())
    # The caller has its threads again.
    assert left == {2}
