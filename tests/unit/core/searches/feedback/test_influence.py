"""The estimated effect of each judgement is that of learning again without it."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from semblance.core.metrics.relevance_feedback.quadratic_form import InitialWeights
from semblance.core.metrics.relevance_feedback.triplet_learning import GRAM_TRIPLETS, DifferencePairs
from semblance.core.searches.feedback import influence as leave_one_out
from semblance.core.searches.feedback.influence import LeaveOneOut
from semblance.core.searches.feedback.judgements import Judgement
from semblance.core.searches.feedback.relevance_feedback import feedback_triplets, learn_form
from tests.unit.core.searches.feedback.test_ledger import closer, like, unlike

Z = np.random.default_rng(0).normal(size=(160, 6)) / np.sqrt(6)


def coordinates(key: str) -> np.ndarray | None:
    return Z[int(key)] if int(key) < len(Z) else None


def thumbs(queries: int, each: int) -> list[Judgement]:
    """Likes and dislikes by the first coordinate, one in nine of them wrong."""
    rng, given_feedback = np.random.default_rng(1), []
    for query in range(queries):
        for case in rng.choice(np.arange(queries, len(Z)), each, replace=False).tolist():
            right = (Z[case, 0] > 0) == (Z[query, 0] > 0)
            given_feedback.append((like if right != (case % 9 == 0) else unlike)(str(query), str(case)))
    return given_feedback


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "each"), [(1, 40), (6, 14), (30, 5)])
def test_one_newton_step_is_close_to_learning_again(queries: int, each: int) -> None:
    given_feedback = [*thumbs(queries, each), closer("3", "150", "151"), like("0", "999")]
    judged = feedback_triplets(given_feedback, coordinates)
    assert judged is not None
    assert len(judged.triplets) > GRAM_TRIPLETS
    initial_weights = InitialWeights(np.linspace(0.0, 2.0, 6), 1.0)
    full = learn_form(given_feedback, coordinates, 6, 0.8, initial_weights).dense()
    changes, errors = [], []
    for place, form in enumerate(LeaveOneOut(given_feedback, coordinates, 6, 0.8, initial_weights).forms()):
        anew = learn_form(
            given_feedback[:place] + given_feedback[place + 1 :], coordinates, 6, 0.8, initial_weights
        )
        assert form.open == anew.open
        changes.append(np.linalg.norm(anew.dense() - full))
        errors.append(np.linalg.norm(anew.dense() - form.dense()))
    assert len(changes) == len(given_feedback)
    assert np.median(np.array(errors)) < 0.1 * np.median(np.array(changes))
    assert max(errors) < 0.3 * max(changes)


@pytest.mark.parametrize("given_feedback", [thumbs(2, 6), [closer("0", "1", "2")], [like("0", "1")], []])
def test_few_judgements_are_learnt_exactly(given_feedback: list[Judgement]) -> None:
    forms = list(LeaveOneOut(given_feedback, coordinates, 6).forms())
    assert len(forms) == len(given_feedback)
    for place, form in enumerate(forms):
        anew = learn_form(given_feedback[:place] + given_feedback[place + 1 :], coordinates, 6)
        np.testing.assert_array_equal(form.dense(), anew.dense())


def test_leave_one_out_in_many_coordinates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leave_one_out, "MAX_COORDINATES", 10)
    wide = np.random.default_rng(2).normal(size=(60, 20)) * np.geomspace(1.0, 0.1, 20)
    given_feedback = [
        (like if (wide[case, 0] > 0) != (case % 9 == 0) else unlike)("0", str(case)) for case in range(1, 50)
    ]

    def at(key: str) -> np.ndarray:
        return wide[int(key)]

    full = learn_form(given_feedback, at, 20).dense()
    for place, form in enumerate(LeaveOneOut(given_feedback, at, 20).forms()):
        if place % 8 == 0:
            anew = learn_form(given_feedback[:place] + given_feedback[place + 1 :], at, 20).dense()
            assert np.linalg.norm(form.dense() - anew) < 0.25 * np.linalg.norm(full - anew)


def test_memory_of_the_curvature() -> None:
    n, m = 3000, leave_one_out.MAX_COORDINATES
    points = np.random.default_rng(3).normal(size=(n + 1, m))
    case = np.arange(n - 1)
    triplets = np.column_stack([np.full(n - 1, n), case, case + 1])
    pairs = DifferencePairs.of(points, triplets, np.ones(n - 1))
    tracemalloc.start()
    try:
        leave_one_out._Curvature.of(pairs, np.zeros((m, m)))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    squares = 4 * n * m * (m + 1) // 2
    assert most < 4.5 * squares
