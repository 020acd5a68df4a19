from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.evaluation.shortcuts import (
    ProbedSearches,
    ShortcutProbe,
    number_groups,
    probe_shortcuts,
    stored_probes,
)


def searches(rng, score, *, findings=None, n=240, per_patient=2) -> ProbedSearches:
    """Rankings by ``score`` (n,): the nearest are those of the most similar score, of other patients."""
    units = np.arange(n) // per_patient
    findings = rng.integers(0, 2, n // per_patient)[units] if findings is None else findings
    distances = np.abs(score[:, np.newaxis] - score)
    distances[units[:, np.newaxis] == units] = np.inf
    queries = np.arange(0, n, 2)
    return ProbedSearches(queries, np.argsort(distances, axis=1)[queries, :10], findings, units)


def by_patient(rng, names, n=240):
    return rng.choice(names, n // 2)[np.arange(n) // 2]


def test_a_metric_that_retrieves_the_scanner_is_marked_and_another_attribute_is_not():
    rng = np.random.default_rng(0)
    scanner, site = by_patient(rng, ["A", "B"]), by_patient(rng, ["x", "y", ""])
    score = (scanner == "A") * 10.0 + rng.random(240)
    found = {
        one.attribute: one
        for one in probe_shortcuts(searches(rng, score), {"scanner": scanner, "site": site})
    }
    assert found["scanner"].same == 1.0
    assert found["scanner"].is_beyond_chance
    assert found["scanner"].is_beyond_findings
    assert found["scanner"].chance == pytest.approx(0.5, abs=0.05)
    site_probe = found["site"]
    assert not site_probe.is_beyond_chance
    assert site_probe.chance_interval[0] <= site_probe.same <= site_probe.chance_interval[1]
    assert site_probe.n < found["scanner"].n
    assert site_probe.groups == 2


def test_what_the_findings_explain_is_beyond_chance_but_not_beyond_them():
    """A metric of the finding alone retrieves the scanner of that finding."""
    rng = np.random.default_rng(1)
    finding = rng.integers(0, 2, 120)[np.arange(240) // 2]
    same_as_finding = rng.random(120)[np.arange(240) // 2] < 0.9
    scanner = np.where(same_as_finding, finding, 1 - finding).astype(np.str_)
    ranked = searches(rng, finding * 10.0 + rng.random(240), findings=finding)
    (probe,) = probe_shortcuts(ranked, {"scanner": scanner})
    assert probe.is_beyond_chance
    assert not probe.is_beyond_findings
    assert probe.finding_accuracy == pytest.approx(0.9**2 + 0.1**2, abs=0.06)
    assert probe.finding_chance == pytest.approx(0.5, abs=0.05)


def test_the_finding_by_a_value_alone_leaves_out_the_own_patient():
    """Each patient has a value of his own with one other patient of the other finding."""
    units = np.repeat(np.arange(40), 2)
    findings = units % 2
    values = (units // 2).astype(np.str_)
    nearest = np.roll(np.arange(80), 2)[:, np.newaxis]
    ranked = ProbedSearches(np.arange(80), nearest, findings, units)
    (probe,) = probe_shortcuts(ranked, {"pair": values})
    assert probe.finding_accuracy == 0.0
    assert probe.finding_chance == pytest.approx(38 / 78)


def test_about_one_metric_in_twenty_without_a_shortcut_is_marked():
    rng = np.random.default_rng(2)
    marked = 0
    for seed in range(40):
        ranked = searches(rng, rng.random(120), n=120)
        values = {"a": by_patient(rng, ["x", "y", "z"], 120)}
        marked += any(one.is_beyond_chance for one in probe_shortcuts(ranked, values, seed=seed))
    assert marked <= 6


def test_a_value_that_differs_within_patients_is_exchanged_between_cases():
    rng = np.random.default_rng(3)
    view = np.where(np.arange(240) % 2 == 0, "CC", "MLO")
    ranked = searches(rng, (view == "CC") * 5.0 + rng.random(240))
    (probe,) = probe_shortcuts(ranked, {"view": view})
    assert probe.is_beyond_chance
    assert probe.chance == pytest.approx(0.5, abs=0.03)


def test_few_queries_are_counted_and_one_value_is_no_attribute():
    rng = np.random.default_rng(4)
    rare = np.full(240, "")
    rare[:12:2] = ["x", "y", "x", "y", "x", "y"]
    (probe,) = probe_shortcuts(searches(rng, rng.random(240)), {"rare": rare, "one": np.full(240, "z")})
    assert (probe.attribute, probe.n, probe.same) == ("rare", 6, None)


def test_numbers_are_put_into_five_groups_and_equal_ones_stay_together():
    groups = number_groups(np.array([*range(10), np.nan]))
    assert groups.tolist() == ["1", "1", "2", "2", "3", "3", "4", "4", "5", "5", ""]
    assert len(set(number_groups(np.array([0.1, 0.2, *[1.0] * 8]))[2:].tolist())) == 1


def test_probes_are_read_back_and_others_are_none():
    probe = ShortcutProbe("view", 30, 2, 0.6, 0.5, (0.4, 0.6), 0.03, 0.5, (0.4, 0.6), 0.2, 0.7, 0.5)
    stored = json.loads(json.dumps({"shortcuts": [probe.to_json()]}))
    assert stored_probes(stored) == (probe,)
    assert stored_probes({"shortcuts": [{"attribute": "view"}]}) == ()
    assert stored_probes(None) == ()
