"""Rights are enforced by the server: tried with plain SQL as each role, past the program."""

from __future__ import annotations

import io
import json

import psycopg
import pytest

from semblance.app.cli.main import run
from semblance.core.errors import SemblanceError
from semblance.core.library.location import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.reader_studies import ReaderStudyTable
from semblance.core.library.records import JudgementRecord
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import SCHEMA
from semblance.core.workflows.library.audit_log import check_audit, list_audit
from semblance.core.workflows.maintenance.share_library import list_people, set_right
from tests.helpers.postgres_server import as_given
from tests.unit.core.library.server.test_server_library import HOSTILE


@pytest.fixture
def library(library_of_people):
    """The address with the account that makes the library."""
    return library_of_people


@pytest.fixture
def connect(connect_as):
    return connect_as


def may(connection, statement: str) -> bool:
    try:
        with connection.transaction():
            connection.execute(statement)
            raise psycopg.Rollback
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


INSERT = (
    'INSERT INTO judgements (ledger, kind, query, "case", shown, author, time) '
    "VALUES ('l', 'k', 'q', 'c', '[]', '{}', 't')"
)


def test_rows_belong_to_their_author_whatever_a_client_says(connect):
    with connect("anna") as anna, connect("anton") as anton, connect("carl") as carl:
        anna.execute(INSERT.format("somebody else"))
        (row,) = anton.execute("SELECT id, author FROM judgements").fetchall()
        assert row[1] == "anna"
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            anton.execute("UPDATE judgements SET undone = 0")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            anton.execute("UPDATE judgements SET author = 'anton'")
        assert anton.execute("DELETE FROM judgements").rowcount == 0
        anna.execute("UPDATE judgements SET undone = 0")
        carl.execute("UPDATE judgements SET undone = 1")
        assert carl.execute("SELECT author, undone FROM judgements").fetchall() == [("anna", 1)]


def test_the_program_works_for_an_annotator_and_refuses_in_plain_words(library, postgres):
    anna, anton, rita = (
        server_address(postgres.address("library", n, "pw")) for n in ("anna", "anton", "rita")
    )
    mine = JudgementRecord("alike", "q", "c", None, None, (), "forged", "t")
    with open_library(anna) as one, open_library(anton) as other, open_library(rita) as third:
        assert one.writable and not third.writable and third.available_pseudonyms() is not None
        (key,) = one.judgements("l").append([mine])
        assert other.judgements("l").read()[0][1].author == "anna"
        with pytest.raises(SemblanceError, match="only change your own"):
            other.judgements("l").set_undone([(key, 0)])
        concept = one.concepts.add("c", "forged")
        one.concepts.mark(concept, [("s/a", True)], "forged")
        with pytest.raises(SemblanceError, match="s/a was marked by anna"):
            other.concepts.mark(concept, [("s/a", None)])
        other.concepts.mark(concept, [("s/a", False)])
        other.concepts.mark(concept, [("s/a", False)])
        assert [(m.has, m.author) for m in other.concepts.all()[0].marks] == [
            (True, "anna"),
            (False, "anton"),
        ]
        other.concepts.mark(concept, [("s/a", None)])
        assert [m.author for m in one.concepts.all()[0].marks] == ["anna"]
        with pytest.raises(SemblanceError, match="no right to do this"):
            one.set_current_metric("x") if one.metrics() else one.set_preparation({})
        with pytest.raises(SemblanceError, match="may only read"):
            third.save_search("s", {})
        third.log_event("view", {"case": "s/a"})
    assert {(e["by"], e["action"]) for e in list_audit(library)} >= {("anna", "change"), ("rita", "view")}
    assert check_audit(library).problems == ()


def test_reader_studies_are_made_by_curators_and_answered_by_annotators(library, postgres):
    answer = {"reader": "R1", "number": 0, "finding": "x", "confidence": 1, "seconds": 1.0, "time": "t"}
    rita, anna, carl = (
        server_address(postgres.address("library", name, "pw")) for name in ("rita", "anna", "carl")
    )
    with open_library(rita) as reader, open_library(anna) as annotator, open_library(carl) as curator:
        studies = [ReaderStudyTable(one.catalogue) for one in (reader, annotator, curator)]
        with pytest.raises(SemblanceError, match=r"You may only read the library .* Ask the administrator"):
            studies[0].add("pilot", {})
        with pytest.raises(SemblanceError, match=r"You have no right to do this .* Ask the administrator"):
            studies[1].add("pilot", {})
        studies[2].add("pilot", {})
        key = studies[0].get("pilot").id
        with pytest.raises(SemblanceError, match="You may only read the library"):
            studies[0].add_answer(key, answer)
        studies[1].add_answer(key, answer)
        with pytest.raises(SemblanceError, match="You have no right to do this"):
            studies[1].delete("pilot")
        assert len(studies[2].answers(key)) == 1
        studies[2].delete("pilot")
        assert studies[0].all() == ()


def test_an_administrator_who_is_not_the_owner_gives_rights(library, postgres, connect, capsys):
    postgres.execute("ALTER ROLE adam CREATEROLE")
    address = postgres.address("library", "adam", "pw")
    with connect("owner") as owner:
        owner.execute("GRANT library_reader, library_annotator TO adam WITH ADMIN TRUE")
    assert run(["library", "grant", address, "stranger", "annotator", "--json"]) == 0
    assert {"name": "stranger", "right": "annotator"} in json.loads(capsys.readouterr().out)
    assert run(["library", "grant", address, "stranger", "none"]) == 0
    assert "stranger" not in capsys.readouterr().out
    # The owner gave this right.
    assert run(["library", "grant", address, "rita", "none"]) == 1
    assert "no right to do this" in capsys.readouterr().err
    assert run(["library", "grant", as_given(library), "rita", "none"]) == 0
    assert "rita" not in capsys.readouterr().out


def test_wrong_names_and_rights_are_refused(library, capsys, monkeypatch):
    for arguments, says in (
        (("nobody", "reader"), "no account 'nobody'"),
        (("rita", "king"), "no right 'king'"),
        (("library_curator", "reader"), "not the name of a person"),
        (("rita", "reader", "--create"), "account 'rita' already"),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO("pw\n"))
        assert run(["library", "grant", as_given(library), *arguments]) == 2
        assert says in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name in HOSTILE if len(name.encode()) < 64])
def test_hostile_names_of_people_are_names(library, postgres, name):
    set_right(library, name, "annotator", "p'w\\; --")
    assert {"name": name, "right": "annotator"} in list_people(library)
    with psycopg.connect(
        postgres.address("library"), user=name, password="p'w\\; --", options=f"-c search_path={SCHEMA}"
    ) as connection:
        connection.execute(INSERT.format("x"))
        assert connection.execute("SELECT author FROM judgements").fetchone() == (name,)
    with ServerLibrary.open(library) as opened:
        assert len(opened.catalogue.all_cases()) == 3
    assert check_audit(library).problems == ()
    set_right(library, name, "none")
    assert name not in [one["name"] for one in list_people(library)]
