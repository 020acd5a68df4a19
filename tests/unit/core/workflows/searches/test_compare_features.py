from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.compare_features import compare_features
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return table_library(tmp_path_factory.mktemp("t"), metrics=[PLAIN], missing=True)


def test_largest_differences_come_first_in_deviations_of_all_cases(library):
    rows = np.genfromtxt(library.parent / "t.csv", delimiter=",", skip_header=1, usecols=range(2, 7))
    found = compare_features(library, Search("plain", Query(case="t/c1")), "t/c30")
    apart = np.abs(rows[30] - rows[1]) / np.nanstd(rows, axis=0)
    assert [one.name for one in found] == [f"f{place}" for place in np.argsort(-apart)]
    assert [one.difference for one in found] == pytest.approx(np.sort(apart)[::-1], rel=1e-4)
    first = int(found[0].name[1:])
    assert (found[0].query, found[0].case) == pytest.approx((rows[1, first], rows[30, first]), rel=1e-5)
    mean, deviation = np.nanmean(rows[:, first]), np.nanstd(rows[:, first])
    assert found[0].case_place == pytest.approx((rows[30, first] - mean) / deviation, rel=1e-4)


def test_a_missing_value_has_no_difference_and_is_last(library):
    found = compare_features(library, Search("plain", Query(case="t/c1")), "t/c35")
    assert [math.isnan(one.difference) for one in found] == [False] * 4 + [True]
    assert math.isnan(found[-1].case)
    assert not math.isnan(found[-1].query)
