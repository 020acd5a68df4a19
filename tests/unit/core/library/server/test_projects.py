"""Projects are kept apart by the server: tried with plain SQL as a member, past the program."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import pytest

from semblance.app.cli.main import run
from semblance.core.errors import AccessRefused, SemblanceError
from semblance.core.library.location import local_folder, server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CaseRecord, FileRecord
from semblance.core.library.server import local_copy
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.local_copy import LocalCopy
from semblance.core.library.server.tables import project_schema
from semblance.core.workflows.library.audit_log import check_audit, list_audit
from semblance.core.workflows.library.connect_to_server import find_projects
from semblance.core.workflows.library.local_copies import remove_ended_copies, renew_copy
from semblance.core.workflows.maintenance.share_library import set_right
from semblance.core.workflows.maintenance.watch_library import WATCHING, library_changes
from tests.helpers.postgres_server import as_given
from tests.unit.core.library.server.test_people import INSERT, may

#: What identifies somebody in the library, in any column.
SECRETS = ("Doe^Jane", "/secret/folder", "1.2.840.9999", "jane_", "hash-of-")
CASES = 40


@pytest.fixture
def owner(database, monkeypatch, tmp_path):
    """The address of the account that makes the library."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return server_address(database)


@pytest.fixture
def library(owner, postgres):
    """The address of a curator; mia and max have no right in the library, rita reads it."""
    rng = np.random.default_rng(0)
    with ServerLibrary.create(owner) as made:
        source = made.catalogue.add_source("folder", "jane_source", Path("/secret/folder"))
        names = [f"jane_{number}.png" for number in range(CASES)]
        made.catalogue.put(
            source,
            [FileRecord(name, 1, 1, f"hash-of-{name}", "ok") for name in names],
            [
                CaseRecord(
                    f"jane_source/{name}",
                    name,
                    finding=("mass", "none")[number % 2],
                    patient=f"Doe^Jane {number // 4}",
                    attributes={
                        "modality": "MG",
                        "view": "CC",
                        "study": f"1.2.840.9999.{number // 4}",
                        "date": "2020-05-17",
                        "study_description": "Follow-up of Doe^Jane",
                    },
                    content=f"hash-of-{number}",
                    width=8,
                    height=8,
                )
                for number, name in enumerate(names)
            ],
        )
        made.thumbnails.put((f"hash-of-{number}", bytes([number])) for number in range(CASES))
        features = made.features.make("f", "raw", 1, {}, [(f"f{i}", "g") for i in range(4)], dtype="float32")
        rows = made.catalogue.case_rows()
        values = rng.normal(size=(CASES, 4)).astype(np.float32)
        values[np.arange(CASES) % 2 == 0, 0] += 4
        made.features.write_chunk(features, rows, values)
        write_places(made, coding=1)
    assert run(["train", as_given(owner), "--learner", "euclidean", "--name", "plain"]) == 0
    set_right(owner, "carl", "curator", "pw")
    set_right(owner, "rita", "reader", "pw")
    for name in ("mia", "max", "stranger"):
        postgres.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'pw'")
    return server_address(postgres.address("library", "carl", "pw"))


@pytest.fixture
def project(library, capsys):
    """Two projects, of the same cases of two patients; mia annotates one, max reads both."""
    for name, people in (("one", (("mia", "annotator"), ("max", "reader"))), ("two", (("max", "reader"),))):
        cli(capsys, "create", library, name, "--purpose", "a study", "--until", "2999-12-31")
        cli(capsys, "add", library, name, "--patient", "Doe^Jane 0", "--patient", "Doe^Jane 1")
        for person, right in people:
            cli(capsys, "add", library, name, "--person", person, "--right", right)
    return library


def write_places(library, coding: int) -> None:
    """Four packed bytes of each case, its number times the coding and three less."""
    features = library.features
    whole = features.get("f")
    places = features.make_part(whole, "places", {"row_bytes": 4, "coding": coding}, dtype="int8")
    if places.settings["coding"] != coding:
        places = features.recode(places, {"coding": coding})
    rows = library.catalogue.case_rows()
    codes = (coding * rows[:, np.newaxis] - np.arange(4)).astype(np.int8)
    assert features.write_chunk(places, rows, codes) == len(rows)


def cli(capsys, command: str, *arguments: object):
    capsys.readouterr()
    assert run(["library", "project", command, *map(as_given, arguments), "--json"]) == 0, (
        capsys.readouterr().err
    )
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def connect(postgres):
    @contextlib.contextmanager
    def connected(name: str, project: str):
        options = f"-c search_path={project_schema(project)},public"
        with psycopg.connect(
            postgres.address("library", name, "pw"), autocommit=True, options=options
        ) as connection:
            yield connection

    return connected


