"""The extractor on phantoms of the colon: a polyp keeps its numbers from view to view."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.features.polyp.extractor import Polyp, definitions
from semblance.core.imaging.region import Region
from tests.helpers.colon_phantoms import FALSE_POSITIVES, SIDE, VIEWS, polyp, segment, study
from tests.helpers.volumes import stack_of

NAMES = [one.name for one in definitions()]


@pytest.mark.slow
def test_a_study_is_what_it_says():
    scans = list(study(4, seed=9))
    assert [(patient, view) for patient, view, _, _ in scans] == [
        (f"P{number:03d}", view) for number in range(1, 5) for view in VIEWS
    ]
    for _, _, hu, candidates in scans:
        assert hu.shape == (SIDE * len(candidates), SIDE, SIDE)
        assert hu.dtype == np.int16
        for one in candidates:
            assert one.segment * SIDE <= one.at[0] < (one.segment + 1) * SIDE
            assert 0.0 <= one.geodesic <= 1.0
    wrong = [sum(not one.polyp for one in candidates) for _, _, _, candidates in scans]
    assert FALSE_POSITIVES / 2 < np.mean(wrong) < 2 * FALSE_POSITIVES
    again = list(study(4, seed=9))
    np.testing.assert_array_equal(again[3][2], scans[3][2])
    assert again[3][3] == scans[3][3]


@pytest.fixture(scope="module")
def twice():
    """(30, 2, 96) numbers of polyps in two views."""
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(30):
        lump = polyp(rng)
        for _ in range(2):
            hu, (z, y, x) = segment(lump, rng)
            rows.append(Polyp().prepare_stack(stack_of(hu), Region(x, y, 1, 1, None, z, 1)))
    return np.array(rows).reshape(30, 2, 96)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["volume", "height", "diameter of a ball as large", "curvedness, mean, at 2 mm"]
)
def test_numbers_of_size_stay_between_views(twice, name):
    column = twice[:, :, NAMES.index(name)]
    assert np.corrcoef(column.T)[0, 1] > 0.5
