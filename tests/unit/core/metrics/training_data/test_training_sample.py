"""The order in which learners go through the training cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.core.errors import BadArguments
from semblance.core.metrics import learners, make_learner
from semblance.core.metrics.training_data.rows import TrainingInput
from semblance.core.metrics.training_data.training_sample import (
    in_content_order,
    row_hashes,
    stratified_sample,
    training_sample,
)
from semblance.core.tasks import SILENT
from tests.helpers.learner_checks import labelled_problem, training_input

BOTH = frozenset({"pairs", "triplets"})


def table():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(60, 2)) * 1.5
    data = training_input(X, rng.choice(["a", "b", ""], 60))
    pairs = np.column_stack([rng.permutation(60).reshape(-1, 2), rng.choice([-1, 1], 30)])
    return replace(
        data, groups=rng.choice(["p", "q"], 60), pairs=pairs, triplets=rng.permutation(60).reshape(-1, 3)
    )


def test_cases_in_any_order_come_in_one():
    data = table()
    order = np.random.default_rng(1).permutation(60)
    place = np.argsort(order)
    other = replace(data, X=data.X[order], y=data.y[order], groups=data.groups[order])
    first, second = (in_content_order(one, BOTH) for one in (data, other))
    for name in ("X", "y", "groups"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.X.tolist() == sorted(data.X.tolist())
    # Equal cases may stand for each other, so the rows that pairs name are compared, not their numbers.
    renumbered = replace(
        other,
        pairs=np.column_stack([place[data.pairs[:, :2]], data.pairs[:, 2]])[::-1],
        triplets=place[data.triplets][::-1],
    )
    for one in (data, renumbered):
        found = in_content_order(one, BOTH)
        named = sorted((*found.X[i], *found.X[j], sign) for i, j, sign in found.pairs.tolist())
        assert named == sorted((*data.X[i], *data.X[j], sign) for i, j, sign in data.pairs.tolist())
        named = sorted(found.X[row].tobytes() for row in found.triplets)
        assert named == sorted(data.X[row].tobytes() for row in data.triplets)


def test_the_last_digits_move_no_row_far():
    X = np.random.default_rng(0).normal(size=(500, 3))
    noisy = X * (1.0 + 1e-15 * np.random.default_rng(1).choice([-1, 0, 1], X.shape))
    first, second = (in_content_order(training_input(rows, None), BOTH).X for rows in (X, noisy))
    np.testing.assert_allclose(first, second, rtol=1e-14)


def test_the_order_of_pairs_and_of_triplets_changes_nothing():
    X, y, _ = labelled_problem()
    i, j = np.triu_indices(len(X), 1)
    pairs = np.column_stack([i, j, np.where(y[i] == y[j], 1, -1)])[::7]
    near = np.flatnonzero(y == y[0])[1:]
    far = np.flatnonzero(y != y[0])[: len(near)]
    triplets = np.column_stack([np.zeros_like(near)[: len(far)], near[: len(far)], far])
    for name in ("passive_aggressive", "itml", "mmc", "distboost"):
        a, b = (
            make_learner(name, random_state=1).fit(X, pairs=table).metric() for table in (pairs, pairs[::-1])
        )
        np.testing.assert_allclose(a.distances(X, X), b.distances(X, X), rtol=1e-6)
    for name in ("metricboost", "boostmetric"):
        a, b = (make_learner(name).fit(X, triplets=table).metric() for table in (triplets, triplets[::-1]))
        np.testing.assert_allclose(a.distances(X, X), b.distances(X, X), rtol=1e-6)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6), share=st.floats(0, 1), seed=st.integers(0, 9)
)
def test_a_sample_is_stratified_and_seeded(sizes, share, seed):
    y = np.array([str(finding) for finding, size in enumerate(sizes) for _ in range(size)])
    n = max(len(sizes), round(share * len(y)))
    rows = stratified_sample(y, n, seed)
    assert len(set(rows.tolist())) == n
    np.testing.assert_array_equal(rows, stratified_sample(y, n, seed))
    taken = np.array([(y[rows] == str(finding)).sum() for finding in range(len(sizes))])
    assert (taken >= 1).all()
    ideal = np.array(sizes) * n / len(y)
    assert (taken >= np.floor(ideal) - (ideal < 1).sum() - 1e-9).all()
    assert (taken <= np.maximum(1, np.ceil(ideal) + 1e-9)).all()


def test_a_sample_of_whole_patients_is_in_proportion_and_no_larger():
    rng = np.random.default_rng(1)
    patients = np.repeat(np.arange(600), rng.integers(1, 9, size=600))
    strata = np.where(rng.random(600) < 0.1, "rare", "common")[patients]
    groups = np.array([f"P{patient}" for patient in patients])
    rows = stratified_sample(strata, 500, 3, groups)
    assert 480 <= len(rows) <= 500
    assert set(groups[rows]).isdisjoint(np.delete(groups, rows))
    assert (strata[rows] == "rare").mean() == pytest.approx((strata == "rare").mean(), abs=0.02)
    np.testing.assert_array_equal(rows, stratified_sample(strata, 500, 3, groups))
    assert len(np.setdiff1d(rows, stratified_sample(strata, 500, 4, groups)))


def test_a_stratum_of_one_large_patient_is_not_lost():
    strata = np.array(["a"] * 90 + ["b"] * 60)
    groups = np.array([f"P{row}" for row in range(90)] + ["large"] * 60)
    rows = stratified_sample(strata, 10, 0, groups)
    assert (strata[rows] == "b").sum() == 60


def problem(n=300):
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(n) % 3]
    return rng.normal(size=(n, 4)) + 2.0 * (y == "b")[:, np.newaxis] - 2.0 * (y == "c")[:, np.newaxis], y


def given_input(n=300, **changes):
    X, y = problem(n)
    values = {"X": X, "y": y, "pairs": None, "triplets": None, "groups": None, "reporter": SILENT, "seed": 5}
    return TrainingInput(**{**values, **changes})


def test_pairs_and_triplets_name_the_same_rows_in_the_sample():
    pairs = np.array([[7, 200, 1], [299, 8, -1]])
    triplets = np.array([[100, 3, 9]])
    data = given_input(pairs=pairs, triplets=triplets)
    sample, notes = training_sample(data, 60)
    assert len(sample.X) == 60
    assert notes == ("Trained on 60 of 300 cases, stratified by finding, seed 5.",)
    for before, after, columns in ((pairs, sample.pairs, 2), (triplets, sample.triplets, 3)):
        np.testing.assert_array_equal(data.X[before[:, :columns]], sample.X[after[:, :columns]])
    np.testing.assert_array_equal(sample.pairs[:, 2], pairs[:, 2])


@pytest.mark.parametrize("most", [0, 300, 400])
def test_what_is_no_larger_is_not_sampled(most):
    data = given_input()
    assert training_sample(data, most) == (data, ())


SAMPLING = [one.name for one in learners() if any(p.name == "training_cases" for p in one.parameters)]


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLING)
def test_a_learner_of_a_sample_is_that_learner_on_those_rows(name):
    X, y = problem()
    patients = np.array([f"P{row // 2}" for row in range(len(X))])
    metric = make_learner(name, training_cases=90, random_state=2).fit(X, y, groups=patients).metric()
    rows = stratified_sample(y, 90, 2, patients, row_hashes(X, 2))
    alone = make_learner(name, random_state=2).fit(X[rows], y[rows], groups=patients[rows]).metric()
    assert metric.card.content_hash == alone.card.content_hash
    assert metric.card.n_cases == len(rows) == sum(metric.card.findings.values())
    assert metric.card.notes[0] == (
        f"Trained on {len(rows)} of 300 cases, stratified by finding, whole patients, seed 2."
    )
    everything = make_learner(name, training_cases=0, random_state=2).fit(X, y).metric()
    assert everything.card.n_cases == 300
    assert everything.card.notes == make_learner(name, random_state=2).fit(X, y).metric().card.notes


def test_learners_whose_cost_grows_with_the_square_of_the_cases_sample_by_default():
    papers = {"bdm", "bdm_v", "bdm_kernel", "metricboost"}
    assert set(SAMPLING) == papers | {"lfda", "lmnn", "nca", "scml", "supcon"}


def test_a_sample_that_cannot_hold_every_finding_is_refused():
    with pytest.raises(BadArguments, match="2 cases cannot hold 3 findings"):
        make_learner("bdm", training_cases=2).fit(*problem())
