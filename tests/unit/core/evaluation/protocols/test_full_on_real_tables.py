"""Every score of the protocol ``full`` on real tables, from the published definitions in plain loops.

Tables with missing values, many equal rows of different findings and rare findings: what ties counts in
expectation over its random order.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from semblance.core.evaluation.data import prepare
from semblance.core.evaluation.data_sources import CaseSource, read_source
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import fit_and_measure
from semblance.core.metrics import make_learner
from semblance.core.metrics.steps import parse_steps
from semblance.core.tasks import SILENT


def standardised(train, test):
    medians = np.nanmedian(train, axis=0)
    train, test = (np.where(np.isnan(rows), medians, rows) for rows in (train, test))
    varying = train.std(axis=0) > 0
    mean, deviation = train.mean(axis=0)[varying], train.std(axis=0)[varying]
    return (train[:, varying] - mean) / deviation, (test[:, varying] - mean) / deviation


def squared(a, b):
    """Rounded, so that distances which are equal on paper are."""
    return np.round(((a[:, None] - b[None]) ** 2).sum(axis=-1), 9)


def groups(distances):
    """Places of equally near cases, nearest first."""
    order = np.argsort(distances, kind="stable").tolist()
    return [list(tied) for _, tied in itertools.groupby(order, key=lambda place: distances[place])]


def ranked(distances, relevant):
    """Of one query in expectation, by k: share relevant, recall, gain, hit; and precision averaged over R."""
    total, expected, hits, average = int(relevant.sum()), [], [], 0.0
    found = False
    for tied in groups(distances):
        n, r, before, place = len(tied), int(relevant[tied].sum()), sum(expected), len(expected)
        for at in range(1, n + 1):
            hits.append(1.0 if found else 1.0 - math.comb(n - r, at) / math.comb(n, at))
            if place + at <= total:
                both = r / n * (r - 1) / (n - 1) if n > 1 else 0.0
                average += (r / n * (before + 1) + (at - 1) * both) / (place + at)
        expected += [r / n] * n
        found = found or r > 0
    k = np.arange(1, len(expected) + 1)
    discount = 1 / np.log2(k + 1)
    gain = np.cumsum(expected * discount) / np.cumsum(discount * (k <= total)) if total else None
    share = np.cumsum(expected)
    if not total:
        return share / k, None, None, None, None
    return share / k, share / total, gain, np.array(hits), average / total


def vote(distances, findings, names, k):
    """Expected share of each finding among the k nearest."""
    shares, left = np.zeros(len(names)), k
    for tied in groups(distances):
        taken = min(left, len(tied))
        shares += taken * np.array([np.mean(findings[tied] == name) for name in names])
        left -= taken
    return np.round(shares / k, 12)


def credit(values, own, *, smallest=False):
    best = np.min(values) if smallest else np.max(values)
    winners = np.isclose(values, best, rtol=1e-12, atol=1e-9)
    return winners[own] / winners.sum()


def balanced(wrong, query_findings):
    return np.mean([wrong[query_findings == name].mean() for name in np.unique(query_findings)])


def delong(scores, positive):
    kernel = np.array([[(p > n) + 0.5 * (p == n) for n in scores[~positive]] for p in scores[positive]])
    variance = kernel.mean(axis=1).var(ddof=1) / positive.sum()
    variance += kernel.mean(axis=0).var(ddof=1) / (~positive).sum()
    area, half = kernel.mean(), 1.959963984540054 * variance**0.5
    return area, (max(0.0, area - half), min(1.0, area + half))


@pytest.mark.slow
@pytest.mark.parametrize("table", ["mammographic_masses", "balance_scale", "ecoli"])
def test_every_score_is_that_of_its_definition(data, table):
    read, _, _ = read_source(CaseSource(table=str(data / "tables" / f"{table}.csv")))
    cases = prepare(read, max_cases=160)
    plan = get_protocol("full", draws=0).plan(cases, 1, 5)
    prepared = plan.prepared(0, parse_steps("standardise"))
    scores = fit_and_measure(make_learner("euclidean"), prepared, plan.measure, SILENT)[0]
    split, names = plan.splits[0], np.unique(cases.y)
    train, test = standardised(cases.X[split.train], cases.X[split.test])
    gallery, query_findings = cases.y[split.train], cases.y[split.test]
    own = np.searchsorted(names, query_findings)
    expected = {}

    inside = squared(test, test)
    per_query, right, every = [], 0, 0
    for query in range(len(test)):
        others = np.delete(np.arange(len(test)), query)
        same = query_findings[others] == query_findings[query]
        per_query.append(ranked(inside[query, others], same.astype(float)))
        near, far = inside[query, others[same]], inside[query, others[~same]]
        right, every = right + int((near[:, None] < far).sum()), every + near.size * far.size
    curves = ("precision", "recall", "ndcg", "hit_rate")
    for place, name in enumerate(curves):
        for k in (1, 5, 10, 20):
            expected[f"{name}@{k}"] = np.mean(
                [one[place][k - 1] for one in per_query if one[place] is not None]
            )
    for k in (1, 5, 10, 20):
        expected[f"retrieval_accuracy@{k}"] = expected[f"precision@{k}"]
        of_finding = [
            np.mean(found)
            for name in names
            if (
                found := [
                    one[0][k - 1]
                    for one, finding in zip(per_query, query_findings, strict=True)
                    if finding == name and one[0] is not None
                ]
            )
        ]
        expected[f"macro_retrieval_accuracy@{k}"] = np.mean(of_finding)
        expected[f"worst_finding@{k}"] = np.min(of_finding)
        counts, n = np.array([np.sum(query_findings == name) for name in names]), len(test)
        expected[f"chance@{k}"] = np.sum(counts * (counts - 1)) / (n * (n - 1))
        expected[f"macro_chance@{k}"] = np.mean([(count - 1) / (n - 1) for count in counts if count])
    expected["map@r"] = np.mean([one[4] for one in per_query if one[4] is not None])
    expected["triplet_accuracy"] = right / every

    across = squared(test, train)
    for k in (1, 3, 5, 10):
        shares = np.array([vote(row, gallery, names, k) for row in across])
        wrong = np.array([1 - credit(share, mine) for share, mine in zip(shares, own, strict=True)])
        means = [[np.sort(row[gallery == name])[:k].mean() for name in names] for row in across]
        lost = np.array([1 - credit(row, mine, smallest=True) for row, mine in zip(means, own, strict=True)])
        expected |= {
            f"knn_error@{k}": wrong.mean(),
            f"balanced_knn_error@{k}": balanced(wrong, query_findings),
        }
        expected |= {
            f"ccknn_error@{k}": lost.mean(),
            f"balanced_ccknn_error@{k}": balanced(lost, query_findings),
        }
    # Shares and errors are now those of ten votes.
    bins = np.minimum((shares.max(axis=1) * 10).astype(int), 9)
    gaps = [(shares.max(axis=1) - (1 - wrong))[bins == number].sum() for number in range(10)]
    expected["calibration_error"] = np.abs(gaps).sum() / len(test)
    reported = [
        place for place, name in enumerate(names) if 0 < np.sum(query_findings == name) < len(query_findings)
    ]
    for place in reported:
        share, positive = shares[:, place], query_findings == names[place]
        thresholds = [*np.unique(share), np.inf]
        expected[f"sensitivity@0.9:{names[place]}"] = max(
            np.mean(share[positive] >= cut)
            for cut in thresholds
            if np.mean(share[~positive] < cut) >= 0.9 - 1e-12
        )
        if positive.sum() > 1:
            expected[f"auc:{names[place]}"], ends = delong(share, positive)
            assert scores.intervals[f"auc:{names[place]}"]["delong"] == pytest.approx(ends, abs=1e-9)
        else:
            expected[f"auc:{names[place]}"] = np.mean(
                (share[positive] > share[~positive]) + 0.5 * (share[positive] == share[~positive])
            )
            assert "delong" not in scores.intervals[f"auc:{names[place]}"]
    for name in ("auc", "sensitivity@0.9"):
        expected[name] = np.mean([expected[f"{name}:{names[place]}"] for place in reported])

    assert set(scores.scores) == set(expected)
    assert {name: scores.scores[name] for name in expected} == pytest.approx(expected, abs=1e-9)
