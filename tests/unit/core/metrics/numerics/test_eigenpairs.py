"""The top eigenvector is the same however it is found."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics.numerics import eigenpairs as module
from semblance.core.metrics.numerics.eigenpairs import top_eigenpair


def matrix(values):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    A = (Q * values) @ Q.T
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("by_size", [False, True])
@pytest.mark.parametrize("restarts", [1, 1000], ids=["given up", "to the end"])
@pytest.mark.parametrize("width", [1e-7, 1.0], ids=["nearly equal", "spread"])
def test_lanczos_finds_it_or_leaves_it_to_the_decomposition(width, restarts, by_size, monkeypatch):
    values = 1.0 - width * np.arange(150) / 150
    values[-1] = -3.0
    A = matrix(values)
    monkeypatch.setattr(module, "_LANCZOS_FROM", 10)
    monkeypatch.setattr(module, "_MOST_RESTARTS", restarts)
    value, vector = top_eigenpair(A, by_size=by_size)
    assert value == pytest.approx(-3.0 if by_size else 1.0, rel=1e-12)
    assert vector @ vector == pytest.approx(1.0, rel=1e-12)
    assert vector[np.abs(vector).argmax()] > 0
    assert np.abs(A @ vector - value * vector).max() < 1e-12


def test_lanczos_gives_up_where_the_largest_are_nearly_equal(monkeypatch):
    A = matrix(1.0 - 1e-7 * np.arange(150) / 150)
    monkeypatch.setattr(module, "_MOST_RESTARTS", 1)
    assert module._by_lanczos(A, False) is None
