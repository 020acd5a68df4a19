from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.evaluation.subgroups import (
    ScoredQueries,
    SubgroupScore,
    age_bands,
    holm_adjusted,
    stored_subgroups,
    subgroup_scores,
)


def queries(rng, n=300, *, gap=0.0, bias=0.0, member=None, per_patient=2) -> ScoredQueries:
    """Cases of two findings; those of ``member`` have an accuracy smaller by ``gap``, estimates larger by ``bias``."""
    member = np.zeros(n, dtype=bool) if member is None else member
    finding = rng.choice(["benign", "malignant"], n)
    accuracy = np.clip(rng.normal(0.8 - gap * member, 0.1), 0, 1)
    chance = rng.uniform(0.2, 0.8, n)
    truth = (rng.random(n) < chance).astype(float)
    estimate = np.clip(chance + bias * member, 0.01, 0.99)
    return ScoredQueries(accuracy, estimate, truth, finding, np.arange(n) // per_patient)


def of(scores, attribute: str, group: str) -> SubgroupScore:
    return next(one for one in scores if (one.attribute, one.group) == (attribute, group))


def test_a_gap_of_one_group_is_marked_and_others_are_not():
    rng = np.random.default_rng(0)
    sex = np.where(np.arange(300) // 2 % 2 == 0, "F", "M")
    view = np.where(np.arange(300) % 2 == 0, "CC", "MLO")
    scored = queries(rng, gap=0.1, member=sex == "M")
    scores = subgroup_scores(scored, {"sex": sex, "view": view})
    assert of(scores, "sex", "M").is_beyond_chance
    assert of(scores, "sex", "M").accuracy < of(scores, "sex", "F").accuracy
    assert not of(scores, "view", "CC").is_beyond_chance
    one = of(scores, "sex", "F")
    assert one.accuracy == pytest.approx(scored.accuracy[sex == "F"].mean())
    assert one.accuracy_interval[0] < one.accuracy < one.accuracy_interval[1]


def test_estimates_that_are_wrong_in_one_group_are_marked():
    rng = np.random.default_rng(1)
    sex = np.where(np.arange(600) // 2 % 2 == 0, "F", "M")
    scores = subgroup_scores(queries(rng, 600, bias=0.2, member=sex == "M"), {"sex": sex})
    assert of(scores, "sex", "M").estimate_p < 0.05
    assert of(scores, "sex", "F").estimate_p >= 0.05
    assert of(scores, "finding", "benign").estimate is None


def test_another_mix_of_findings_is_no_gap():
    rng = np.random.default_rng(2)
    n = 400
    malignant = rng.random(n) < 0.5
    site = np.where(rng.random(n) < np.where(malignant, 0.9, 0.1), "A", "B")
    accuracy = np.clip(rng.normal(np.where(malignant, 0.6, 0.9), 0.05), 0, 1)
    nothing = np.full(n, np.nan)
    finding = np.where(malignant, "malignant", "benign")
    scores = subgroup_scores(ScoredQueries(accuracy, nothing, nothing, finding, np.arange(n)), {"view": site})
    assert of(scores, "finding", "malignant").is_beyond_chance
    assert of(scores, "view", "A").accuracy < of(scores, "view", "B").accuracy - 0.1
    assert not of(scores, "view", "A").is_beyond_chance


@pytest.mark.slow
def test_without_gaps_few_metrics_have_any_marked():
    marked = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sex = np.where(rng.random(75) < 0.5, "F", "M")[np.arange(150) // 2]
        maker = rng.choice(["A", "B", "C"], 150)
        scores = subgroup_scores(queries(rng, 150), {"sex": sex, "manufacturer": maker}, seed=seed)
        marked.append(any(one.is_beyond_chance for one in scores))
    assert np.mean(marked) <= 0.12


def test_small_groups_are_counted_and_single_ones_left_out():
    rng = np.random.default_rng(0)
    sex = np.array(["F"] * 291 + ["M"] * 9)
    scores = subgroup_scores(queries(rng), {"sex": sex, "view": np.full(300, "CC"), "age": np.full(300, "")})
    assert of(scores, "sex", "M") == SubgroupScore("sex", "M", 9)
    assert {one.attribute for one in scores} == {"finding", "sex"}


def test_p_values_are_adjusted_as_by_holm():
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjusted([]) == []


def test_ages_become_bands():
    ages = np.array(["47", "047Y", "006M", "79.5", "80", "102Y", "", "old"])
    assert age_bands(ages).tolist() == ["40–59", "40–59", "0–19", "60–79", "80+", "80+", "", ""]


def test_subgroups_are_stored_with_the_scores():
    rng = np.random.default_rng(0)
    scores = subgroup_scores(queries(rng), {"sex": np.array(["F", "M"] * 150)})
    stored = json.loads(json.dumps({"subgroups": [one.to_json() for one in scores]}))
    assert stored_subgroups(stored) == scores
    assert stored_subgroups({"subgroups": [{}]}) == stored_subgroups(None) == ()
