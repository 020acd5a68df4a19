"""A row of which one bit changed is told from its sum, whatever it holds."""

from __future__ import annotations

import random

import pytest

from semblance.core.library.row_repair import Value, as_written
from semblance.core.library.row_sums import sum_of_row

ROW = [
    Value("integer", b"7"),
    Value("text", "Brüche, rechts".encode()),
    Value("null", None),
    Value("blob", bytes(range(200))),
    Value("integer", b"-3"),
    Value("real", b"0.25"),
    Value("text", b""),
    Value("integer", b"1"),
]


def sum_of(values: list[Value]) -> int:
    return sum_of_row(",".join(value.kind for value in values), *(value.data for value in values))


@pytest.mark.parametrize("seed", range(40))
def test_any_bit_of_a_text_or_blob(seed):
    chance = random.Random(seed)
    place = chance.choice([1, 3])
    data = bytearray(ROW[place].data or b"")
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    changed = [*ROW]
    changed[place] = Value(ROW[place].kind, bytes(data))
    assert as_written(changed, sum_of(ROW)) == ROW


@pytest.mark.parametrize(
    ("place", "changed"),
    [
        (0, Value("integer", b"6")),
        (0, Value("integer", b"%d" % (7 - 2**63))),
        (4, Value("integer", b"-1")),
        (7, Value("integer", b"0")),
        (2, Value("integer", b"0")),
        (1, Value("blob", ROW[1].data)),
        (3, Value("text", ROW[3].data)),
        (6, Value("blob", b"")),
    ],
)
def test_whole_numbers_and_kinds(place, changed):
    assert as_written([*ROW[:place], changed, *ROW[place + 1 :]], sum_of(ROW)) == ROW


@pytest.mark.parametrize("bit", [0, 13, 31])
def test_where_the_sum_itself_changed_the_row_is_as_it_was_written(bit):
    assert as_written(ROW, sum_of(ROW) ^ (1 << bit)) == ROW


def test_more_than_a_bit_is_not_guessed():
    changed = [*ROW]
    changed[1] = Value("text", "Brüche, links!".encode())
    assert as_written(changed, sum_of(ROW)) is None
    changed = [*ROW]
    changed[5] = Value("real", b"0.24")
    assert as_written(changed, sum_of(ROW)) is None
