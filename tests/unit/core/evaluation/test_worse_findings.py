from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.worse_findings import FindingShares, worse_findings

NAMES = ("common", "rare")


def shares_of(rare_in_rare, rare_in_common, n=400, patients=None, seed=0):
    """Queries, a fifth of them rare, with these shares of the rare finding among their nearest."""
    rng = np.random.default_rng(seed)
    findings = (np.arange(n) < n // 5).astype(np.intp)
    rare = np.where(findings == 1, rare_in_rare, rare_in_common)
    rare = np.clip(np.rint(10 * (rare + 0.1 * rng.normal(size=n))) / 10, 0.0, 1.0)
    units = np.arange(n) if patients is None else np.arange(n) % patients
    return FindingShares(np.stack([1.0 - rare, rare], axis=1), findings, units, np.zeros(n, dtype=np.intp))


def test_a_finding_that_is_found_less_often_is_named_with_both_numbers():
    old, new = shares_of(0.5, 0.1), shares_of(0.4, 0.05, seed=1)
    found = worse_findings(new, old, NAMES, title="LDA")
    assert len(found) == 1
    assert "LDA finds fewer cases of" in found[0]
    assert f"({new.accuracy[:80].mean():.2f} instead of {old.accuracy[:80].mean():.2f})" in found[0]


def test_a_worse_ranking_of_all_is_named():
    found = worse_findings(shares_of(0.3, 0.25, seed=1), shares_of(0.4, 0.15), NAMES, title="LDA")
    assert any("separates the findings worse" in one for one in found)


def test_the_common_finding_may_lose_what_it_had_by_being_common():
    """Everything looked common before: 95 of 100, without telling anything apart."""
    old, new = shares_of(0.05, 0.05), shares_of(0.8, 0.12, seed=1)
    assert new.accuracy[80:].mean() < old.accuracy[80:].mean() - 0.03
    assert worse_findings(new, old, NAMES, title="LDA") == []
    # But not where nothing is gained for it.
    assert any(
        "common" in one for one in worse_findings(shares_of(0.05, 0.12, seed=1), old, NAMES, title="LDA")
    )


@pytest.mark.parametrize("seed", range(5))
def test_chance_refuses_nothing(seed):
    old, new = shares_of(0.3, 0.1, seed=seed), shares_of(0.3, 0.1, seed=seed + 100)
    assert worse_findings(new, old, NAMES, title="LDA", seed=seed) == []


def test_a_few_patients_do_not_say_that_a_finding_is_found_less_often():
    old, new = shares_of(0.5, 0.1, patients=4), shares_of(0.3, 0.1, patients=4, seed=1)
    assert not any("rare" in one for one in worse_findings(new, old, NAMES, title="LDA"))
