"""Parquet files are imported as CSV files with the same cells are."""

from __future__ import annotations

import datetime
import io
import random
import sys

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.importers.importer import RejectedFile
from semblance.core.library.importers.source import Source
from semblance.core.library.importers.table import TableImporter, open_table, preview_table, read_table
from semblance.core.library.importers.table_file import TableFormat
from semblance.core.tasks import SILENT

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CSV = b"""case_id,a,b,note,flag,patient_id,label
k1,1,2.5,good,True,p1,x
k2,-3,,,False,p1,y
k3,7,1e10,bad,True,,
"""
COLUMNS = {
    "case_id": ["k1", "k2", "k3"],
    "a": [1, -3, 7],
    "b": [2.5, None, 1e10],
    "note": [" good", None, "bad"],
    "flag": [True, False, True],
    "patient_id": ["p1", "p1", None],
    "label": ["x", "y", None],
}


def parquet(columns: object, **settings: object) -> bytes:
    written = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), written, **settings)
    return written.getvalue()


def facts(data: bytes, name: str) -> tuple[object, ...]:
    found = read_table(data, name)
    X = found.X.tolist()
    same = (found.columns, found.finding_column, found.findings, found.case_ids, found.patient_ids)
    return (repr(X), *same, found.attributes, found.left_out)


@pytest.mark.parametrize("row_group", [1, 2, 100])
@pytest.mark.parametrize("dictionary", [True, False])
def test_it_is_read_as_the_csv_file_with_the_same_cells(row_group, dictionary):
    data = parquet(COLUMNS, row_group_size=row_group, use_dictionary=dictionary)
    assert facts(data, "t.parquet") == facts(CSV, "t.csv")


@pytest.mark.parametrize(
    "kind",
    ["float32", "float64", "int8", "uint16", "int64", "decimal128(9, 2)", "large_string", "dictionary"],
)
def test_types_of_columns(kind):
    values = pa.array([1, None, 3])
    if kind == "dictionary":
        values = values.cast("string").dictionary_encode()
    else:
        values = values.cast(pa.decimal128(25, 2) if "(" in kind else kind)
    found = read_table(parquet({"a": values, "label": ["x", "y", "x"]}), "t.parquet")
    np.testing.assert_array_equal(found.X, [[1.0], [np.nan], [3.0]])


def test_findings_and_ids_that_are_numbers_are_written_as_in_python():
    found = read_table(parquet({"case_id": [5, 6], "a": [0.5, 1.5], "grade": [0, 1]}), "t.parquet")
    assert (found.case_ids, found.findings, found.finding_column) == (["5", "6"], ["0", "1"], "grade")


def test_dates_are_attributes_and_nested_columns_are_left_out():
    day = datetime.date(2026, 1, 2)
    found = read_table(parquet({"a": [1.5], "day": [day], "many": [[1, 2]], "label": ["x"]}), "t.parquet")
    assert found.attributes == {"day": ["2026-01-02"]}
    assert found.left_out == [("many", "the column contains neither numbers nor text")]


def test_rows_that_cannot_be_used_are_named(tmp_path):
    data = parquet({"case_id": ["k", "l", "k", "m"], "a": [1.0, np.inf, 2.0, 1e200], "label": list("xyxy")})
    (tmp_path / "t.parquet").write_bytes(data)
    with Source.open(tmp_path / "t.parquet") as source:
        found = list(TableImporter().scan(source, SILENT))
    assert [one.reason for one in found if isinstance(one, RejectedFile)] == [
        "Row 2: 'inf' in the column 'a' is infinite.",
        "Row 3: the case_id 'k' occurs a second time.",
        "Row 4: 1e+200 in the column 'a' is too large.",
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.5, 2.5]}, "has no finding"),
        ({"a": [1.5, 2.5], "b": [0.25, 0.75]}, "the last column 'b' contains measurements"),
        ({"note": ["x", "y"], "label": ["x", "y"]}, "has no column of numbers"),
        ({"a": [1.5], "label": pa.array([None], "string")}, "its column 'label' is empty"),
        ({"a": pa.array([], "float64"), "label": pa.array([], "string")}, "contains no row that can be used"),
        (pa.table([[1.0], [2.0], ["x"]], names=["a", "a", "label"]), "two columns named 'a'"),
        (pa.table([[1.5], ["x"]], names=["", "label"]), "has no name"),
        (
            {"a": [np.inf], "label": ["x"]},
            "No row of 't.parquet' can be used. Row 1: 'inf' in the column 'a'",
        ),
    ],
)
def test_tables_that_cannot_be_used(columns, message):
    with pytest.raises(BadInput, match=message):
        read_table(parquet(columns), "t.parquet")


