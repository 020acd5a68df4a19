from __future__ import annotations

import numpy as np
import pytest

from semblance.core.features.local import textons, visual_words
from semblance.core.local_descriptors import NO_DESCRIPTOR, DescriptorPacking

FORMS = {"visual_words": visual_words.PACKING, "textons": textons.PACKING}


@pytest.fixture(params=FORMS)
def form(request) -> DescriptorPacking:
    return FORMS[request.param]


def descriptors(form: DescriptorPacking, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(form.low, form.high, (n, form.values))


def test_what_is_packed_comes_back_to_half_a_step(form):
    given = descriptors(form, 7)
    row = form.pack(given, 10)
    assert row.shape == (10 * form.columns,)
    step = (np.array(form.high) - form.low) / (2**form.bits - 1)
    found = form.unpack(row)
    assert found.shape == given.shape
    assert (np.abs(found - given) <= 0.5 * step + 1e-5).all()


def test_bytes_come_back_exactly():
    given = np.random.default_rng(0).integers(0, 256, (5, 128), dtype=np.uint8)
    np.testing.assert_array_equal(visual_words.PACKING.unpack(visual_words.PACKING.pack(given, 5)), given)


def test_columns_are_whole_numbers_that_single_precision_holds(form):
    row = form.pack(np.array([form.high, form.low]), 2)
    assert row.max() <= form.largest < 2**24
    np.testing.assert_array_equal(row, np.rint(row))
    assert form.columns == {8: 43, 12: 9}[form.bits]


def test_values_beyond_the_range_become_its_ends(form):
    beyond = np.array([np.array(form.high) + 1e3, np.array(form.low) - 1e3])
    assert form.unpack(form.pack(beyond, 2)) == pytest.approx(np.array([form.high, form.low]), abs=1e-3)


def test_places_that_are_missing_stay_missing(form):
    row = form.pack(descriptors(form, 2), 4)
    assert (row[2 * form.columns :] == NO_DESCRIPTOR).all()
    assert form.places(row[None]).tolist() == [[True, True, False, False]]
    assert len(form.unpack(form.pack(descriptors(form, 0), 4))) == 0


def test_a_place_with_a_gap_is_no_place(form):
    row = form.pack(descriptors(form, 3), 3)
    row[form.columns + 1] = np.nan
    assert form.places(row[None]).tolist() == [[True, False, True]]
    assert len(form.unpack(row)) == 2


def test_chosen_places(form):
    row = form.pack(descriptors(form, 5), 5)
    np.testing.assert_array_equal(form.unpack(row, np.array([3, 1])), form.unpack(row)[[3, 1]])