def everything(connection, project: str) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables and views of a project."""
    names = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'v') "
        "AND relname NOT IN ('locks', 'reader_accounts')",
        (project_schema(project),),
    ).fetchall()
    return {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in names}


def texts(rows) -> set[str]:
    """All texts in rows, also within JSON."""
    found: set[str] = set()
    for row in rows:
        for value in row:
            if isinstance(value, str):
                found.add(value)
                if value.startswith(("{", "[")):
                    found.update(map(str, json.loads(value)))
                    if value.startswith("{"):
                        found.update(map(str, json.loads(value).values()))
    return found


def test_a_member_sees_only_the_cases_of_the_project_and_nothing_that_identifies(project, connect):
    with connect("mia", "one") as mia:
        tables = everything(mia, "one")
        assert len(tables["cases"]) == len(tables["thumbnails"]) == 8
        assert len(tables["metrics"]) == 1
        for name, rows in tables.items():
            for secret in SECRETS:
                assert secret not in repr(rows), name
        for table in ("cases", "projects", "project_cases", "project_members", "meta", "stored_files"):
            assert not may(mia, f"SELECT * FROM semblance.{table}"), table
        assert not may(mia, "SELECT * FROM semblance_audit.audit_log")
    with connect("stranger", "two") as other:
        assert not may(other, f"SELECT * FROM {project_schema('two')}.cases")
        assert not may(other, "SELECT * FROM semblance_projects.mine()")
    for name in ("rita", "mia"):
        with connect(name, "two") as other:
            assert all(
                not rows for table, rows in everything(other, "two").items() if table != "alembic_version"
            )
            assert not other.execute("SELECT * FROM semblance_projects.mine() WHERE name = 'two'").fetchall()
    with connect("rita", "one") as rita:
        assert may(rita, "SELECT * FROM semblance.cases")
        assert not may(rita, "SELECT * FROM semblance.project_cases") and not may(
            rita, "SELECT key FROM semblance.projects"
        )


def test_two_projects_have_no_name_in_common_and_only_curators_link_them(project, connect, capsys):
    seen = []
    with connect("max", "one") as one, connect("max", "two") as two:
        for connection in (one, two):
            rows = connection.execute(
                "SELECT c.case_id, c.patient, c.content, f.path, f.hash, c.attributes::json->>'study', t.content "
                "FROM cases c JOIN files f ON f.id = c.file JOIN thumbnails t ON t.content = c.content"
            ).fetchall()
            assert len(rows) == 8
            seen.append(texts(rows))
    assert len(seen[0]) == 8 * 2 + 2 + 2 and not seen[0] & seen[1]
    links = [cli(capsys, "links", project, name) for name in ("one", "two")]
    assert (
        sorted(links[0].values())
        == sorted(links[1].values())
        == [f"jane_source/jane_{i}.png" for i in range(8)]
    )
    # The numbers of rows are no key either: their order is random.
    with connect("max", "one") as one, connect("max", "two") as two:
        orders = [
            [links[n][i] for (i,) in connection.execute("SELECT case_id FROM cases ORDER BY id")]
            for n, connection in enumerate((one, two))
        ]
    assert orders[0] != orders[1] or orders[0] != sorted(orders[0])


def test_places_come_with_the_features_and_follow_another_coding(project, postgres, capsys):
    member = server_address(postgres.address("library", "max", "pw") + "?project=one")
    for coding in (1, 3):
        if coding > 1:
            with open_library(project, writable=True) as opened:
                write_places(opened, coding)
            cli(capsys, "add", project, "one", "--patient", "Doe^Jane 1")
        links = cli(capsys, "links", project, "one")
        with open_library(project) as opened:
            numbers = opened.catalogue.rows_of(sorted(links.values()))
        with open_library(member) as opened:
            features = opened.features
            places = features.part(features.get(None), "places")
            assert (places.settings["coding"], places.name) == (coding, "f places")
            ids, codes = features.read(places)
            cases = opened.catalogue.details(ids.tolist())
        first = [coding * numbers[links[cases[row].case_id]] for row in ids.tolist()]
        assert codes.tolist() == [[one, one - 1, one - 2, one - 3] for one in first]
        assert len(ids) == 8


def test_members_write_what_their_right_allows(project, connect):
    with connect("mia", "one") as mia:
        mia.execute(INSERT.format("forged"))
        assert mia.execute("SELECT author FROM judgements").fetchall() == [("mia",)]


def test_the_program_works_in_a_project_and_the_log_names_it(project, postgres, capsys):
    mia = server_address(postgres.address("library", "mia", "pw") + "?project=one")
    assert [(one.name, one.right) for one in find_projects(mia, "pw")] == [("one", "annotator")]
    with open_library(mia) as opened:
        assert opened.name == "library · one" and opened.writable and opened.right == "annotator"
        case = opened.catalogue.all_cases()[0]
        concept = opened.concepts.add("round", "x")
        opened.concepts.mark(concept, [(case.case_id, True)])
    capsys.readouterr()
    assert run(["search", as_given(mia), "--case", case.case_id, "--json"]) == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    # All of the other patient in the project, and nobody else.
    assert len(found["results"]) == 4
    assert all(one["case_id"].startswith("case-") for one in found["results"])
    maximum = server_address(postgres.address("library", "max", "pw") + "?project=one")
    with open_library(maximum) as opened:
        assert not opened.writable and opened.right == "reader"
    noted = [
        (entry["by"], entry["action"])
        for entry in list_audit(project)
        if entry["detail"].get("project") == "one"
    ]
    assert {("mia", "search"), ("mia", "change"), ("carl", "project")} <= set(noted)
    assert check_audit(project).problems == ()
    with pytest.raises(SemblanceError, match="library"):
        check_audit(mia)


def test_an_expired_a_closed_and_an_unknown_project_are_refused_in_words(project, postgres, connect, capsys):
    mia = postgres.address("library", "mia", "pw")
    with pytest.raises(AccessRefused, match="no project 'two'"):
        open_library(server_address(f"{mia}?project=two"))
    with pytest.raises(AccessRefused, match="no project 'other'"):
        open_library(server_address(f"{mia}?project=other"))
    postgres.execute("UPDATE semblance.projects SET until = '2020-01-31' WHERE name = 'one'", "library")
    with pytest.raises(AccessRefused, match="ended on 2020-01-31"):
        open_library(server_address(f"{mia}?project=one"))
    with connect("mia", "one") as past:
        assert past.execute("SELECT * FROM cases").fetchall() == []
    assert find_projects(server_address(mia), "pw") == []
    assert cli(capsys, "list", project)[0]["state"] == "expired"
    cli(capsys, "create", project, "one", "--purpose", "longer", "--until", "2999-12-31")
    with open_library(server_address(f"{mia}?project=one")) as opened:
        assert len(opened.catalogue.all_cases()) == 8
    cli(capsys, "close", project, "one")
    with pytest.raises(AccessRefused, match="is closed"):
        open_library(server_address(f"{mia}?project=one"))
    with connect("mia", "one") as past:
        assert past.execute("SELECT * FROM cases").fetchall() == []
    cli(capsys, "close", project, "one", "--remove")
    assert [one["name"] for one in cli(capsys, "list", project)] == ["two"]
    assert check_audit(project).problems == ()


def test_cases_and_people_are_taken_out_with_all_that_mentions_them(project, postgres, connect, capsys):
    links = cli(capsys, "links", project, "one")
    name = next(pseudonym for pseudonym, case in links.items() if case == "jane_source/jane_0.png")
    with connect("mia", "one") as mia:
        mia.execute(INSERT.format("x").replace("'c'", f"'{name}'"))
    document = cli(capsys, "remove", project, "one", "--case", "jane_source/jane_0.png", "--person", "max")
    assert document["cases"] == 7 and [one["name"] for one in document["members"]] == ["mia"]
    with connect("mia", "one") as mia:
        assert name not in repr(everything(mia, "one"))
        assert len(mia.execute("SELECT * FROM thumbnails").fetchall()) == 7
    with connect("max", "one") as past:
        assert past.execute("SELECT * FROM cases").fetchall() == []
    # Added again, it has the name that it had.
    cli(capsys, "add", project, "one", "--case", "jane_source/jane_0.png")
    assert cli(capsys, "links", project, "one") == links


#: Whether the last day of a copy has passed, on the day after that of the project.
ENDED = property(lambda facts: facts.until == "2999-12-31")


@pytest.fixture
def copy(project, postgres):
    """The address of mia's project, of which her computer has a copy."""
    mia = server_address(postgres.address("library", "mia", "pw") + "?project=one")
    assert renew_copy(mia).all_thumbnails == 8
    return mia