def test_settings_choose_finding_and_patient():
    form = TableFormat(finding="note", patient="label")
    found = read_table(parquet(COLUMNS), "t.parquet", form)
    assert (found.findings, found.patient_ids) == (["good", None, "bad"], ["x", "y", None])


def test_a_preview_reads_the_first_rows_only():
    columns = {"a": np.arange(50_000) / 2, "label": ["x"] * 50_000}
    data = parquet(columns, row_group_size=5000)
    # The rest is damaged.
    cut = data[:60_000] + bytes(len(data) - 80_000) + data[-20_000:]
    preview = preview_table(io.BytesIO(cut), "t.parquet", TableFormat(), 2)
    assert (preview.columns, preview.uses) == (("a", "label"), ("number", "finding"))
    assert preview.rows == (("0.0", "x"), ("0.5", "x"))
    with pytest.raises(BadInput, match="cannot be read"):
        read_table(cut, "t.parquet")


def test_damaged_files_are_refused_and_nothing_else_happens():
    data, rng = parquet(COLUMNS), random.Random(0)
    for _ in range(200):
        mutant = bytearray(data)
        for _ in range(rng.randint(1, 6)):
            mutant[rng.randrange(len(mutant))] = rng.randrange(256)
        mutant = mutant[: rng.choice([len(mutant), rng.randrange(len(mutant))])]
        try:
            read_table(bytes(mutant), "t.parquet")
        except BadInput as error:
            assert error.hint


@pytest.mark.parametrize("data", [b"", b"PAR1", b"a,label\n1.5,x\n", b"PAR1" + bytes(100) + b"PAR1"])
def test_what_is_no_parquet_file_is_refused(data):
    with pytest.raises(BadInput, match=r"The Parquet file 't\.parquet' cannot be read"):
        read_table(data, "t.parquet")


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"a": np.zeros(15_000_000, np.int8), "label": ["x"]}, id="rows"),
        pytest.param({"a": np.zeros(3000), "label": ["x" * 900_000]}, id="one long text in every row"),
        pytest.param({"a": np.zeros(2), "label": ["x" * 2_000_000] * 2}, id="a cell"),
    ],
)
def test_small_files_that_would_fill_the_memory_are_refused(columns, monkeypatch):
    monkeypatch.setenv("SEMBLANCE_MEMORY_MB", "100")
    n = len(columns["a"])
    if len(columns["label"]) != n:
        columns["label"] = pa.DictionaryArray.from_arrays(np.zeros(n, np.int8), pa.array(columns["label"]))
    data = parquet(columns, compression="zstd")
    assert len(data) < 1_000_000
    with pytest.raises(BadInput, match=r"would unpack to far more|a cell of more than"):
        read_table(data, "t.parquet")


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    data = parquet(COLUMNS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInput, match="PyArrow") as error:
        open_table(io.BytesIO(data), "t.parquet")
    assert 'pip install "semblance-retrieval[parquet]"' in error.value.hint


def test_ids_of_rows_are_limited_by_the_memory(monkeypatch):
    monkeypatch.setenv("SEMBLANCE_MEMORY_MB", "1")
    rows = b"".join(b"c%d,1.5,x\n" % number for number in range(20_000))
    table = open_table(io.BytesIO(b"case_id,a,label\n" + rows), "t.csv")
    with pytest.raises(BadInput, match="more than 10,000 rows with a case_id"):
        list(table.rows())
