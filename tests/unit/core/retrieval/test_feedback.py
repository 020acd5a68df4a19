from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from semblance.core.retrieval import feedback, feedback_scores


def cases(n: int = 60, d: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(2.0, 0.5, d)


def squared(x: np.ndarray, y: np.ndarray) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def standardised(values: list[float]) -> np.ndarray:
    return (np.array(values) - np.mean(values)) / np.std(values)


def plain_scores(X: np.ndarray, query: int, liked: list[int], disliked: list[int]) -> np.ndarray:
    """The definition, case by case."""
    n, d = X.shape
    base = np.array([squared(row, X[query]) for row in X])
    X = (X - [np.mean(X[:, j]) for j in range(d)]) / np.sqrt(np.mean([np.var(X[:, j]) for j in range(d)]))
    positive, negative = [query, *sorted(liked)], sorted(disliked)
    w = np.ones(d)
    if len(positive) > 1 and negative:
        for j in range(d):
            apart = np.mean(X[positive, j]) - np.mean(X[negative, j])
            w[j] = (apart**2 + 3.0) / (np.var(X[positive, j]) + 3.0)
        w /= w.mean()
    X = X * np.sqrt(w)
    k = min(max(1 + (len(liked) + len(disliked)) // 5, 3), 5)

    def near(row: np.ndarray, marked: list[int]) -> float:
        return float(np.mean(sorted(np.sqrt(squared(row, X[m])) for m in marked)[:k]))

    close = [near(row, positive) for row in X]
    least = 0.05 * float(np.median(close))
    rule = [
        np.log(near(row, negative) + least) - 1.2 * np.log(a + least) if negative else -np.log(a + least)
        for row, a in zip(X, close, strict=True)
    ]
    order = np.argsort(base, kind="stable")
    sample = X[order[np.linspace(0, n - 1, min(n, 200)).round().astype(int)]]
    pairs = [squared(sample[i], sample[j]) for i in range(len(sample)) for j in range(i + 1, len(sample))]
    length = 2.0 * float(np.median(pairs))
    marked = positive + negative
    sign = np.array([1.0] * len(positive) + [-1.0] * len(negative))
    prior = -0.5 * (base - base.mean()) / base.std()
    kernel = np.array([[np.exp(-squared(X[i], X[j]) / length) for j in marked] for i in marked])
    solved = np.linalg.inv(kernel + 0.2 * np.eye(len(marked))) @ (sign - prior[marked])
    process = [
        prior[i] + sum(np.exp(-squared(X[i], X[j]) / length) * a for j, a in zip(marked, solved, strict=True))
        for i in range(n)
    ]
    points = np.vstack([X[marked], sample[np.linspace(0, len(sample) - 1, 40).round().astype(int)]])
    is_liked = np.arange(len(points)) < len(positive)
    weight = np.where(np.arange(len(points)) < len(marked), 1.0, 0.1)

    def loss(v: np.ndarray) -> float:
        odds = points @ v[:d] + v[d]
        errors = np.logaddexp(0.0, np.where(is_liked, -odds, odds))
        return float(weight @ errors + (v[:d] @ v[:d] + v[d] ** 2 / d) / (2 * 0.05))

    found = minimize(loss, np.zeros(d + 1), method="BFGS", options={"gtol": 1e-9}).x
    logistic = (X @ found[:d]).tolist()
    mixed = standardised(rule) + 0.5 * standardised(process) + 0.3 * standardised(logistic)
    out = []
    for i in range(n):
        others = sorted((squared(X[i], X[j]), j) for j in range(n) if j != i)[:10]
        share = 0.0 if i in liked else 0.5
        out.append((1 - share) * mixed[i] + share * np.mean([mixed[j] for _, j in others]))
    return np.array(out)


@pytest.mark.parametrize(
    ("liked", "disliked"),
    [([3, 40, 7, 8], [12, 50]), ([5], [9, 10, 11, 12, 13, 14]), ([4, 6], []), ([], [2])],
)
def test_the_scores_are_those_of_the_definition(liked, disliked):
    X = cases()
    found = feedback_scores(X, 0, liked, disliked)
    expected = plain_scores(X, 0, liked, disliked)
    others = np.setdiff1d(np.arange(len(X)), disliked)
    apart = found[others] - expected[others]
    # Scores are defined up to a constant.
    np.testing.assert_allclose(apart, apart[0], atol=1e-6)
    assert (found[disliked] < found[others].min()).all()


def test_marks_find_what_the_distance_cannot():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 600)
    X = rng.normal(size=(600, 20))
    X[:, 0] += 2.5 * y
    found = []
    for query in range(20):
        base = ((X - X[query]) ** 2).sum(axis=1)
        order = np.argsort(base)[1:]
        first, rest = order[:20], order[20:]
        alike = y == y[query]
        scores = feedback_scores(X, query, first[alike[first]], first[~alike[first]], base=base)
        after = rest[np.argsort(-scores[rest])][:20]
        found.append((alike[rest[:20]].mean(), alike[after].mean()))
    before, now = np.mean(found, axis=0)
    assert now > before + 0.15


@pytest.mark.parametrize("unit", [1e-140, 1e-8, 1e6, 1e140])
@pytest.mark.parametrize("origin", [0.0, 1e4])
def test_neither_the_unit_nor_the_origin_of_the_coordinates_counts(unit, origin):
    X, liked, disliked = cases(300), [4, 9, 17], [5, 80]
    scores = feedback_scores(X, 0, liked, disliked)
    moved = feedback_scores(unit * (X + origin), 0, liked, disliked)
    np.testing.assert_allclose(moved, scores, rtol=1e-6, atol=1e-6)
    base = ((X - X[0]) ** 2).sum(axis=1)
    scaled = feedback_scores(X, 0, liked, disliked, base=unit**2 * base)
    np.testing.assert_allclose(scaled, scores, rtol=1e-6, atol=1e-6)


def test_feedback_works_with_equal_large_features():
    scores = feedback_scores(np.full((300, 5), 1e20, dtype=np.float32), 0, [1, 2], [3])
    assert np.isfinite(scores).all() and scores.argmin() == 3


def test_the_order_of_cases_and_of_marks_changes_nothing():
    X, liked, disliked = cases(300), np.array([4, 9, 17]), np.array([5, 80])
    scores = feedback_scores(X, 0, liked, disliked)
    np.testing.assert_allclose(feedback_scores(X, 0, [17, 4, 9, 4], [80, 5]), scores)
    np.testing.assert_allclose(feedback_scores(X, X[0], liked, disliked), scores)
    np.testing.assert_array_equal(feedback_scores(X, 0, [0, *liked], disliked), scores)
    shuffled = np.random.default_rng(0).permutation(300)
    place = np.argsort(shuffled)
    again = feedback_scores(X[shuffled], place[0], place[liked], place[disliked])
    np.testing.assert_allclose(again[place], scores, rtol=1e-7, atol=1e-9)
    single = feedback_scores(X.astype(np.float32), 0, liked, disliked)
    np.testing.assert_allclose(single, scores, rtol=1e-3, atol=1e-3)


def test_without_marks_the_order_is_that_of_the_distances():
    X = cases()
    base = np.random.default_rng(2).random(len(X))
    np.testing.assert_array_equal(np.argsort(-feedback_scores(X, 0, [], [], base=base)), np.argsort(base))


def test_marked_cases_stand_first_and_last():
    X = cases(400)
    near = np.argsort(((X - X[0]) ** 2).sum(axis=1))
    liked, disliked = near[[1, 3, 30]], near[[2, 4]]
    order = np.argsort(-feedback_scores(X, 0, liked, disliked))
    assert set(order[-2:]) == set(disliked)
    assert max(np.flatnonzero(np.isin(order, liked))) < 40


@pytest.mark.parametrize(
    "X", [np.ones((30, 3)), np.repeat(cases(6), 10, axis=0), cases(2), np.arange(12).reshape(6, 2)]
)
def test_feedback_works_with_equal_cases(X):
    scores = feedback_scores(X, 0, [1], [])
    assert np.isfinite(scores).all()
    if len(X) > 2:
        both = feedback_scores(X, 0, [1], [len(X) - 1])
        assert np.isfinite(both).all()
        assert both.argmin() == len(X) - 1


def test_cases_beyond_the_pool_keep_the_order_of_their_distances(monkeypatch):
    monkeypatch.setattr(feedback, "POOL", 200)
    monkeypatch.setattr(feedback, "REGRESSED", 50)
    monkeypatch.setattr(feedback, "SMOOTHED", 20)
    X = cases(1000)
    base = ((X - X[0]) ** 2).sum(axis=1)
    near = np.argsort(base)
    liked, disliked = near[[1, 4, 500]], near[[2, 3, 700]]
    order = np.argsort(-feedback_scores(X, 0, liked, disliked), kind="stable")
    beyond = np.setdiff1d(near[200:], [*liked, *disliked])
    assert set(order[-3:]) == set(disliked)
    np.testing.assert_array_equal(order[-3 - len(beyond) : -3], near[np.isin(near, beyond)])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"X": np.zeros(4)}, "table"),
        ({"X": cases() * 1j}, "Complex"),
        ({"X": cases() * 1e200}, "too large"),
        ({"X": np.array([[1.0, np.nan], [0.0, 1.0]])}, "NaN"),
        ({"query": 60}, "query must be from 0 to 59"),
        ({"query": np.zeros(5)}, "6 numbers"),
        ({"query": np.full(6, np.inf)}, "NaN"),
        ({"liked": [60]}, "liked must be"),
        ({"disliked": [-1]}, "disliked must be"),
        ({"liked": [0.5]}, "row numbers for liked"),
        ({"liked": [3], "disliked": [3]}, "both ways: 3"),
        ({"disliked": [0]}, "query itself"),
        ({"base": np.zeros(4)}, "60 distances"),
        ({"base": np.full(60, np.nan)}, "NaN"),
    ],
)
def test_bad_input_is_refused(changes, says):
    given = {"X": cases(), "query": 0, "liked": [1], "disliked": [2], **changes}
    with pytest.raises(ValueError, match=says):
        feedback_scores(
            given.pop("X"), given.pop("query"), given.pop("liked"), given.pop("disliked"), **given
        )


def test_marks_one_after_another_give_the_order_of_all_of_them_at_once(monkeypatch):
    # More cases than are scored, and marks among the others.
    monkeypatch.setattr(feedback, "POOL", 40)
    monkeypatch.setattr(feedback, "REGRESSED", 20)
    X = cases(200)
    base = np.array([squared(row, X[3]) for row in X])
    far = np.argsort(base)[[60, 120, 199]]
    shared = feedback.FeedbackCases(X.__getitem__, X.shape, base)
    for liked, disliked in (([7], []), ([7, far[0]], [12]), ([7], [12, far[1]]), ([7, far[2]], [12, 40, 41])):
        marks = feedback.Feedback(
            shared, X[3], np.array(liked, dtype=np.int64), np.array(disliked, dtype=np.int64)
        )
        assert np.array_equal(marks.scores(), feedback_scores(X, 3, liked, disliked, base=base))
