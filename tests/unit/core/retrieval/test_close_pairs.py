from __future__ import annotations

import numpy as np
import pytest

from semblance.core.retrieval import close_pairs as module
from semblance.core.retrieval.close_pairs import close_pairs
from semblance.core.tasks import Cancelled, Reporter


def unit(values):
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def rows():
    """500 in 9 clusters, of which the last 20 nearly repeat the first 20."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(9, 16))[rng.integers(9, size=500)] + rng.normal(size=(500, 16))
    rows[-20:] = rows[:20] + 0.05 * rng.normal(size=(20, 16))
    return unit(rows)


def test_few_rows_are_compared_with_all(rows):
    asked = np.arange(100, 140)
    found = close_pairs(rows, [rows[asked]], asked, least=0.8, most=500)
    products = rows @ rows.T
    expected = {
        (min(a, b), max(a, b)) for a in asked.tolist() for b in range(500) if a != b and products[a, b] >= 0.8
    }
    assert {(one, other) for one, other, _ in found} == expected
    assert [value for *_, value in found] == sorted((value for *_, value in found), reverse=True)


def test_of_many_rows_those_in_cells_nearby_are_found(rows, monkeypatch):
    monkeypatch.setattr(module, "_ALL", 100)
    found = close_pairs(rows, [rows], np.arange(500), least=0.98, most=3)
    assert {(n, 480 + n) for n in range(20)} <= {(one, other) for one, other, _ in found}


def test_other_forms_of_a_row_find_it(rows):
    forms = [rows, -rows]
    rows = np.concatenate([rows, -rows[:1]])
    found = close_pairs(rows, [form[:1] for form in forms], np.array([0]), least=0.9999, most=2)
    assert found[0][:2] == (0, 500)


def test_it_can_be_cancelled(rows):
    class Stopped(Reporter):
        def check_cancelled(self):
            raise Cancelled

    with pytest.raises(Cancelled):
        close_pairs(rows, [rows], np.arange(500), least=0.9, most=3, reporter=Stopped())
