from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from semblance.core.library.case_columns import (
    NO_FINDING,
    CaseColumns,
    case_columns,
    file_stems,
    no_cases,
    short_codes,
)
from semblance.core.library.findings import finding_letters
from semblance.core.library.packed_texts import PackedTexts


@pytest.fixture
def columns() -> CaseColumns:
    return case_columns(
        [2, 3, 5, 7, 11],
        ["IM 10", "IM 2", "Ünal", "im 1", "x"],
        ["benign", "malignant", None, "benign", "normal"],
        ["P2", "P10", "P2", None, "P1"],
        [0, 1, 0, 0, 2],
    )


def ids(columns: CaseColumns, rows: np.ndarray) -> list[str]:
    return [columns.ids[row] for row in rows]


def test_libraries_of_the_same_findings_order_them_alike() -> None:
    names = ["grade 10", "zebra", "Normal", "Benign", "grade 2", "cancer", "adenoma"]
    expected = ("cancer", "Benign", "Normal", "adenoma", "grade 2", "grade 10", "zebra")
    for come in (names, names[::-1]):
        made = case_columns(range(7), come, come, [None] * 7, [0] * 7)
        assert made.findings == expected
        assert [made.finding_name(place) for place in range(7)] == come


def test_malignant_comes_first(columns: CaseColumns) -> None:
    assert columns.findings == ("malignant", "benign", "normal")
    assert columns.finding.tolist() == [1, 0, NO_FINDING, 1, 2]
    assert columns.finding_name(0) == "benign"
    assert columns.finding_name(2) is None


def test_cases_without_a_finding_are_counted_last(columns: CaseColumns) -> None:
    assert columns.finding_counts.tolist() == [1, 2, 1, 1]


def test_patients_count_as_known_only_if_every_case_has_one(columns: CaseColumns) -> None:
    assert not columns.patients_known
    assert columns.patient_name(3) is None
    assert case_columns([1], ["a"], [None], ["P"], [0]).patients_known


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["IM 10", "IM 2", "Ünal", "im 1", "x"]),
        ("im", ["IM 10", "IM 2", "im 1"]),
        ("ÜNAL", ["Ünal"]),
        ("p2", ["IM 10", "Ünal"]),
        ("malig", ["IM 2"]),
        ("im benign", ["IM 10", "im 1"]),
        ("im 1 benign", ["IM 10", "im 1"]),
        ("nothing like it", []),
        ("a word far longer than all the text there is " * 9, []),
    ],
)
def test_text_finds_ids_patients_and_findings(columns: CaseColumns, text: str, expected: list[str]) -> None:
    assert ids(columns, columns.filtered(text=text)) == expected


def test_a_word_never_runs_from_one_case_into_the_next() -> None:
    columns = case_columns([1, 2], ["ab", "cd"], [None, None], [None, None], [0, 0])
    assert not columns.filtered(text="bc").size


def test_a_case_keeps_its_name_when_later_cases_have_a_file_of_that_name() -> None:
    ids = ["s/a/001.png", "s/mdb5.pgm", "s/v1.2", "s/mdb5.pgm#2", "s/b/001.png", "s/plain", "s/b.x/001.png"]
    names = ["001", "mdb5", "v1", "mdb5#2", "b/001.png", "plain", "b.x/001.png"]
    for count in range(1, len(ids) + 1):
        made = case_columns(range(count), ids[:count], [None] * count, [None] * count, [0] * count)
        assert [made.name(index) for index in range(count)] == names[:count]


def test_findings_filter_by_code_and_by_name(columns: CaseColumns) -> None:
    assert ids(columns, columns.filtered({0, NO_FINDING})) == ["IM 2", "Ünal"]
    assert ids(columns, columns.filtered(columns.codes({"normal", None, "gone"}))) == ["Ünal", "x"]
    assert not columns.filtered(set()).size


def test_ids_sort_as_people_read_them(columns: CaseColumns) -> None:
    assert ids(columns, columns.ordered_by_id()) == ["im 1", "IM 2", "IM 10", "x", "Ünal"]
    assert ids(columns, columns.ordered_by_id(np.array([4, 0]))) == ["IM 10", "x"]


def test_rows_and_ids_lead_back(columns: CaseColumns) -> None:
    assert [columns.index_of_row(row) for row in (2, 11, 4, 99)] == [0, 4, -1, -1]
    assert columns.index_of_id("Ünal") == 2
    assert columns.index_of_id("no") == -1
    rows = [columns.row_of_id(case) for case in ("Ünal", "no", "", None)]
    assert rows == [columns.case_row[2], -1, -1, -1]
    assert [columns.name_of_id(case) for case in ("Ünal", "no")] == [columns.name(2), "no"]


