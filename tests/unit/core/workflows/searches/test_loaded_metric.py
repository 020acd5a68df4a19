"""The cache of loaded metrics is bounded, and emptied when a library changes or is closed."""

from __future__ import annotations

import gc
import shutil
import weakref

import pytest

from semblance.core.errors import BadInput
from semblance.core.library import catalogue
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.lesion_groups import add_detected
from semblance.core.library.library import Library
from semblance.core.library.records import DERIVED
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.derived_arrays import CASES_FILE
from semblance.core.workflows.library.close_library import close_library
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import loaded_metric
from semblance.core.workflows.searches import loaded_metric as loaded_metric_module
from semblance.core.workflows.searches import open_metrics as open_metrics_module
from semblance.core.workflows.searches.explain_distance import explain_distance, most_different_groups
from semblance.core.workflows.searches.feedback.refinement_session import open_refinement
from semblance.core.workflows.searches.loaded_metric import CaseTable
from semblance.core.workflows.searches.open_metrics import open_metric
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.libraries import make_library
from tests.helpers.tables import table_library

BLIND = ("f0",)


@pytest.fixture
def table(tmp_path):
    library = table_library(tmp_path, n=60)
    for name in ("plain", "other"):
        train_metric(library, TrainRequest("euclidean", name, steps="standardise,pca:3"))
    return library


def use(library, metric="plain"):
    """Everything that keeps something."""
    request = Search(metric, Query("t/c0"), "ledger")
    rank_cases(library, request)
    most_different_groups(library, request, ["t/c4", "t/c5"])
    rank_cases(library, Search(metric, Query("t/c0"), "ledger", without=BLIND))
    explain_distance(library, Search(metric, Query("t/c0"), "ledger", without=BLIND), "t/c4")
    open_refinement(library, metric)
    open_refinement(library, metric, without=BLIND)


def test_a_library_that_changed_leaves_nothing_behind(table):
    use(table)
    whole, blind = open_metric(table, "plain"), open_metric(table, "plain", without=BLIND)
    gone = [weakref.ref(one) for one in (whole, blind, open_refinement(table, "plain"))]
    del whole, blind
    train_metric(table, TrainRequest("euclidean", "third"))
    use(table)
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3


def test_a_library_that_was_closed_leaves_nothing_behind(table, tmp_path):
    other = tmp_path / "Other.semblance"
    shutil.copytree(table, other)
    use(table)
    use(other)
    gone, stays = weakref.ref(open_metric(table, "plain")), open_metric(other, "plain")
    close_library(table)
    gc.collect()
    assert gone() is None
    assert open_metric(other, "plain") is stays
    close_library()
    assert not open_metrics_module._open_metrics


def test_beyond_some_bytes_only_the_loaded_metric_in_use_keeps_what_is_made_again(table, monkeypatch):
    use(table, "other")
    use(table, "plain")
    older, newer = open_metric(table, "other"), open_metric(table, "plain")
    assert older.transformed.nbytes > 0
    assert older.cache
    before = rank_cases(table, Search("other", Query("t/c0"), without=BLIND)).result.ranked
    assert open_metric(table, "plain") is newer
    monkeypatch.setattr(open_metrics_module, "MEMORY_BYTES", older.embedding.nbytes + newer.nbytes)
    assert open_metric(table, "plain") is newer
    assert older.transformed.nbytes == 0
    assert not older.cache
    assert newer.transformed.nbytes > 0
    assert newer.cache
    assert open_metric(table, "other") is older
    assert rank_cases(table, Search("other", Query("t/c0"), without=BLIND)).result.ranked == before


def test_large_loaded_metrics_without_groups_are_cached_one_at_a_time(table, monkeypatch):
    whole = open_metric(table, "plain")
    first, second = (open_metric(table, "plain", without=groups) for groups in (BLIND, ("f1",)))
    assert open_metric(table, "plain", without=BLIND) is first
    monkeypatch.setattr(loaded_metric_module, "SMALL_BYTES", first.nbytes)
    assert open_metric(table, "plain", without=("f1",)) is second
    assert list(whole._reduced) == [frozenset({"f1"})]


def test_only_so_many_ledgers_are_cached(table, monkeypatch):
    monkeypatch.setattr(loaded_metric_module, "MAX_LEDGERS", 2)
    loaded = open_metric(table, "plain")
    ledgers = [loaded.ledger(name) for name in ("a", "b", "a", "c")]
    assert ledgers[0] is ledgers[2]
    assert list(loaded._ledgers) == ["a", "c"]


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setattr(loaded_metric, "_FEWEST", 1)
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
    assert not (library.location / DERIVED / CASES_FILE).exists()


def test_damaged_columns_are_read_again(library):
    read, file = facts(CaseTable(library)), library.location / DERIVED / CASES_FILE
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
