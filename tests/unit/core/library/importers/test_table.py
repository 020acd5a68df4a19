"""Tables: which columns are numbers, which values are missing, and what is reported."""

from __future__ import annotations

import csv
import io
import tracemalloc

import numpy as np
import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.library.importers import csv_text
from semblance.core.library.importers.table import open_table, preview_table, read_table
from semblance.core.library.importers.table_file import TableFormat


def table(text: str | bytes):
    return read_table(text.encode() if isinstance(text, str) else text, "t.csv")


def test_features_findings_and_row_ids_are_read_from_a_csv_table():
    found = table("a,b,label\n1,2.5,x\n-3e2,,y\n")
    np.testing.assert_array_equal(found.X, [[1, 2.5], [-300, np.nan]])
    assert found.X.dtype == np.float64
    assert found.columns == ("a", "b")
    assert found.findings == ["x", "y"]
    assert found.case_ids == ["row1", "row2"]
    assert found.patient_ids is None
    assert found.failed == found.left_out == []


def test_ids_patients_and_a_label_in_the_middle():
    found = table("case_id,Label,a,patient_id\nk1,x,1,p1\nk2,,2,\n")
    assert found.case_ids == ["k1", "k2"]
    assert found.patient_ids == ["p1", None]
    assert found.findings == ["x", None]
    assert found.columns == ("a",)


@pytest.mark.parametrize("name", ["patient_id", "Patient", "SUBJECT"])
def test_a_column_of_patient_numbers_is_no_feature(name):
    found = table(f"{name},a,label\n1,5,x\n1,6,y\n2,7,x\n")
    assert found.patient_ids == ["1", "1", "2"]
    assert found.columns == ("a",)


def test_the_last_column_is_the_finding():
    assert table("a,kind\n1.5,x\n2.5,y\n").finding_column == "kind"
    assert table("a,grade\n1.5,0\n2.5,1\n").findings == ["0", "1"]


@pytest.mark.parametrize(
    "missing", ["", "  ", "nan", "NaN", '""', "NA", "?", "n/a", "#N/A", "<NA>", "null", "-", "unknown"]
)
def test_missing_values(missing):
    found = table(f"a,b,label\n{missing},1,x\n2,1,y\n")
    assert np.isnan(found.X[0, 0])
    assert found.notes == (
        [f"'t.csv': read as missing values: '{missing}' (1)."] if missing.strip(' "') else []
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("abc", "'abc' in the column 'b' is not a number"),
        ("1_000", "'1_000' in the column 'b' is not a number"),
        ("inf", "'inf' in the column 'b' is infinite"),
        ("-Infinity", "'-Infinity' in the column 'b' is infinite"),
        ("1e999", "'1e999' in the column 'b' is infinite"),
        ("1e200", "1e200 in the column 'b' is too large"),
    ],
)
def test_a_bad_number_loses_its_row_only(bad, reason):
    found = table(f"a,b,label\n1,1,x\n2,{bad},x\n3,3,y\n")
    assert found.X[:, 0].tolist() == [1, 3]
    assert found.case_ids == ["row1", "row3"]
    assert [(failed.line, failed.reason) for failed in found.failed] == [(3, reason)]


def test_ragged_rows_lose_themselves_only():
    found = table("a,b,label\n1,2,x\n1,2\n\n1,2,x,9\n3,4,y\n")
    assert found.X.tolist() == [[1, 2], [3, 4]]
    assert [failed.line for failed in found.failed] == [3, 5]
    assert "2 cells where the header names 3 columns" in found.failed[0].reason


def test_quoted_cells_over_several_lines_keep_the_count_of_lines():
    found = table('a,note,label\n1,"two\nlines, one cell",x\nbad,"u, v",x\n3,w,y\n')
    assert found.attributes == {"note": ["two\nlines, one cell", "w"]}
    assert found.failed[0].line == 4


def test_an_unclosed_quotation_mark_is_reported_with_its_text():
    found = table('a,label\n1,x\n2,"y\n3,x\n4,y\n')
    assert found.case_ids == ["row1"]
    assert found.failed[0].line == 3
    assert "lines 3 to 5 cannot be read" in found.failed[0].reason


def test_a_column_of_words_is_an_attribute():
    found = table("site,a,label\nleft,1,x\nright,2,y\n3,3,y\n")
    assert found.columns == ("a",)
    assert found.attributes == {"site": ["left", "right", "3"]}


def test_a_column_without_values_is_left_out_and_reported():
    found = table("a,b,label,\n1,,x,\n2,nan,y,\n")
    assert found.columns == ("a",)
    assert found.left_out == [("b", "the column contains no value")]


