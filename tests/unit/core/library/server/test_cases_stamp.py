"""A loaded metric on a server is loaded again after changes of cases, features and metrics, not after others' marks."""

from __future__ import annotations

from dataclasses import replace as replaced

import psycopg
import pytest

from semblance.core.library.lesion_group_rows import BY_HAND
from semblance.core.library.location import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.records import JudgementRecord
from semblance.core.library.schema import NEW_TABLES
from semblance.core.library.schema import tables as catalogue_tables
from semblance.core.library.server.tables import SCHEMA
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.feedback.ledger import Ledger
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.edit_cases import remove_cases, set_finding, set_patient
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.metrics.vault import seal_share
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements
from semblance.core.workflows.searches.index_candidates import index_candidates
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.tables import PLAIN, write_table

#: Tables that no loaded metric is made of. A new table belongs here only if that is true of it.
NOT_SEARCHED = {"judgements", "concepts", "concept_marks", "searches", "reader_studies", "reader_answers"} | {
    table.name for table in NEW_TABLES
}
ALIKE = JudgementRecord("alike", "t/c0", "t/c9", None, None, (), "anna", "t")


@pytest.fixture
def library(postgres, database, tmp_path):
    """The address of a library of 60 rows with features and a metric."""
    address = server_address(database)
    import_source(write_table(tmp_path / "t.csv"), address)
    extract_features(address, "raw")
    train_metric(address, PLAIN)
    yield address
    close_loaded_metrics()


@pytest.fixture
def sql(library, postgres):
    """A connection beside the program."""
    options = f"-c search_path={SCHEMA},public"
    with psycopg.connect(postgres.address("library"), options=options, autocommit=True) as connection:
        yield connection


@pytest.fixture
def stamp(library):
    """Reads the stamp of cases."""
    with open_library(library) as opened:
        yield lambda: opened.catalogue.cases_stamp(opened.catalogue.stamp())


def test_every_statement_on_what_searches_are_computed_from_changes_the_stamp(sql, stamp):
    statements = ("INSERT INTO {0} SELECT * FROM {0} WHERE false", "UPDATE {0} SET {1} = {1} WHERE false",
                  "DELETE FROM {0} WHERE false", "TRUNCATE {0} CASCADE")  # fmt: skip
    for statement in statements:
        for name, table in catalogue_tables.tables.items():
            if "TRUNCATE" in statement and name in NOT_SEARCHED:
                continue
            before = stamp()
            sql.execute(statement.format(name, f'"{next(iter(table.columns)).name}"'))
            assert (stamp() == before) == (name in NOT_SEARCHED), (name, statement)


def test_a_transaction_changes_the_stamp_when_it_ends_and_only_if_something_is_left_of_it(sql, stamp):
    before = stamp()
    with sql.transaction():
        sql.execute("UPDATE cases SET finding = 'x'")
        assert stamp() == before
        raise psycopg.Rollback
    assert stamp() == before
    with sql.transaction():
        with sql.transaction():
            sql.execute("UPDATE cases SET finding = 'x'")
            raise psycopg.Rollback
        sql.execute("UPDATE metrics SET name = 'y'")
    assert stamp() != before
    before = stamp()
    with sql.transaction():
        sql.execute("UPDATE cases SET finding = 'x'")
        sql.execute("UPDATE cases SET finding = 'y'")
    assert stamp() != before


def test_changes_of_others_load_a_metric_again(library, tmp_path):
    def add() -> None:
        import_source(write_table(tmp_path / "t.csv", n=64), library)

    def group() -> None:
        with open_library(library) as other, other.catalogue.transaction() as connection:
            connection.exec_driver_sql(
                'INSERT INTO lesion_groups ("case", "group", source) SELECT id, 1, %s FROM cases LIMIT 2',
                (BY_HAND,),
            )

    def prevalences() -> None:
        with open_library(library) as other:
            other.set_prevalences({"kind 0": 0.5, "kind 1": 0.5})

    loaded = open_metric(library, "plain")
    for change in (
        lambda: set_finding(library, ["t/c0"], "other"),
        lambda: set_patient(library, ["t/c0"], "P9"),
        add,
        lambda: extract_features(library, "raw"),
        group,
        prevalences,
        lambda: train_metric(library, TrainRequest("euclidean", "second")),
        lambda: remove_cases(library, ["t/c1"]),
        lambda: seal_share(library, 0.2),
        lambda: index_candidates(library, ("plain",), fewest=10),
        # Nothing but the index.
        lambda: index_candidates(library, ("plain",)),
    ):
        change()
        earlier, loaded = loaded, open_metric(library, "plain")
        assert loaded is not earlier


def test_marks_notes_and_searches_of_others_are_seen_without_loading_a_metric_again(library, monkeypatch):
    search = Search("plain", Query("t/c0"), "shared")
    ranked = rank_cases(library, search)
    assert not ranked.entries
    loaded = open_metric(library, "plain")
    with open_library(library) as other:
        other.judgements("shared").append([ALIKE])
        key = other.concepts.add("round", "anna")
        other.concepts.mark(key, [("t/c3", True)], "anna")
        other.save_search("follow up", {"note": "again in June"})
        other.thumbnails.put([("content", b"image")])
        other.log_event("search", {"case": "t/c0"})
    assert open_metric(library, "plain") is loaded
    (entry,) = rank_cases(library, search).entries
    assert (entry.judgement.case, entry.undone) == ("t/c9", None)
    with open_library(library) as other:
        other.judgements("shared").set_undone([(entry.id, 1)])
    (entry,) = rank_cases(library, search).entries
    assert entry.undone == 1
    replace = Ledger.replace

    def replace_after_another(ledger, *arguments):
        with open_library(library) as other:
            other.judgements("shared").append([replaced(ALIKE, case="t/c7")])
        return replace(ledger, *arguments)

    monkeypatch.setattr(Ledger, "replace", replace_after_another)
    marked = add_judgements(library, search, [Judgement(JudgementKind.ALIKE, "t/c0", "t/c8")])
    assert [entry.judgement.case for entry in marked.entries] == ["t/c9", "t/c7", "t/c8"]
    assert open_metric(library, "plain") is loaded


def test_own_marks_are_followed_up_to_the_first_change_of_another_program(library):
    with open_library(library) as one, open_library(library) as other:
        start = one.catalogue.stamp()
        one.catalogue.notes_own_changes(start)
        one.judgements("l").append([ALIKE])
        followed, is_all = one.catalogue.stamp_after_own_changes(start)
        assert followed == one.catalogue.stamp() != start
        assert is_all
        one.catalogue.notes_own_changes(followed)
        other.judgements("l").append([ALIKE])
        one.judgements("l").append([ALIKE])
        assert one.catalogue.stamp_after_own_changes(followed) == (followed, False)
        assert followed != one.catalogue.stamp()


def test_a_connection_in_use_is_asked_only_where_the_server_closed_it(library, sql):
    with open_library(library) as opened:
        opened.catalogue.stamp()
        asked = []
        do_ping = opened.catalogue.engine.dialect.do_ping
        opened.catalogue.engine.dialect.do_ping = lambda one: asked.append(one) or do_ping(one)
        before = opened.catalogue.stamp()
        assert not asked
        sql.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                    " AND backend_type = 'client backend'")  # fmt: skip
        assert opened.catalogue.stamp() == before
        assert len(asked) == 1