def test_an_empty_library_answers_too() -> None:
    empty = no_cases()
    assert len(empty) == 0
    assert not empty.filtered(text="x").size
    assert not empty.ordered_by_id().size
    assert empty.finding_counts.tolist() == [0]
    assert not empty.patients_known
    assert empty.index_of_row(1) == -1


def test_a_worker_can_send_it(columns: CaseColumns) -> None:
    sent = pickle.loads(pickle.dumps(columns))
    assert sent.ids == columns.ids
    assert sent.filtered(text="p2").tolist() == columns.filtered(text="p2").tolist()


def test_letters_are_the_names_own_where_free() -> None:
    names = ["malignant", "benign", "normal", "cyst", "mass", "benign"]
    assert "".join(finding_letters(names).values()) == "MBNCA"


def test_letters_stay_different_however_many() -> None:
    names = [f"polyp {number}" for number in range(200)] + ["", "???", "ß"]
    letters = finding_letters(names)
    assert len(set(letters.values())) == len(names)
    assert all(letters.values())


@pytest.mark.parametrize("given", [[2, 5, 9], [4, 5, 6]], ids=["gaps", "no_gap"])
def test_many_rows_are_found_as_one_by_one(given):
    columns = case_columns(given, ["a", "b", "c"], [None] * 3, [None] * 3, [0] * 3)
    rows = np.array([9, 1, 2, 10, 5, 4, 6, 7, 3])
    found = [columns.index_of_row(int(row)) for row in rows]
    assert columns.indices_of_rows(rows).tolist() == found
    assert columns.ids_of_rows(rows) == [columns.ids[index] for index in found if index >= 0]
    assert no_cases().indices_of_rows(rows).tolist() == [-1] * len(rows)


def stem(case_id: str) -> str:
    file, mark, number = case_id.rpartition("/")[2].rpartition("#")
    name, end = (file, mark + number) if file and number.isdigit() else (file + mark + number, "")
    if len(name) > len(".nii.gz") and name.lower().endswith(".nii.gz"):
        return name[: -len(".nii.gz")] + end
    dot = name.rfind(".")
    return (name[:dot] if 0 < dot < len(name) - 1 else name) + end


@given(st.lists(st.text(alphabet="a/.#12ü\n", max_size=9), unique=True, max_size=20))
@example(["s/1.png", "s/2.png", "s/10.png"])
@example(["s/1.png", "s/1.dcm", "t/1.png", "t/2.png"])
@example(
    ["s/1.nii.gz", "s/1.NII.GZ#2", "s/.nii.gz", ".gz", "nii.gz", "s/1.nii", "s/1.xii.gz", "s/a.1.nii.gz"]
)
def test_a_stem_is_the_file_without_folders_and_ending_and_its_first_case_is_known(ids: list[str]) -> None:
    stems, is_first = file_stems(PackedTexts.of(ids))
    expected = [stem(case_id) for case_id in ids]
    assert (list(stems), len(stems)) == (expected, len(ids))
    assert is_first.tolist() == [expected.index(name) == place for place, name in enumerate(expected)]


def test_short_codes_are_as_short_as_they_can_be_and_different():
    for names, codes in (
        (["3ed03fdb", "98c1aa20"], ["3ed0", "98c1"]),
        (["3ed03fdb", "3ed1aa20", "98c1aa20"], ["3ed0", "3ed1", "98c1"]),
        (["P-3ed03fdb", "P-3e000000", "P-98c1aa2f"], ["3fdb", "0000", "aa2f"]),
        (["patient 0001", "patient 0002", "patient 0013"], ["0001", "0002", "0013"]),
        (["P1", "P10", "P100000", "P100001"], ["P1", "P10", "0000", "0001"]),
        (["Müller^Anna"], ["Müll"]),
        ([], []),
    ):
        assert short_codes(names) == codes, names


@given(st.lists(st.text(max_size=8), unique=True, max_size=30))
def test_short_codes_of_any_names_are_those_found_one_by_one(names):
    def starts(names):
        return [
            next((one[:n] for n in range(4, len(one)) if sum(o.startswith(one[:n]) for o in names) == 1), one)
            for one in names
        ]

    ends = [code[::-1] for code in starts([name[::-1] for name in names])]
    codes = short_codes(names)
    assert codes == min(starts(names), ends, key=lambda codes: sum(map(len, codes)))
    assert len(set(codes)) == len(names)
