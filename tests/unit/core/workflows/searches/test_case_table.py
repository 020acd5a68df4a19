from __future__ import annotations

import pytest

from semblance.core.errors import BadInput
from semblance.core.library import catalogue
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.lesion_groups import add_detected
from semblance.core.library.library import Library
from semblance.core.library.records import DERIVED
from semblance.core.workflows.searches import case_table
from semblance.core.workflows.searches.case_table import CaseTable
from semblance.core.workflows.searches.derived_arrays import CASES_FILE
from tests.helpers.libraries import make_library


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setattr(case_table, "_FEWEST", 1)
    monkeypatch.setattr(catalogue, "_SETTLED_S", -1e9)
    with Library.open(make_library(tmp_path / "lib", cases=20)) as opened:
        yield opened


def facts(table: CaseTable) -> list[tuple[str, str | None, str | None, int]]:
    rows = table.rows.tolist()
    return [(table.id_of(r), table.finding_of(r), table.patient_of(r), table.lesion_of(r)) for r in rows]


def test_columns_that_were_kept_are_those_of_the_catalogue(library, monkeypatch):
    add_detected(library.catalogue, [(2, 7)])
    read = facts(CaseTable(library))
    assert [(r.case_id, r.finding, r.patient) for r in library.catalogue.all_cases()] == [r[:3] for r in read]
    assert [r[3] for r in read].count(read[1][3]) == 2
    monkeypatch.setattr(Catalogue, "read_columns", lambda *_: pytest.fail("read again"))
    assert facts(CaseTable(library)) == read


@pytest.mark.parametrize(
    "statement", ["UPDATE cases SET finding = 'other'", "DELETE FROM cases WHERE id = 3"]
)
def test_columns_of_an_earlier_catalogue_are_not_used(library, statement):
    before = facts(CaseTable(library))
    with library.catalogue.transaction() as connection:
        connection.exec_driver_sql(statement)
    after = facts(CaseTable(library))
    assert after != before
    assert [r[:3] for r in after] == [
        (r.case_id, r.finding, r.patient) for r in library.catalogue.all_cases()
    ]


def test_columns_are_not_kept_just_after_a_change(library, monkeypatch):
    monkeypatch.setattr(catalogue, "_SETTLED_S", 1e9)
    CaseTable(library)
    assert not (library.path / DERIVED / CASES_FILE).exists()


def test_damaged_columns_are_read_again(library):
    read, file = facts(CaseTable(library)), library.path / DERIVED / CASES_FILE
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 255
    file.write_bytes(bytes(data))
    assert facts(CaseTable(library)) == read
    file.write_bytes(b"")
    assert facts(CaseTable(library)) == read


def test_cases_that_were_looked_up_together_are_not_asked_for_again(library, monkeypatch):
    table = CaseTable(library)
    known = [case.case_id for case in library.catalogue.all_cases()]
    table.look_up([*known, "x/gone"])
    monkeypatch.setattr(Catalogue, "read", lambda *_: pytest.fail("asked again"))
    assert [table.id_of(table.row_of(case)) for case in known] == known
    with pytest.raises(BadInput, match="no case 'x/gone'"):
        table.row_of("x/gone")