def test_constant_columns_and_one_finding_are_fine_here():
    found = table("a,b,label\n1,7,x\n2,7,x\n")
    assert found.X[:, 1].tolist() == [7, 7]
    assert set(found.findings) == {"x"}


def test_doubled_case_ids_lose_the_second_row():
    found = table("case_id,a,label\nk,1,x\nk,2,y\nj,3,y\n")
    assert found.case_ids == ["k", "j"]
    assert "'k' occurs a second time" in found.failed[0].reason


@pytest.mark.parametrize(
    "text",
    [
        "a,b,label\r\n1,2,x\r\n3,4,y\r\n",
        "\ufeffa,b,label\n1,2,x\n3,4,y",
        "a;b;label\n1;2;x\n3;4;y\n",
        "a\tb\tlabel\n1\t2\tx\n3\t4\ty\n",
        "\n a , b ,label \n 1, 2 ,x\n3,4,y\n,,\n\n",
        "a,b,label\r1,2,x\r3,4,y\r",
    ],
    ids=["windows", "mark", "semicolons", "tabs", "blanks", "old mac"],
)
def test_ways_of_writing_the_same(text):
    found = table(text)
    assert found.columns == ("a", "b")
    assert found.X.tolist() == [[1, 2], [3, 4]]
    assert found.findings == ["x", "y"]
    assert found.failed == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        ("a,label\n1,Киста\n".encode("koi8-r"), "not written in UTF-8: line 2"),
        (b"\x89PNG\0\0\0", "binary data"),
        ("a,b,label\n", "contains no row"),
        ("1,2,3\n4,5,6\n", "may have no header row"),
        ("a,a,label\n1,2,x\n", "two columns named 'a'"),
        (",a,label\n0,2,x\n0,2,x\n", "Column 1 of 't.csv' has no name"),
        ("label\nx\n", "one column only"),
        ("a,b,label\nu,v,x\n", "no column of numbers"),
        ("a,label\n1,\n2,\n", "has no finding: its column 'label' is empty"),
        ("a,b\n1,2.5\n3,4.5\n", "has no finding: no column is named 'label'"),
        ("a,b\n" + "".join(f"{i},{i}\n" for i in range(30)), "has no finding"),
        ("case_id,patient_id\nk,p\n", "has no finding"),
        ("a,label\ninf,x\ninf,y\n", "No row of 't.csv' can be used. Line 2"),
        ('a,"label\n1,x\n', "header of 't.csv' cannot be read"),
    ],
)
def test_tables_that_cannot_be_used(text, message):
    with pytest.raises(BadInput, match=message) as error:
        table(text)
    assert "'t.csv'" in error.value.message
    assert error.value.hint


def test_the_hint_names_the_column_that_may_be_the_finding():
    with pytest.raises(BadInput) as error:
        table("id,diagnosis,r\n1,B,0.5\n2,M,1.5\n")
    assert "Rename the column 'diagnosis' to 'label'" in error.value.hint


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"gone\.csv' does not exist"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(BadInput, match="not a plain file"):
        read_table(str(tmp_path))


def test_the_limit_of_size():
    data = io.BytesIO(b"a,label\n1,x\n2,y\n")
    assert open_table(data, "t.csv", max_bytes=16).n_rows == 2
    with pytest.raises(BadInput, match="more than 15 bytes, the limit"):
        open_table(data, "t.csv", max_bytes=15)


def test_mutated_tables_raise_only_errors_for_users():
    whole = "".join(f'{i},{i / 7:.3f},"n{i}",{"xy"[i % 2]}\n' for i in range(12))
    data = f"a,b,note,label\n{whole}".encode()
    rng = np.random.default_rng(5)
    for _ in range(400):
        mutant = bytearray(data)
        for spot in rng.integers(0, len(data), rng.integers(1, 6)):
            mutant[spot] = rng.choice(list(b'",;\n\r\t _-e.0\xff\x00'))
        try:
            found = read_table(bytes(mutant), "t.csv")
        except SemblanceError as error:
            assert "'t.csv'" in error.message
        else:
            assert len(found.X) == len(found.findings) == len(set(found.case_ids))
            assert not np.isinf(found.X).any()


@pytest.mark.slow
def test_real_tables_agree_with_plain_reading(data):
    for path in sorted((data / "tables").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        found = read_table(path)
        assert found.findings == [row[-1] for row in rows[1:]], path.name
        expected = [[float(cell) if cell else np.nan for cell in row[:-1]] for row in rows[1:]]
        np.testing.assert_array_equal(found.X, expected, err_msg=path.name)
        assert found.failed == found.left_out == []


def written(rows, delimiter, decimal, *, header=True, quoted=False, ending="\n"):
    """Rows of numbers and a finding as a CSV file."""
    names = [*(f"f{i}" for i in range(len(rows[0]) - 1)), "kind"]
    lines = [names] if header else []
    for *numbers, finding in rows:
        cells = [f"{number:.4f}".replace(".", decimal) for number in numbers]
        lines.append([*(f'"{cell}"' if quoted else cell for cell in cells), finding])
    return "".join(delimiter.join(line) + ending for line in lines)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 3), (40, 6)])
