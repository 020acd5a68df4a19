from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.features.wavelets import HIGH, LOW, details


def naive_halves(row):
    """Low and high half of a list of numbers, straight from the taps."""
    row = list(row)
    mirrored = row + row[::-1] * 4
    need = math.ceil(len(row) / 2)
    low = [sum(LOW[t] * mirrored[2 * i + t] for t in range(4)) for i in range(need)]
    high = [sum(HIGH[t] * mirrored[2 * i + t] for t in range(4)) for i in range(need)]
    return low, high


def naive_details(grey, levels):
    planes = []
    for _ in range(levels):
        columns = [naive_halves(column) for column in grey.T]
        low, high = (np.array([c[part] for c in columns]).T for part in (0, 1))
        low_rows, high_rows = ([naive_halves(row) for row in half] for half in (low, high))
        grey, along_x = (np.array([r[part] for r in low_rows]) for part in (0, 1))
        along_y, diagonal = (np.array([r[part] for r in high_rows]) for part in (0, 1))
        planes.append((along_x, along_y, diagonal))
    return planes


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 5), (1, 9), (8, 8), (13, 6)])
def test_equals_the_definition(shape):
    grey = np.random.default_rng(1).random(shape, dtype=np.float32)
    for ours, naive in zip(details(grey, 3), naive_details(grey, 3), strict=True):
        for plane, expected in zip(ours, naive, strict=True):
            np.testing.assert_allclose(plane, expected, atol=1e-6)


def test_the_taps_are_orthonormal_and_blind_to_ramps():
    assert float(LOW @ LOW) == pytest.approx(1, abs=1e-6)
    assert float(HIGH @ HIGH) == pytest.approx(1, abs=1e-6)
    assert float(LOW @ HIGH) == pytest.approx(0, abs=1e-6)
    assert LOW[:2] @ LOW[2:] == pytest.approx(0, abs=1e-6)
    assert HIGH.sum() == pytest.approx(0, abs=1e-6)
    assert HIGH @ np.arange(4) == pytest.approx(0, abs=1e-6)


def test_stripes_show_in_the_plane_of_their_direction():
    stripes = np.tile(np.array([0.0, 1.0], dtype=np.float32), (32, 16))
    along_x, along_y, diagonal = details(stripes, 1)[0]
    assert np.abs(along_x).mean() > 0.5
    assert np.abs(along_y).max() < 1e-6
    assert np.abs(diagonal).max() < 1e-6
    along_x, along_y, diagonal = details(np.ascontiguousarray(stripes.T), 1)[0]
    assert np.abs(along_y).mean() > 0.5
    assert np.abs(along_x).max() < 1e-6
