from __future__ import annotations

import numpy as np
import pytest

from semblance.core.library.library import Library
from semblance.core.workflows.features.measuring_order import (
    STEP,
    MeasuringOrder,
    measure_first,
    rows_to_measure_first,
)

ROWS = np.arange(10, 3010, dtype=np.int64)


def dealt(order):
    parts = []
    while order:
        parts.append(order.take().tolist())
    return parts


@pytest.mark.parametrize("first", [None, list, lambda: [2000, 17, 99999, 17]])
@pytest.mark.parametrize("spread", [True, False])
def test_every_case_is_dealt_out_once(first, spread):
    parts = dealt(MeasuringOrder(ROWS, 2, first, spread=spread))
    assert sorted(row for part in parts for row in part) == ROWS.tolist()


def test_a_case_requested_later_is_next():
    requested = []
    order = MeasuringOrder(ROWS, 2, lambda: requested)
    order.take()
    requested[:] = [2900, 1500]
    part = order.take().tolist()
    assert part[:2] == [2900, 1500]
    assert len(part) == STEP
    assert 2900 not in order.take()


def test_the_first_parts_are_small_and_from_the_whole_library():
    parts = dealt(MeasuringOrder(ROWS, 2, list))
    assert [len(part) for part in parts[:4]] == [STEP, STEP, 2 * STEP, 2 * STEP]
    assert max(map(len, parts)) == 256
    assert np.diff(parts[0]).min() > len(ROWS) / STEP / 2
    # Cases of one volume are next to each other and stay together.
    assert dealt(MeasuringOrder(ROWS, 2, list, spread=False))[0] == ROWS[:STEP].tolist()


def test_without_anybody_waiting_parts_are_whole_chunks_in_order():
    parts = dealt(MeasuringOrder(ROWS, 2))
    assert [len(part) for part in parts[:-1]] == [256] * (len(parts) - 1)
    assert [row for part in parts for row in part] == ROWS.tolist()


def test_requested_rows_are_read_and_replaced(tmp_path):
    Library.create(tmp_path / "lib.semblance").close()
    path = tmp_path / "lib.semblance"
    assert rows_to_measure_first(path) == []
    measure_first(path, [5, 3])
    measure_first(path, [3, 8, 5])
    assert rows_to_measure_first(path) == [3, 8, 5]
    (path / "features" / "measure_first.json").write_text('{"no": "list"', encoding="utf-8")
    assert rows_to_measure_first(path) == []