def test_delimiter_decimal_sign_and_header_are_recognised(delimiter, decimal, header, n, d):
    rng = np.random.default_rng(n * d)
    X = np.round(rng.uniform(-9, 99, (n, d)), 4)
    rows = [[*x, "benign" if i % 2 or n == 2 else "malignant"] for i, x in enumerate(X.tolist())]
    for quoted in {delimiter == decimal, True}:
        found = table(
            "\ufeff" + written(rows, delimiter, decimal, header=header, quoted=quoted, ending="\r\n")
        )
        np.testing.assert_array_equal(found.X, X)
        assert found.findings == [row[-1] for row in rows]
        assert found.case_ids == [f"row{i + 1}" for i in range(n)]
        assert found.columns[0] == ("f0" if header else "column1")
        assert not found.failed


@pytest.mark.parametrize(
    ("text", "seen", "option"),
    [
        ("5,1,7\n4,2,7\n6,3,8\n", "'5,1,7'", "header=no"),
        ("2001,2002,kind\n1,2,x\n3,4,y\n", "'2001,2002,kind'", "header=yes"),
        (
            "a;b;label\n1,5;2;x\n1.5;2;y\n",
            r"'1,5' in line 2\) and decimal points \('1.5' in line 3",
            "decimal=.",
        ),
        ("a;b;label\n1,234;2;x\n950;2;y\n", "'1,234' in line 2", "decimal=,"),
        ("a;b;label\n1.234;2;x\n950;2;y\n", "'1.234' in line 2", "decimal=."),
        ('a,b,label\n"1,234",2,x\n950,2,y\n', "'1,234' in line 2", "decimal=,"),
        ("a,b;c,label\n1,2;3,x\n4,5;6,y\n", "'a,b;c,label'", "delimiter="),
        ("a b label\n1 2 x\n3 4 y\n", "one column only.*'a b label'", "delimiter="),
        ("a|b|label\n1|2|x\n3|4|y\n", "one column only", "delimiter="),
    ],
)
def test_what_can_be_meant_in_two_ways_is_refused_with_the_option_that_settles_it(text, seen, option):
    with pytest.raises(BadInput, match=seen) as error:
        table(text)
    assert option in error.value.hint


@pytest.mark.parametrize(
    ("text", "settings", "X"),
    [
        ("5,1,7\n4,2,7\n6,3,8\n", {"header": "no"}, [[5, 1], [4, 2], [6, 3]]),
        ("2001,2002,kind\n1,2,x\n3,4,y\n", {"header": "yes"}, [[1, 2], [3, 4]]),
        ("a;b;label\n1,234;2;x\n950;2;y\n", {"decimal": ","}, [[1.234, 2], [950, 2]]),
        ("a;b;label\n1.234;2;x\n950;2;y\n", {"decimal": "."}, [[1.234, 2], [950, 2]]),
        ("a,b;c;label\n1,2;3;x\n4,5;6;y\n", {"delimiter": ";"}, [[1.2, 3], [4.5, 6]]),
        ("a\tb;c\tlabel\n1\t2\tx\n", {"delimiter": "tab"}, [[1, 2]]),
    ],
)
def test_settings_decide_how_a_table_is_read(text, settings, X):
    found = read_table(text.encode(), "t.csv", TableFormat.of(settings))
    assert found.X.tolist() == X


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_first_line_of_excel_states_the_delimiter_and_is_no_header(ending):
    lines = ["\ufeffsep=;", "a,b;c;label", "1,2;3;x", "4,5;wrong;y", "7,5;8;y"]
    got = table(ending.join(lines) + ending)
    assert got.columns == ("a,b", "c")
    assert got.X.tolist() == [[1.2, 3], [7.5, 8]]
    assert [row.line for row in got.failed] == [4]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1252"])
