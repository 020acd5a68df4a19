"""Columns that measure nothing are no features, whatever they are called and whatever file they are in."""

from __future__ import annotations

import io
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semblance.core.library.column_checks import telling_columns
from semblance.core.library.importers.table import read_table
from semblance.core.library.importers.table_file import TableFormat

NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=8)


def measured(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Columns as tables have them: fractions, grades, counts, and large whole numbers that may repeat."""
    return {
        "size": rng.normal(size=n),
        "grade": rng.integers(1, 6, n),
        "count": rng.integers(0, n, n),
        "area": rng.integers(0, 100 * n, n) // 7 * 7,
    }


def as_csv(columns: dict[str, np.ndarray], labels: list[str]) -> bytes:
    rows = zip(*(column.tolist() for column in columns.values()), labels, strict=True)
    lines = [[*columns, "label"], *rows]
    return "".join(",".join(map(str, line)) + "\n" for line in lines).encode()


def as_parquet(columns: dict[str, np.ndarray], labels: list[str]) -> bytes:
    pa = pytest.importorskip("pyarrow")
    written = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({**columns, "label": labels}), written)
    return written.getvalue()


@settings(max_examples=40, deadline=None)
@given(
    name=NAMES,
    n=st.integers(40, 150),
    first=st.integers(-5, 10_000),
    kept=st.sampled_from([1.0, 0.8]),
    order=st.sampled_from(["as it was", "shuffled", "by finding"]),
    is_float=st.booleans(),
    place=st.integers(0, 4),
    written=st.sampled_from([as_csv, as_parquet]),
    seed=st.integers(0, 1000),
)
def test_a_column_that_counts_rows_is_found_under_any_name(
    name, n, first, kept, order, is_float, place, written, seed
):
    """In any order, and after rows were removed; the measurements beside it stay."""
    rng = np.random.default_rng(seed)
    name = unicodedata.normalize("NFC", name)
    columns = {key: value for key, value in measured(rng, n).items() if key != name}
    if name.casefold() in ("label", "finding", "patient", "subject", *columns):
        return
    index = first + np.sort(rng.permutation(round(n / kept))[:n])
    labels = [f"f{one}" for one in rng.integers(0, 3, n)]
    rows = np.argsort(labels, kind="stable") if order == "by finding" else np.arange(n)
    index = index if order == "as it was" else rng.permutation(index)
    items = [(key, value[rows]) for key, value in columns.items()]
    items.insert(place, (name, index.astype(float) if is_float else index))
    found = read_table(written(dict(items), [labels[row] for row in rows]), f"t.{written.__name__[3:]}")
    assert [column for column in found.columns if column != name] == list(columns)
    assert name not in found.columns
    if name.lower() not in ("id", "case_id"):
        assert any(f"'{name}'" in note and "--set columns=" in note for note in found.notes)


def test_a_named_index_and_an_unnamed_one_are_left_out_and_can_be_chosen():
    labels = [f"f{i % 3}" for i in range(30)]
    rng = np.random.default_rng(2)
    data = as_csv({"": rng.integers(0, 9, 30), "a": rng.normal(size=30)}, labels)
    with pytest.raises(Exception, match="has no name"):
        read_table(data, "t.csv")
    columns = {"": np.arange(30), "index": rng.integers(0, 9, 30), "studyID": rng.integers(0, 9, 30)}
    data = as_csv({**columns, "a": rng.normal(size=30), "a2": rng.normal(size=30)}, labels)
    assert read_table(data, "t.csv").columns == ("a", "a2")
    assert read_table(data, "t.csv", TableFormat(columns="a*, index")).columns == ("index", "a", "a2")
    with pytest.raises(Exception, match="no column of numbers 'b'") as error:
        read_table(data, "t.csv", TableFormat(columns="a,b"))
    assert "index, studyID, a, a2" in error.value.hint


def test_the_index_that_pandas_notes_in_a_parquet_file_is_no_feature():
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(3)
    table = pa.table({"dose": rng.normal(size=30), "a": rng.normal(size=30), "label": ["x", "y"] * 15})
    written = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({b"pandas": b'{"index_columns": ["dose"]}'}), written)
    found = read_table(written.getvalue(), "t.parquet")
    assert found.columns == ("a",)
    assert found.left_out[0][0] == "dose"


def test_an_index_in_equal_steps_or_with_missing_cells_is_no_feature():
    for numbers in ["10", "0,0", "missing"]:
        written = {
            "10": [str(10 * n) for n in range(60)],
            "0,0": [f"{n},0" for n in range(60)],
            "missing": ["NA" if n in (5, 59) else str(n) for n in range(60)],
        }[numbers]
        cells = np.random.default_rng(5).normal(size=60).round(4)
        lines = [
            f"{n};{str(a).replace('.', ',')};f{place % 2}"
            for place, (n, a) in enumerate(zip(written, cells, strict=True))
        ]
        found = read_table("\n".join(["k;a;label", *lines]).encode(), "t.csv")
        assert found.columns == ("a",), numbers
        assert "rows" in found.notes[0], numbers


def test_ages_with_missing_cells_stay_a_feature():
    ages = [61, 45, "", 38, 52, 66, 49, 58, 73, 41, 55, 64]
    lines = [f"{age},{0.5 * n % 1.7:.2f},f{n % 2}" for n, age in enumerate(ages)]
    assert read_table("\n".join(["age,a,label", *lines]).encode(), "t.csv").columns == ("age", "a")


def test_a_column_that_is_the_finding_in_other_words_is_no_feature():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, 60)
    columns = {
        "code": codes * 2.5,
        "nearly": np.where(np.arange(60) == 7, 1, codes),
        "a": rng.normal(size=60),
    }
    found = read_table(as_csv(columns, [f"f{code}" for code in codes]), "t.csv")
    assert found.columns == ("nearly", "a")
    assert "the finding in other words" in str(found.left_out[0][1])
    columns["code"][7] = np.nan
    assert read_table(as_csv(columns, [f"f{code}" for code in codes]), "t.csv").columns == ("nearly", "a")


def test_telling_columns():
    """An order of rows by finding, codes, and a measurement that separates two findings; and one that does not."""
    rng = np.random.default_rng(5)
    y = ["a"] * 40 + ["b"] * 40 + ["c"] * 40
    X = rng.normal(size=(120, 5))
    X[:, 1] = np.sort(X[:, 1])
    X[:, 2] = np.repeat([7, 1, 3, 5, 2, 9], 20)
    X[:, 3] = X[:, 1] + rng.normal(scale=0.3, size=120)
    X[40:80, 4] = np.nan
    assert {place for place, _ in telling_columns(X, y)} == {1, 2}
    two = ["a"] * 60 + [""] * 5 + ["b"] * 55
    assert {place for place, _ in telling_columns(X, two)} >= {1}
    assert not list(telling_columns(X[:10], y[:10]))


def test_no_column_of_the_real_tables_is_left_out_or_tells_the_finding(data):
    for path in sorted((data / "tables").glob("*.csv")):
        found = read_table(path)
        assert found.left_out == [], path.name
        assert not list(telling_columns(found.X, [finding or "" for finding in found.findings])), path.name
