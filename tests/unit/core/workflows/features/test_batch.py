"""Images measured together: nobody is lost, and one bad image costs the others nothing."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.features.pixels import Pixels
from semblance.core.workflows.features.batch import Batch


class Together(Pixels):
    """Measures 3 at a time; 13 cannot be measured."""

    def __init__(self):
        super().__init__(size=8)
        self.sizes = []

    @property
    def batch(self):
        return 3

    def measure(self, prepared):
        self.sizes.append(len(prepared))
        if 13 in prepared:
            raise BadInput("Thirteen.")
        return np.array([[n] * 64 for n in prepared], dtype=np.float32)


@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_all_come_back_in_order_by_threes(count):
    extractor = Together()
    batch = Batch(extractor)
    for n in range(count):
        batch.add(100 + n, f"c{n}", n)
    rows, values, contents = batch.measured()
    assert rows.tolist() == [100 + n for n in range(count)]
    assert values.shape == (count, 64)
    assert values[:, 0].tolist() == list(range(count))
    assert contents == [f"c{n}" for n in range(count)]
    assert extractor.sizes == [3] * (count // 3) + [count % 3] * (count % 3 > 0)
    assert batch.failures == []


def test_one_that_fails_is_recorded_and_the_others_stay():
    batch = Batch(Together())
    for n in (11, 12, 13, 14):
        batch.add(n, f"c{n}", n)
    rows, values, _ = batch.measured()
    assert rows.tolist() == [11, 12, 14]
    assert values[:, 0].tolist() == [11, 12, 14]
    assert batch.failures == [(13, "c13", "Thirteen.")]