def test_the_encoding_and_the_columns_of_finding_and_patient_can_be_set(encoding):
    data = "wer,typ,größe,zähler\nP1,gutartig,1.5,4\nP2,bösartig,2.5,5\n".encode(encoding)
    settings = {"encoding": encoding, "finding": "Typ", "patient": "WER"}
    found = read_table(data, "t.csv", TableFormat.of(settings))
    assert found.findings == ["gutartig", "bösartig"]
    assert found.patient_ids == ["P1", "P2"]
    assert found.columns == ("größe", "zähler")
    recognised = read_table(data, "t.csv", TableFormat(finding="typ"))
    assert recognised.columns[-1] == "zähler"
    assert [("windows-1252" in note) for note in recognised.notes] == ([True] if encoding[0] == "w" else [])
    with pytest.raises(BadInput, match="no column 'none'") as error:
        read_table(data, "t.csv", TableFormat.of({**settings, "patient": "none"}))
    assert "wer, typ" in error.value.hint


def test_an_id_is_the_id_of_the_case_and_no_feature():
    found = table("id,a,label\n7,1.5,x\n8,2.5,y\n7,3.5,x\n,4.5,y\n")
    assert found.columns == ("a",)
    assert found.case_ids == ["7", "8", "7 row3", "row4"]
    settings = TableFormat.of({"case": "Nodule"})
    chosen = read_table(b"nodule,id,a,label\nN1,7,1.5,x\nN2,8,2.5,y\nN1,7,3.5,x\n", "t.csv", settings)
    assert chosen.case_ids == ["N1", "N2"]
    assert chosen.columns == ("a",)
    assert chosen.left_out[0][0] == "id"
    assert "N1" in str(chosen.failed[0].reason)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_preview_reads_the_start_of_a_long_table(encoding, monkeypatch):
    monkeypatch.setattr("semblance.core.library.importers.table._PREVIEW_BYTES", 1002)
    data = ("id,größe,label\n" + "".join(f"c{i},{i}.5,x\n" for i in range(500))).encode(encoding)
    form = TableFormat(encoding=encoding, finding="label")
    preview = preview_table(io.BytesIO(data), "t.csv", form, 3)
    assert preview.columns == ("id", "größe", "label")
    assert preview.uses == ("case", "number", "finding")
    assert preview.rows == tuple((f"c{i}", f"{i}.5", "x") for i in range(3))
    assert not preview.problem


def test_a_preview_says_why_a_table_would_be_refused():
    preview = preview_table(io.BytesIO(b"5,1,7\n4,2,7\n"), "t.csv", TableFormat(), 3)
    assert "may have no header row" in preview.problem
    assert preview.rows[0] == ("5", "1", "7")
    assert preview.uses == ()


def test_with_a_decimal_sign_set_the_other_one_fails_its_row_only():
    found = read_table(b"a;label\n1,5;x\n1.5;y\n2,5;y\n", "t.csv", TableFormat(decimal=","))
    assert found.X.tolist() == [[1.5], [2.5]]
    assert [row.line for row in found.failed] == [3]


def test_a_table_in_which_most_rows_are_damaged_reports_a_thousand_of_them_and_counts_the_others():
    found = table("a,label\n1,x\n" + "1\n" * 3000)
    assert len(found.failed) == 1001
    assert found.failed[-1].line == 3002
    assert "2,000 more rows" in found.failed[-1].reason


@pytest.mark.slow
def test_a_long_table_is_read_without_being_held():
    """200,000 cells are 60 bytes each as texts; what is held is a block of rows and the names of findings."""
    text = written([[i / 7, i / 3, i / 11, "ab"[i % 2]] for i in range(50_000)], ",", ".").encode()
    tracemalloc.start()
    try:
        rows = sum(len(block.X) for block in open_table(io.BytesIO(text), "t.csv").rows())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == 50_000
    assert peak < 8 << 20


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_rows_are_the_same_wherever_the_parts_of_a_file_end(line_break, monkeypatch):
    lines = ["a,site,label"]
    for row in range(60):
        site = {7: '"two' + line_break + 'lines"', 20: '"x""y"', 33: "'=1+1", 41: " é "}.get(row, "s")
        lines.append(f"{row / 4},{site},{'benign' if row % 2 else 'malignant'}")
    lines[13] += ",9"
    lines[25:25] = ["", ",,"]
    lines[50] = '1,"s"t,benign'
    data = line_break.join(lines).encode()
    whole = read_table(data, "t.csv")
    assert [one.line for one in whole.failed] == [15, 52]
    assert [whole.attributes["site"][place] for place in (7, 19, 32, 40)] == [
        f"two{line_break}lines",
        'x"y',
        "=1+1",
        "é",
    ]
    for characters in (1, 40, 333):
        monkeypatch.setattr(csv_text, "_CHARACTERS", characters)
        parts = read_table(data, "t.csv")
        assert (parts.X == whole.X).all()
        assert (parts.findings, parts.case_ids, parts.attributes, parts.failed) == (
            whole.findings,
            whole.case_ids,
            whole.attributes,
            whole.failed,
        )
