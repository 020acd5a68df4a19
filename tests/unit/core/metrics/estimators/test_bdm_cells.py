"""BDM by cells gives what BDM by one matrix of all pairs gives, and needs no such matrix."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from semblance.core.constraints import from_findings, visual_neighbour_pairs
from semblance.core.metrics import make_learner
from semblance.core.metrics.estimators import bdm, bdm_cells
from semblance.core.metrics.estimators.bdm_cells import CellPairs
from semblance.core.metrics.estimators.bdm_pairs import DensePairs
from semblance.core.tasks import Cancelled, Reporter
from tests.helpers import naive_bdm as naive


def sparse_findings(y):
    """Every seventh case without one."""
    return np.where(np.arange(len(y)) % 7 == 0, "", y)


def judged_pairs(y, wrong=0.5):
    """Eight pairs a case, this share of them against what the findings say."""
    n, rng = len(y), np.random.default_rng(5)
    i, j = np.triu_indices(n, 1)
    chosen = rng.choice(len(i), 4 * n, replace=False)
    i, j = i[chosen], j[chosen]
    return np.stack([j, i, np.where((y[i] == y[j]) ^ (rng.random(4 * n) < wrong), 1, -1)], axis=1)


SITUATIONS = {
    "findings": lambda y: {"y": y},
    "some without a finding": lambda y: {"y": sparse_findings(y)},
    "pairs over findings": lambda y: {"y": sparse_findings(y), "pairs": judged_pairs(y)},
    "pairs alone": lambda y: {"pairs": judged_pairs(y, wrong=0.1)},
}


@pytest.fixture
def only_cells(monkeypatch):
    monkeypatch.setattr(bdm, "DENSE_BELOW", 0)


@pytest.fixture
def only_dense(monkeypatch):
    def one_matrix(weights):
        return weights if isinstance(weights, DensePairs) else weights.dense()

    return lambda: monkeypatch.setattr(bdm, "cheaper_form", one_matrix)


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize(("name", "step"), [("bdm", "paper"), ("bdm", "exact"), ("bdm_v", "paper")])
def test_cells_give_what_the_dense_form_gives(name, step, situation, only_cells, only_dense, monkeypatch):
    X, y = naive.problem(n=160, d=6, findings=4, seed=2)
    given = SITUATIONS[situation](y)
    cells = make_learner(name, rounds=25, step=step).fit(X, **given)
    only_dense()
    dense = make_learner(name, rounds=25, step=step).fit(X, **given)
    assert len(cells.objectives_) > 12
    assert cells.objectives_ == pytest.approx(dense.objectives_, rel=1e-9)
    assert (cells.distance_.bits(X) == dense.distance_.bits(X)).all()
    assert cells.distance_.weights == pytest.approx(dense.distance_.weights, rel=1e-6)
    assert cells.distance_.between(X, X) == pytest.approx(dense.distance_.between(X, X), rel=1e-6)
    assert cells.metric().card.constraints == dense.metric().card.constraints


def test_every_quantity_of_a_round_is_that_of_the_dense_form(monkeypatch):
    monkeypatch.setattr(bdm_cells, "_BLOCK", 200)
    rng = np.random.default_rng(1)
    X, y = naive.problem(n=150, d=5, findings=3, seed=1)
    similarity = from_findings(sparse_findings(y)).with_similar(visual_neighbour_pairs(X, 3))
    similarity = similarity.with_pairs(judged_pairs(y)[:40])
    cells, dense = CellPairs(similarity, X), DensePairs(similarity, X)
    for _ in range(9):
        bits = X @ rng.normal(size=5) > 0.2
        cells.add_bit(bits, 0.07)
        dense.add_bit(bits, 0.07)
    for found in (cells.dense(), cells):
        assert found.objective == pytest.approx(dense.objective, rel=1e-12)
        assert found.similar == pytest.approx(dense.similar, rel=1e-12)
        assert found.dissimilar == pytest.approx(dense.dissimilar, rel=1e-12)
        scale = np.abs(dense.curvature).max()
        assert found.curvature == pytest.approx(dense.curvature, rel=0, abs=1e-12 * scale)
        projection = rng.normal(size=len(X))
        ours, theirs = found.splits(projection), dense.splits(projection)
        assert (ours.order == theirs.order).all()
        assert ours.similar == pytest.approx(theirs.similar, rel=1e-11)
        assert ours.dissimilar == pytest.approx(theirs.dissimilar, rel=1e-11)
        for one, other in zip(found.across(projection > 0), dense.across(projection > 0), strict=True):
            assert one == pytest.approx(other, rel=1e-11, abs=1e-13 * other.max())


def test_cells_are_cases_of_equal_bits_and_finding():
    X, y = naive.problem(n=120, d=4)
    cells, all_bits = CellPairs(from_findings(y), X), []
    for column in range(4):
        all_bits.append(X[:, column] > 0.1)
        cells.add_bit(all_bits[-1], 0.05)
        assert cells.cells == len(np.unique(np.column_stack([*all_bits, y]), axis=0))


def test_few_cells_stay_cells_and_many_become_one_matrix_where_that_is_small(monkeypatch):
    X, y = naive.problem(n=450, d=6)
    weights = CellPairs(from_findings(y), X)
    rng = np.random.default_rng(0)
    while 2 * weights.cells <= 450:
        assert bdm.cheaper_form(weights) is weights
        weights.add_bit(X @ rng.normal(size=6) > 0, 0.05)
    assert isinstance(bdm.cheaper_form(weights), DensePairs)
    monkeypatch.setattr(bdm, "DENSE_BELOW", 450)
    assert bdm.cheaper_form(weights) is weights


def test_very_few_cases_and_very_many_pairs_are_one_matrix_from_the_start():
    X, y = naive.problem(n=410, d=3)
    assert isinstance(bdm.cheaper_form(CellPairs(from_findings(y), X)), CellPairs)
    assert isinstance(bdm.cheaper_form(CellPairs(from_findings(y[:350]), X[:350])), DensePairs)
    i, j = np.triu_indices(410, 1)
    opposite = np.stack([i, j, np.where(y[i] == y[j], -1, 1)], axis=1)
    many = CellPairs(from_findings(y).with_pairs(opposite[::4]), X)
    assert isinstance(bdm.cheaper_form(many), DensePairs)


def test_many_cases_need_no_array_of_all_pairs():
    rng = np.random.default_rng(0)
    n = 20_000
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 4)) + rng.normal(size=(3, 4))[y]
    pairs = np.stack([np.arange(0, n, 50), np.arange(1, n, 50), np.ones(n // 50, dtype=int)], axis=1)
    tracemalloc.start()
    learner = make_learner("bdm", rounds=6, training_cases=0).fit(X, y, pairs=pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(learner.objectives_) == 7
    assert peak < n * n / 8


def test_beyond_a_number_of_cells_their_members_count_as_one_case(only_cells, monkeypatch):
    X, y = naive.problem(n=400, d=6, findings=4, seed=2)
    exact = make_learner("bdm", rounds=30).fit(X, y)
    monkeypatch.setattr(bdm, "MOST_CELLS", 60)
    sizes = []
    grown = CellPairs.add_bit
    monkeypatch.setattr(
        CellPairs, "add_bit", lambda self, *bit: (grown(self, *bit), sizes.append(self.cells))
    )
    merged = make_learner("bdm", rounds=30).fit(X, y)
    assert 30 < max(sizes) <= 60
    assert (np.diff(merged.objectives_) < 0).all()
    # Until then it is the exact one.
    same = len(set(sizes)) - 1
    assert merged.objectives_[:same] == exact.objectives_[:same]
    note = merged.metric().card.notes[1]
    assert note.startswith("From round ")
    assert note.endswith(f"the 400 training cases counted as {max(sizes)} groups of equal bits and finding.")
    assert not any(text.startswith("From round") for text in exact.metric().card.notes)


def test_merged_members_are_pairs_of_the_first_case_of_their_cell():
    X, y = naive.problem(n=150, d=5, findings=3, seed=1)
    similarity = from_findings(sparse_findings(y)).with_similar(visual_neighbour_pairs(X, 3))
    cells = CellPairs(similarity, X)
    bits = [(X[:, column] > 0.1, 0.05) for column in range(3)]
    for bit in bits:
        cells.add_bit(*bit)
    first = X.copy()
    codes = np.column_stack([*(own for own, _ in bits), sparse_findings(y)])
    for row, code in enumerate(codes):
        if code[-1]:
            first[row] = X[(codes == code).all(axis=1).argmax()]
    assert (cells.merge_members() == first).all()
    dense = DensePairs(similarity, first, bits)
    assert cells.objective == pytest.approx(dense.objective, rel=1e-12)
    scale = np.abs(dense.curvature).max()
    assert cells.curvature == pytest.approx(dense.curvature, rel=0, abs=1e-12 * scale)


def test_work_can_be_cancelled_within_a_round():
    class Impatient(Reporter):
        checks = 0

        def check_cancelled(self):
            self.checks += 1
            if self.checks == 8:
                raise Cancelled

        def partial(self, result):
            raise AssertionError("a round was over first")

    X, y = naive.problem(n=900, d=3)
    with pytest.raises(Cancelled):
        make_learner("bdm").fit(X, y, reporter=Impatient())
