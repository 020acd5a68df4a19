from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from semblance.core.imaging.image_signature import DETAIL_SIDE, SIDE, ImageSignature
from semblance.core.retrieval.near_duplicates import DuplicateFinder

CASES = 200
EVEN = np.zeros(DETAIL_SIDE * DETAIL_SIDE, dtype=np.float32)


def test_copies_far_down_a_ranking_are_folded_too(monkeypatch):
    rng = np.random.default_rng(0)
    greys = rng.normal(size=(CASES, SIDE * SIDE))
    greys[180] = greys[150]
    greys /= np.linalg.norm(greys, axis=1, keepdims=True)
    marks = {at: (f"{at}.png", ImageSignature(grey, EVEN, 1.5)) for at, grey in enumerate(greys)}
    findings = ["normal"] * CASES
    duplicate_finder = DuplicateFinder(SimpleNamespace(), np.arange(CASES), findings)  # type: ignore[arg-type]
    monkeypatch.setattr(duplicate_finder, "_prints", lambda places: {at: marks[at] for at in places})
    places, coordinates = np.arange(CASES), rng.normal(size=(CASES, 3))
    coordinates[180] = coordinates[150]
    own = duplicate_finder.representatives(places, coordinates, 0.1)
    assert own == [150 if at == 180 else at for at in range(CASES)]
    told_apart = DuplicateFinder(SimpleNamespace(), np.arange(CASES), findings, {150, 180})  # type: ignore[arg-type]
    monkeypatch.setattr(told_apart, "_prints", lambda places: {at: marks[at] for at in places})
    assert told_apart.representatives(places, coordinates, 0.1) == list(range(CASES))
    findings[180] = "benign"
    assert duplicate_finder.representatives(places, coordinates, 0.1) == list(range(CASES))


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_a_plain_loop_over_all_pairs_gives(seed, monkeypatch):
    """Chains of copies, cases without a thumbnail, and regions of one image, among 40 of 9 images."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(9, size=40)
    greys = rng.normal(size=(9, SIDE * SIDE))
    greys /= np.linalg.norm(greys, axis=1, keepdims=True)
    findings = [str(one) for one in rng.integers(2, size=40)]
    marks = {
        at: (f"{rng.integers(12)}.png", ImageSignature(greys[kind], EVEN, 1.5))
        for at, kind in enumerate(kinds.tolist())
        if rng.random() < 0.8
    }
    coordinates = rng.normal(size=(40, 2))
    duplicate_finder = DuplicateFinder(SimpleNamespace(), np.arange(40), findings)  # type: ignore[arg-type]
    monkeypatch.setattr(
        duplicate_finder, "_prints", lambda requested: {at: marks[at] for at in requested if at in marks}
    )
    places = rng.permutation(40)
    own = list(range(40))
    for a in range(40):
        for b in range(a + 1, 40):
            left, right = int(places[a]), int(places[b])
            if (
                own[a] == a
                and own[b] == b
                and ((coordinates[a] - coordinates[b]) ** 2).sum() <= 2.0 * 0.5
                and findings[left] == findings[right]
                and left in marks
                and right in marks
                and kinds[left] == kinds[right]
                and marks[left][0] != marks[right][0]
            ):
                own[b] = a
    assert own != list(range(40))
    assert duplicate_finder.representatives(places, coordinates, 0.5) == own
