from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from core.imaging.fingerprint import DETAIL_SIDE, SIDE, Fingerprint
from core.workflows.searches.near_duplicates import Lookalikes

CASES = 200
EVEN = np.zeros(DETAIL_SIDE * DETAIL_SIDE, dtype=np.float32)


def test_copies_far_down_a_ranking_are_folded_too(monkeypatch):
    rng = np.random.default_rng(0)
    greys = rng.normal(size=(CASES, SIDE * SIDE))
    greys[180] = greys[150]
    greys /= np.linalg.norm(greys, axis=1, keepdims=True)
    marks = {at: (f"{at}.png", Fingerprint(grey, EVEN, 1.5)) for at, grey in enumerate(greys)}
    findings = ["normal"] * CASES
    lookalikes = Lookalikes(SimpleNamespace(), np.arange(CASES), findings)  # type: ignore[arg-type]
    monkeypatch.setattr(lookalikes, "_prints", lambda places: {at: marks[at] for at in places})
    places, coordinates = np.arange(CASES), rng.normal(size=(CASES, 3))
    coordinates[180] = coordinates[150]
    own = lookalikes.folded(places, coordinates, 0.1)
    assert own == [150 if at == 180 else at for at in range(CASES)]
    findings[180] = "benign"
    assert lookalikes.folded(places, coordinates, 0.1) == list(range(CASES))
