"""What judgements about one query agree on, and which of them the others speak against."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics.relevance_feedback.judgement_agreement import (
    FEWEST,
    agreement,
    judgement_reliabilities,
    separating_direction,
)
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm


def simulated_judgements(n: int, m: int = 6, wrong: float = 0.0, seed: int = 0):
    """Points whose first coordinate decides the sign, scaled as click coordinates are; some signs turned."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, m)) / np.sqrt(m)
    true = np.where(points[:, 0] > 0.0, 1.0, -1.0)
    turned = rng.random(n) < wrong
    return points, np.where(turned, -true, true), turned


def test_wrong_judgements_get_a_lower_reliability() -> None:
    points, signs, turned = simulated_judgements(160, wrong=0.15)
    believed = judgement_reliabilities(points, signs)
    assert ((believed > 0.0) & (believed < 1.0)).all()
    assert believed[turned].mean() < 0.45
    assert believed[~turned].mean() > 0.6


def test_few_or_one_sided_answers_all_have_full_weight() -> None:
    points, signs, _ = simulated_judgements(FEWEST - 1)
    np.testing.assert_array_equal(judgement_reliabilities(points, signs), 1.0)
    points, _, _ = simulated_judgements(40)
    np.testing.assert_array_equal(judgement_reliabilities(points, np.ones(40)), 1.0)


def test_of_very_many_answers_samples_are_used() -> None:
    points, signs, turned = simulated_judgements(1500, wrong=0.1)
    believed = judgement_reliabilities(points, signs)
    assert believed[turned].mean() < believed[~turned].mean() - 0.2


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_the_direction_is_found_and_its_share_shows_its_certainty(wrong: float) -> None:
    points, signs, _ = simulated_judgements(160, wrong=wrong)
    found = separating_direction(points, signs, np.ones(160))
    assert np.linalg.norm(found.unit) == pytest.approx(1.0)
    assert abs(found.unit[0]) > 0.85
    assert found.unit[0] > 0.0
    assert (found.share > 0.4) == (wrong == 0.0)


def test_random_judgements_rarely_give_a_separating_direction() -> None:
    rng = np.random.default_rng(5)
    found = [
        separating_direction(rng.normal(size=(60, 6)), rng.choice([-1.0, 1.0], 60), np.ones(60))
        for _ in range(40)
    ]
    assert sum(one is not None for one in found) <= 4


def test_no_direction_without_enough_or_different_answers() -> None:
    points, signs, _ = simulated_judgements(FEWEST - 1)
    assert separating_direction(points, signs, np.ones(len(signs))) is None
    points, _, _ = simulated_judgements(40)
    assert separating_direction(points, np.ones(40), np.ones(40)) is None
    assert separating_direction(np.zeros((40, 3)), np.repeat([1.0, -1.0], 20), np.ones(40)) is None


def test_stretching_adds_the_square_of_a_direction() -> None:
    rng = np.random.default_rng(0)
    form = FeedbackForm.nearest(np.diag([0.5, -0.3]), np.linalg.qr(rng.normal(size=(5, 2)))[0].T)
    more = rng.normal(size=(3, 5))
    np.testing.assert_allclose(form.stretched(more).dense(), form.dense() + more.T @ more, atol=1e-12)
    many = rng.normal(size=(9, 5))
    np.testing.assert_allclose(form.stretched(many).dense(), form.dense() + many.T @ many, atol=1e-12)
    assert form.stretched(np.empty((0, 5))) is form


def problem_parts(along: float, seed: int = 0, n: int = 12) -> tuple[np.ndarray, list]:
    """Triplets of ``n`` queries; in ``along`` of them the first coordinate decides, else chance."""
    rng = np.random.default_rng(seed)
    points, parts = rng.normal(size=(120, 6)), []
    for _ in range(n):
        query, *others = rng.choice(120, 21, replace=False).tolist()
        distances = np.abs(points[others, 0] - points[query, 0]) if rng.random() < along else rng.random(20)
        order = np.array(others)[np.argsort(distances)]
        parts.append((np.array([(query, a, b) for a in order[:5] for b in order[-5:]]), np.ones(25)))
    return points, parts


def test_queries_with_the_same_judged_direction_agree() -> None:
    assert agreement(*problem_parts(1.0)) > 3.0 * max(0.05, agreement(*problem_parts(0.0)))
    assert agreement(*problem_parts(0.0)) < 0.4


def test_agreement_of_two_queries_is_zero() -> None:
    points, parts = problem_parts(1.0)
    assert agreement(points, parts[:2]) == 0.0
    assert agreement(points, [(triplets[:1] * 0, np.ones(1)) for triplets, _ in parts]) == 0.0
