"""Images measured together."""

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.features.pixels import Pixels
from semblance.core.workflows.features.image_batch import ImageBatch


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


def test_all_come_back_in_order_by_threes():
    for count in [0, 1, 3, 7]:
        extractor = Together()
        batch = ImageBatch(extractor)
        for n in range(count):
            batch.add(100 + n, f"c{n}", n)
        found = batch.measured()
        rows, values, contents = found.rows, found.values, found.contents
        assert rows.tolist() == [100 + n for n in range(count)], count
        assert values.shape == (count, 64), count
        assert values[:, 0].tolist() == list(range(count)), count
        assert contents == [f"c{n}" for n in range(count)], count
        assert extractor.sizes == [3] * (count // 3) + [count % 3] * (count % 3 > 0), count
        assert batch.failures == [], count


def test_one_that_fails_is_recorded_and_the_others_stay():
    batch = ImageBatch(Together())
    for n in (11, 12, 13, 14):
        batch.add(n, f"c{n}", n)
    found = batch.measured()
    assert found.rows.tolist() == [11, 12, 14]
    assert found.values[:, 0].tolist() == [11, 12, 14]
    assert batch.failures == [(13, "c13", "Thirteen.")]
