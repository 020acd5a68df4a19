from __future__ import annotations

import itertools

import numpy as np
import pytest

from semblance.core.evaluation.chance import is_at_chance
from semblance.core.evaluation.evaluate_metric import FindingScore, IntervalCurve, MetricScores, chance_note
from semblance.core.evaluation.intervals import over_findings
from semblance.core.evaluation.scores import accuracy_scores


def test_chance_is_that_of_two_cases_having_one_finding():
    findings = np.repeat([0, 1, 2], [12, 5, 3])
    per_query = np.random.default_rng(0).random((20, 10))
    found = accuracy_scores(per_query, findings, None, None, (1, 10, 50))
    n = np.array([12, 5, 3])
    assert found["chance@10"] == found["chance@1"] == pytest.approx((n * (n - 1)).sum() / (20 * 19))
    assert found["macro_chance@10"] == pytest.approx(((n - 1) / 19).mean())
    of_finding = [per_query[findings == one, 9].mean() for one in range(3)]
    assert found["retrieval_accuracy@10"] == pytest.approx(per_query[:, 9].mean())
    assert found["macro_retrieval_accuracy@10"] == pytest.approx(np.mean(of_finding))
    assert found["worst_finding@10"] == pytest.approx(min(of_finding))
    assert not any(name.endswith("@50") for name in found)


def test_chance_is_the_mean_of_all_orders_where_own_patients_are_hidden():
    findings, patients = np.array([0, 0, 1, 1, 0]), np.array([0, 0, 0, 1, 2])
    shares = []
    for query in range(5):
        gallery = [row for row in range(5) if patients[row] != patients[query]]
        orders = itertools.permutations(gallery)
        shares.append(np.mean([np.mean(findings[list(order[:2])] == findings[query]) for order in orders]))
    found = accuracy_scores(np.ones((5, 2)), findings, patients, None, (2,))
    assert found["chance@2"] == pytest.approx(np.mean(shares))
    assert found["macro_chance@2"] == pytest.approx(
        np.mean([np.mean(np.array(shares)[findings == one]) for one in (0, 1)])
    )


def test_copies_count_once_for_chance():
    """Three copies of one lesion of finding 1 are one case to find."""
    findings, lesions = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 2, 2, 2])
    found = accuracy_scores(np.ones((5, 1)), findings, lesions, lesions, (1,))
    assert found["chance@1"] == pytest.approx((2 * 0.5 + 3 * 0.0) / 5)


def test_the_interval_of_the_mean_over_findings_is_wide_where_a_finding_is_rare():
    rng = np.random.default_rng(0)
    values = rng.random(400)
    findings = (np.arange(400) < 6).astype(np.intp)
    mean, low, high = over_findings(values, findings, seed=1)
    assert mean == pytest.approx((values[:6].mean() + values[6:].mean()) / 2)
    assert low < mean < high
    assert high - low > 2 * (values.std() / 20) * 2


def scores(accuracy, chance, macro, macro_chance):
    """Each a mean and the half of its interval."""
    (mean, half), (of_findings, macro_half) = accuracy, macro
    curve = IntervalCurve(tuple(range(1, 11)), *((value,) * 10 for value in (mean, mean - half, mean + half)))
    made = FindingScore(90, 10, of_findings, of_findings - macro_half, of_findings + macro_half)
    return MetricScores(
        "held-out patients", 10, {"a": 70, "b": 20}, 10, 0, curve, curve, 0.5, {}, 90,
        chance=chance, macro=made, macro_chance=macro_chance,
    )  # fmt: skip


def test_a_metric_whose_interval_holds_chance_is_said_not_to_tell_findings_apart():
    found = chance_note(scores((0.46, 0.03), 0.45, (0.26, 0.03), 0.25))
    assert found == "These features do not tell the findings apart (0.46, chance 0.45)."
    assert is_at_chance(found)


@pytest.mark.parametrize(
    ("accuracy", "macro"), [((0.5, 0.03), (0.26, 0.03)), ((0.46, 0.03), (0.35, 0.03))], ids=["plain", "macro"]
)
def test_a_metric_above_chance_in_the_mean_over_queries_or_findings_tells_them_apart(accuracy, macro):
    made = scores(accuracy, 0.45, macro, 0.25)
    assert made.beats_chance is True
    assert chance_note(made) == ""
    assert MetricScores.from_json(made.to_json()) == made


def test_without_a_mean_over_findings_nothing_is_said():
    stored = scores((0.46, 0.03), 0.45, (0.26, 0.03), 0.25).to_json()
    stored["macro_retrieval_accuracy"] = None
    assert MetricScores.from_json(stored).beats_chance is None
    assert chance_note(MetricScores.from_json(stored)) == ""
