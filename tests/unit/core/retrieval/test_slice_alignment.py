"""The same level in another volume: the path is the best there is, and volumes without a common part have none."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from semblance.core.retrieval.slice_alignment import (
    CONTENT,
    END_COST,
    FASTEST,
    POSITION,
    SPEED_COST,
    DescribedSlices,
    align_by_position,
    align_slices,
    slice_path,
)


def _score(similarity, path, step, grid):
    """As the docstring of ``slice_path`` has it, term by term; ``None`` for a path that is not allowed."""
    n, p = similarity.shape
    matched = [i for i in range(n) if path[i] >= 0]
    if not matched or matched != list(range(matched[0], matched[-1] + 1)):
        return None
    score = sum(step * similarity[i, path[i]] for i in matched)
    for i in matched[1:]:
        way = (path[i] - path[i - 1]) * grid
        if not 0 <= way <= FASTEST * step + 1e-9:
            return None
        score -= step * SPEED_COST * (way / step - 1) ** 2
    first, last = matched[0], matched[-1]
    score -= END_COST * min(first * step, path[first] * grid)
    return score - END_COST * min((n - 1 - last) * step, (p - 1 - path[last]) * grid)


def test_no_path_is_better_than_the_one_that_is_found():
    rng = np.random.default_rng(0)
    for n, p, step, grid in ((1, 4, 5.0, 5.0), (4, 5, 5.0, 2.5), (5, 4, 2.5, 1.25), (3, 1, 5.0, 1.0)):
        for _ in range(6):
            similarity = rng.normal(-0.1, 0.6, (n, p))
            path, score = slice_path(similarity, step, grid)
            every = (_score(similarity, one, step, grid) for one in product(range(-1, p), repeat=n))
            best = max(one for one in every if one is not None)
            assert score == pytest.approx(best), (n, p)
            assert _score(similarity, path, step, grid) == pytest.approx(best), (n, p)


def _body(levels, seed=0, noise=0.0):
    """Unit rows (n, 40) that change smoothly with the ``levels`` (n,) in mm of a body of its own."""
    rng = np.random.default_rng(99)
    centres, directions = np.linspace(-60, 360, 60), rng.normal(size=(60, 40))
    weights = np.exp(-(((np.asarray(levels)[:, np.newaxis] - centres) / 14.0) ** 2))
    rows = weights @ directions + 1.5 + np.random.default_rng(seed).normal(0, noise, (len(levels), 40))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _volume(levels, distance, **more):
    return DescribedSlices(np.arange(len(levels)), _body(levels, **more), len(levels), distance)


def test_equal_volumes_are_aligned_slice_by_slice_in_either_order():
    one = _volume(np.arange(0, 300, 5.0), 5.0)
    found = align_slices(one, one)
    assert found.pairs() == [(i, i) for i in range(60)]
    assert (found.overlap, found.confidence, found.by) == (1.0, 1.0, CONTENT)
    turned = align_slices(one, one.reversed())
    assert turned.is_reversed
    assert turned.pairs() == [(i, 59 - i) for i in range(60)]
    # A header that contradicts the content is not followed.
    assert align_slices(one, one.reversed(), runs_the_same_way=True).pairs() == turned.pairs()
    assert turned.inverse().pairs() == turned.pairs()


def test_stretched_cut_and_differently_spaced_volumes_agree_within_a_part_of_a_slice():
    for first, last, stretch, distance in ((0, 300, 1.0, 1.25), (40, 260, 1.15, 5.0), (60, 190, 0.85, 2.5)):
        levels = np.arange(first, last, distance / stretch)
        other = np.arange(0, 300, 5.0)
        found = align_slices(
            _volume(levels, distance, seed=1, noise=0.15), _volume(other, 5.0, seed=2, noise=0.15)
        )
        errors = np.abs(5.0 * found.counterparts - levels[found.slices])
        assert found.overlap > 0.95, stretch
        assert np.median(errors) < 1.5, stretch
        assert np.quantile(errors, 0.95) < 5.0, stretch


def test_slices_between_described_ones_and_those_of_the_other_volume_have_counterparts():
    levels = np.arange(0, 200, 2.0)
    described = np.array([0, 20, 40, 60, 80, 99])
    finely = np.unique(np.r_[described, np.arange(0, 100, 2)])
    one = DescribedSlices(finely, _body(levels[finely]), 100, 2.0)
    found = align_slices(one, _volume(np.arange(50, 250, 5.0), 5.0))
    assert np.array_equal(found.slices, np.arange(found.slices[0], 100))
    assert found.slices[0] == pytest.approx(25, abs=5)
    back = found.inverse()
    assert len(back.slices) == pytest.approx(30, abs=1)
    assert np.median(np.abs(2.0 * back.counterparts - (50 + 5.0 * back.slices))) < 1.0
    assert found.counterpart(0) is None
    assert found.counterpart(60) == pytest.approx(14, abs=1)


def test_volumes_without_a_common_part_are_said_not_to_overlap():
    rng = np.random.default_rng(3)
    one = _volume(np.arange(0, 120, 5.0), 5.0)
    shuffled = DescribedSlices(one.slices, one.rows[rng.permutation(24)], 24, 5.0)
    elsewhere = _volume(np.arange(200, 320, 5.0), 5.0)
    unlike = DescribedSlices(np.arange(24), -one.rows, 24, 5.0)
    for other in (shuffled, elsewhere, unlike):
        found = align_slices(one, other)
        assert (found.pairs(), found.overlap) == ([], 0.0)
        assert found.inverse().pairs() == []


def test_single_slices_are_matched_where_they_are_alike():
    one = _volume(np.arange(0, 120, 5.0), 5.0)
    single = DescribedSlices(np.array([0]), one.rows[7:8], 1, None)
    assert align_slices(single, one).pairs() == [(0, 7)]
    assert align_slices(one, single).inverse().pairs() == [(0, 7)]
    assert align_slices(single, single).pairs() == [(0, 0)]


def test_volumes_in_one_frame_of_reference_are_aligned_by_their_positions():
    found = align_by_position([0.0, 2.0, 4.0, 6.0, 8.0, 20.0], [9.0, 6.0, 3.0])
    assert found.pairs() == [(1, 2), (2, 2), (3, 1), (4, 0)]
    assert (found.by, found.is_reversed) == (POSITION, True)
    assert align_by_position([0.0, 1.0], [50.0, 51.0]).pairs() == []
