import doctest
import sys

import numpy as np
import pandas as pd
import pytest

from semblance import frame
from semblance.frame import Columns, data_frame

TABLE = {"case_id": ["b", "a", None], "distance": [0.5, 2.0, 1.25], "rank": np.arange(3)}


def test_a_table_without_pandas_works_as_a_data_frame_does():
    ours, theirs = Columns(TABLE), pd.DataFrame(TABLE)
    assert (len(ours), ours.shape, list(ours)) == (len(theirs), theirs.shape, list(theirs))
    assert "rank" in ours
    assert "b" not in ours
    assert ours["distance"].tolist() == theirs["distance"].tolist()
    near = ours[ours["distance"] < 2]
    assert near["case_id"].tolist() == ["b", None]
    assert list(ours[["rank", "case_id"]]) == ["rank", "case_id"]
    assert dict(ours)["rank"].tolist() == ours.to_dict()["rank"] == [0, 1, 2]
    assert len(ours.head(2)) == 2
    with pytest.raises(KeyError):
        ours["nothing"]
    with pytest.raises(KeyError, match="name of a column"):
        ours[1]
    with pytest.raises(ValueError, match="different lengths"):
        Columns({"a": [1], "b": [1, 2]})


def test_the_example_runs():
    assert doctest.testmod(frame).failed == 0


def test_a_long_or_wide_table_prints_in_one_screen():
    text = repr(Columns({f"a column {n}": [f"\x1b[31m{value}" for value in range(500)] for n in range(20)}))
    lines = text.splitlines()
    assert len(lines) < 25
    assert max(map(len, lines[:-1])) <= 110
    assert "500 rows x 20 columns; not shown: a column" in lines[-1]
    assert "\x1b" not in text
    assert "–" in repr(Columns(TABLE))
    assert repr(Columns({})) == "(no columns)"


def test_pandas_is_used_where_it_is_installed(monkeypatch):
    assert isinstance(data_frame(TABLE), pd.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(data_frame(TABLE), Columns)
