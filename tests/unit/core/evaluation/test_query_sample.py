"""How many held-out cases are queries."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation import query_sample
from semblance.core.evaluation.query_sample import query_limit, sampled_queries


@pytest.mark.parametrize(
    ("n_cases", "queries"), [(0, 4_000), (50_000, 4_000), (100_000, 2_000), (200_000, 1_000), (10**7, 1_000)]
)
def test_fewer_queries_are_compared_with_more_cases(n_cases, queries):
    assert query_limit(n_cases) == queries


def test_many_held_out_cases_are_sampled_in_proportion_and_few_are_all_queries(monkeypatch):
    monkeypatch.setattr(query_sample, "MOST", 50)
    monkeypatch.setattr(query_sample, "FEWEST", 10)
    findings = np.repeat([0, 1], [90, 10])
    chosen = sampled_queries(findings, 100, seed=1)
    assert np.bincount(findings[chosen]).tolist() == [45, 5]
    assert (chosen == sampled_queries(findings, 100, seed=1)).all()
    assert (chosen != sampled_queries(findings, 100, seed=2)).any()
    assert sampled_queries(findings[:50], 100, seed=1).tolist() == list(range(50))