def test_the_copy_of_a_project_is_read_until_its_last_day_and_then_removed(copy, monkeypatch):
    copy = replace(copy, is_away=True)
    remove_ended_copies()
    with open_library(copy) as opened:
        assert isinstance(opened, LocalCopy) and opened.name == "library · one"
        assert len(opened.catalogue.all_cases()) == 8 and opened.is_still_at(copy)
    monkeypatch.setattr(local_copy.CopyFacts, "has_ended", ENDED)
    assert not opened.is_still_at(copy)
    with pytest.raises(AccessRefused, match="ended on 2999-12-31"):
        open_library(copy)
    assert not local_folder(copy).exists()


def test_copies_of_ended_projects_are_removed_unopened(copy, monkeypatch):
    monkeypatch.setattr(local_copy.CopyFacts, "has_ended", ENDED)
    remove_ended_copies()
    assert not local_folder(copy).exists()


@pytest.mark.parametrize("how", ["removed", "ended", "closed"])
def test_whoever_loses_a_project_loses_the_copy_and_what_is_open(project, copy, postgres, capsys, how):
    def lose() -> None:
        if how == "removed":
            cli(capsys, "remove", project, "one", "--person", "mia")
        elif how == "closed":
            cli(capsys, "close", project, "one")
        else:
            past = "UPDATE semblance.projects SET until = '2020-01-31' WHERE name = 'one'"
            postgres.execute(past, "library")

    with open_library(copy) as opened:
        events = library_changes(copy)
        assert next(events).kind == WATCHING
        lose()
        # The server says so at once, without being asked.
        with pytest.raises(AccessRefused):
            next(events)
        assert not local_folder(copy).exists()
        with pytest.raises(AccessRefused):
            opened.catalogue.stamp()
    with pytest.raises(AccessRefused):
        renew_copy(copy)
    assert not local_folder(copy).exists()
