"""What somebody with an account of the server tries, past the program, to get what they may not have."""

from __future__ import annotations

import contextlib
import json

import psycopg
import pytest

from semblance.app.cli.main import run
from semblance.core.errors import SemblanceError
from semblance.core.library.location import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.server.changes import ChangeListener
from semblance.core.library.server.embeddings import building
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import AUDIT_SCHEMA, project_schema
from semblance.core.workflows.library.audit_log import check_audit, list_audit
from semblance.core.workflows.maintenance.share_library import change_members, create_project, list_projects
from tests.helpers.postgres_server import MAKER, PASSWORD, as_given
from tests.unit.core.library.server.test_people import INSERT

REFUSED = psycopg.errors.InsufficientPrivilege
#: The number of the lock that made writers wait before, and that of a build.
LOCKS = (0x73656D626C616E63, 0x73656D626C696478)


@pytest.fixture
def library(library_of_people):
    """The address with the account that makes the library."""
    return library_of_people


@pytest.fixture
def connect(connect_as):
    return connect_as


EVENT = f"SELECT {AUDIT_SCHEMA}.audit_event(%s, 'search', %s)"


def refused(connection, *statements: str) -> None:
    for statement in statements:
        with pytest.raises(REFUSED), connection.transaction():
            connection.execute(statement)


def test_no_account_overloads_what_decides_on_rights(connect):
    for name in ("stranger", "rita", "anna", "carl", "adam"):
        with connect(name) as person:
            for schema in ("semblance", "semblance_projects", "public", "pg_temp"):
                refused(
                    person,
                    f"CREATE FUNCTION {schema}.pg_has_role(name, text, text) RETURNS boolean "
                    "LANGUAGE sql AS 'SELECT true'",
                    f"CREATE FUNCTION {schema}.has_right(unknown, unknown) RETURNS boolean "
                    "LANGUAGE sql AS 'SELECT true'",
                )
            person.execute("SET search_path = pg_temp, semblance, public, pg_catalog")
            refused(person, "CREATE TABLE pg_temp.library_roles (name text, role text)")


def test_no_trigger_of_the_log_hangs_on_a_table_of_ones_own(connect, library):
    before = list_audit(library)
    for name in ("rita", "anna", "carl", "adam"):
        with connect(name) as person:
            refused(
                person,
                "CREATE TEMPORARY TABLE cases (id integer)",
                f"CREATE TRIGGER forged AFTER TRUNCATE ON cases EXECUTE FUNCTION {AUDIT_SCHEMA}.count_change()",
                f"INSERT INTO {AUDIT_SCHEMA}.audit_pending VALUES ('1', 'semblance.cases', 'delete', 9)",
                f"INSERT INTO {AUDIT_SCHEMA}.audit_waiting (time, by, action, detail) VALUES ('', 'a', 'change', '')",
                f"SELECT {AUDIT_SCHEMA}.append('change', '{{}}'::jsonb)",
            )
            with pytest.raises(psycopg.errors.CheckViolation):
                person.execute(f"SELECT {AUDIT_SCHEMA}.audit_event('semblance', 'change', '{{}}')")
    assert list_audit(library) == before


def test_the_number_of_changes_only_grows_by_one(connect, library):
    with connect("anna") as anna, connect("rita") as rita:
        for person in (anna, rita):
            refused(
                person,
                "UPDATE library_state SET number = 9223372036854775807",
                "UPDATE library_state SET id = gen_random_uuid()",
            )
        refused(rita, "SELECT semblance_projects.note_change('semblance', false)")
        refused(anna, "SELECT semblance_projects.note_change('semblance', true)")
        ((number,),) = anna.execute("SELECT number FROM library_state").fetchall()
        anna.execute("SELECT semblance_projects.note_change('semblance', false)")
        assert anna.execute("SELECT number FROM library_state").fetchall() == [(number + 1,)]


def test_nobody_who_may_not_write_keeps_writers_and_builds_waiting(connect, library):
    with connect("stranger") as stranger, connect("rita") as rita:
        for number in LOCKS:
            stranger.execute("SELECT pg_advisory_lock(%s)", (number,))
        with rita.transaction():
            # A reader who lets the transaction open has the head of the log.
            rita.execute(EVENT, ("semblance", '{"query": "x"}'))
            refused(
                rita,
                "SELECT semblance_projects.take_turn('semblance')",
                "SELECT semblance_projects.start_build('semblance')",
                "LOCK TABLE cases IN SHARE MODE",
                "SELECT FROM library_state FOR UPDATE",
                "SELECT FROM locks FOR SHARE",
                f"SELECT FROM {AUDIT_SCHEMA}.audit_head FOR UPDATE",
            )
            with open_library(library, writable=True) as opened:
                opened.save_search("s", {})
                opened.log_event("view", {"case": "s/a"})
                with building(opened.catalogue):
                    pass
            waiting = [entry["action"] for entry in list_audit(library)]
            assert "view" not in waiting
    # What waited is in the log, in order.
    assert {"view", "search"} <= {entry["action"] for entry in list_audit(library)}
    assert check_audit(library).problems == ()


def test_annotators_change_no_thumbnail_and_no_log_of_exports(connect, library, postgres):
    with ServerLibrary.open(library, writable=True) as opened:
        opened.thumbnails.put([("a", b"image")])
    with connect("anna") as anna:
        refused(
            anna,
            "UPDATE thumbnails SET image = ''",
            "DELETE FROM thumbnails",
            "INSERT INTO thumbnails VALUES ('b', '')",
            "INSERT INTO outlines VALUES ('b', '')",
        )
    for name in ("carl", "adam"):
        with connect(name) as person:
            refused(
                person,
                "DELETE FROM export_log",
                "INSERT INTO export_log (line) VALUES ('{}')",
                "SELECT semblance_projects.add_exports(ARRAY['{}'])",
            )
    anna_there = server_address(postgres.address("library", "anna", "pw"))
    with open_library(anna_there) as opened:
        assert opened.thumbnails.get(["a"]) == {"a": b"image"}
        opened.thumbnails.put([("a", b"other")])
        assert opened.thumbnails.get(["a"]) == {"a": b"image"}


ANSWER = (
    "INSERT INTO reader_answers (study, reader, number, finding, confidence, seconds, time) "
    "VALUES ((SELECT max(id) FROM reader_studies), '{}', {}, 'x', 1, 1, 't')"
)


def test_nobody_answers_as_another_reader(connect):
    with connect("carl") as carl, connect("anna") as anna, connect("anton") as anton:
        carl.execute("INSERT INTO reader_studies (name, design, created) VALUES ('pilot', '{}', 't')")
        anna.execute(ANSWER.format("R1", 0))
        anna.execute(ANSWER.format("R1", 1))
        anna.execute(ANSWER.format("anna", 0))
        for person in (anton, carl):
            refused(person, ANSWER.format("R1", 2), ANSWER.format("anna", 1))
        refused(anton, ANSWER.format("carl", 0), "UPDATE reader_answers SET finding = 'y'")
        refused(carl, "UPDATE reader_answers SET finding = 'y'")
        anton.execute(ANSWER.format("R2", 0))
        carl.execute("DELETE FROM reader_answers")
        carl.execute("DELETE FROM reader_studies")


def test_no_administrator_disables_triggers_or_policies(connect):
    with connect("adam") as adam:
        for table in (
            "cases",
            "judgements",
            "meta",
            "projects",
            "library_state",
            f"{AUDIT_SCHEMA}.audit_log",
        ):
            refused(
                adam,
                f"ALTER TABLE {table} DISABLE TRIGGER ALL",
                f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
                f"DROP TABLE {table}",
                f"TRUNCATE {table}",
                f"CREATE TRIGGER mine AFTER UPDATE ON {table} EXECUTE FUNCTION suppress_redundant_updates_trigger()",
                f"CREATE RULE mine AS ON UPDATE TO {table} DO INSTEAD NOTHING",
                f"ALTER TABLE {table} ALTER COLUMN tableoid SET DEFAULT 1",
            )
        refused(
            adam,
            "DROP FUNCTION semblance_projects.write_author() CASCADE",
            "SET session_replication_role = replica",
        )
        adam.execute(INSERT.format("anna"))
        assert adam.execute("SELECT author FROM judgements").fetchall() == [("adam",)]


def test_nothing_that_anybody_wrote_runs_as_a_superuser_or_as_the_owner(connect, library, postgres):
    for name in ("anna", "carl", "adam"):
        with connect(name) as person:
            refused(
                person,
                "SET ROLE library_owner",
                "GRANT library_owner TO CURRENT_USER",
                "ALTER ROLE CURRENT_USER SUPERUSER",
                "CREATE FUNCTION semblance.f() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
                "CREATE FUNCTION public.f() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
            )
    owners = postgres.execute(
        "SELECT DISTINCT r.rolname, r.rolsuper, r.rolcanlogin, r.rolcreaterole FROM pg_proc p "
        "JOIN pg_roles r ON r.oid = p.proowner JOIN pg_namespace n ON n.oid = p.pronamespace "
        "WHERE n.nspname ~ '^semblance' ORDER BY 1",
        "library",
    )
    assert owners == [("library_audit", False, False, False), ("library_owner", False, False, False)]


def test_a_superuser_and_an_account_that_makes_no_roles_make_no_library(postgres):
    postgres.new_database("library")
    with pytest.raises(SemblanceError, match=r"superuser .* must not make a library.* CREATEROLE"):
        ServerLibrary.create(server_address(postgres.address("library")))
    postgres.execute(f"ALTER ROLE {MAKER} NOCREATEROLE")
    try:
        with pytest.raises(SemblanceError, match=f'ALTER ROLE "{MAKER}" CREATEROLE'):
            ServerLibrary.create(server_address(postgres.address("library", MAKER)))
    finally:
        postgres.execute(f"ALTER ROLE {MAKER} CREATEROLE")
    ServerLibrary.create(server_address(postgres.address("library", MAKER))).close()


#: Details of an event, and texts of JSON, that readers could not read.
HOSTILE_JSON = (
    "", "null", "[]", '"x"', "1", "{", '{"a": 1e100000}', '{"a": ' + "9" * 5_000 + "}", "{'a': 1}", '{"a": "\\x"}',
    '{"a":' * 2_000 + "1" + "}" * 2_000, '{"a": ' + "[" * 40_000 + "]" * 40_000 + "}", '{"a": "' + "x" * 200_000 + '"}',
    '{"a": "\\u0000"}', '{"a": NaN}',
)  # fmt: skip


def test_no_entry_stops_the_log_a_backup_or_a_move(connect, library, tmp_path, capsys):
    with connect("rita") as rita:
        for detail in HOSTILE_JSON:
            with pytest.raises(psycopg.Error):
                rita.execute(EVENT, ("semblance", detail))
        strange = {
            "a\nb": "\u202e",
            "project": "forged",
            "time": [1],
            "by": {"x": None},
            "": 1e200,
            "n": -0.0,
        }
        strange["deep"] = json.loads("[" * 50 + "]" * 50)
        rita.execute(f"SELECT {AUDIT_SCHEMA}.audit_event('semblance', 'export', %s)", (json.dumps(strange),))
    (entry,) = [one for one in list_audit(library) if one["action"] == "export"]
    assert entry["by"] == "rita" and "project" not in entry["detail"]
    for arguments in (
        ("audit-log", library, "--all"),
        ("audit-log", library),
        ("audit-log", library, "--verify"),
        ("backup", library, tmp_path / "b.zip"),
        ("library", "move", library, tmp_path / "m.semblance"),
    ):
        assert run([*map(as_given, arguments)]) == 0, capsys.readouterr().err


def test_entries_that_an_earlier_version_let_in_are_read_and_shown_as_damaged(
    library, postgres, tmp_path, capsys
):
    # As they are, past all checks.
    for number, detail in enumerate(
        ('{"a": ' + "9" * 5_000 + "}", "[" * 50_000 + "]" * 50_000, "[1]", "no"), start=900
    ):
        postgres.execute(
            f"INSERT INTO {AUDIT_SCHEMA}.audit_log VALUES ({number}, 't', 'rita', 'export', '{detail}', 'h')",
            "library",
        )
    assert [one["detail"] for one in list_audit(library)[-4:]] == [{"damaged": True}] * 4
    for arguments in (
        ("audit-log", library, "--all"),
        ("audit-log", library),
        ("backup", library, tmp_path / "b.zip"),
        ("library", "move", library, tmp_path / "m.semblance"),
    ):
        assert run([*map(as_given, arguments)]) == 0, capsys.readouterr().err
    create_project(library, "one", "trial", "2999-12-31")
    with open_library(library.with_project("one")) as opened:
        assert all(json.loads(one.detail)["project"] == "one" for one in opened.audit_entries(100))


def test_no_judgement_or_saved_search_holds_what_others_cannot_read(connect, library):
    judgement = INSERT.format("").replace("'[]'", "%s")
    search = "INSERT INTO searches (name, state, saved) VALUES ('s', %s, 't')"
    with connect("anna") as anna:
        for text in ("", "{", "no", "1", "null", '"x"', "[" * 50_000 + "]" * 50_000, "[" + "9" * 5_000 + "]"):
            for statement in (judgement, search):
                with pytest.raises(psycopg.Error):
                    anna.execute(statement, (text,))
        anna.execute(judgement, ('["s/a"]',))
        anna.execute(search, ('{"a": NaN, "b": [-Infinity, 1e300]}',))
    with open_library(library) as opened:
        assert len(opened.judgements("l").read()) == 1


def test_curators_move_no_project_to_another_place_and_extend_none_without_a_day(connect, library):
    create_project(library, "one", "trial", "2999-12-31")
    with connect("carl") as carl:
        refused(
            carl,
            "UPDATE projects SET place = 'semblance'",
            "UPDATE projects SET key = ''",
            "UPDATE projects SET by = 'anna'",
            "DELETE FROM projects",
            "INSERT INTO project_members VALUES (1, 'stranger', 'curator')",
            "INSERT INTO projects (name, purpose, until, created, by, place, key) "
            "VALUES ('x', 'y', '2999-12-31', 't', 'carl', 'semblance', 'k')",
        )
        for until in ("zzz", "infinity", "2999-02-30", "9999"):
            with pytest.raises(psycopg.Error):
                carl.execute("UPDATE projects SET until = %s", (until,))
        for person, right in (("library_owner", "reader"), ("stranger", "curator"), ("nobody", "reader")):
            with pytest.raises(psycopg.errors.CheckViolation):
                carl.execute("SELECT semblance_projects.let_in(1, %s, %s)", (person, right))
        for place in ("semblance", "semblance_audit", "public", 'x"; DROP SCHEMA semblance; --'):
            with pytest.raises(psycopg.errors.CheckViolation):
                carl.execute("SELECT semblance_projects.make('x', 'y', '2999-12-31', %s)", (place,))
    assert [one["until"] for one in list_projects(library)] == ["2999-12-31"]


def test_a_member_of_a_project_has_no_right_in_the_library_or_in_another_project(connect, library):
    for name in ("one", "two"):
        create_project(library, name, "trial", "2999-12-31")
    change_members(library, "one", ["stranger"], "annotator")
    one, two = project_schema("one"), project_schema("two")
    with connect("stranger") as member:
        member.execute(f"INSERT INTO {one}.searches (name, state, saved) VALUES ('s', '{{}}', 't')")
        member.execute(EVENT, (one, '{"query": "x", "project": "two"}'))
        refused(
            member,
            "SELECT * FROM semblance.cases",
            f"INSERT INTO {two}.searches (name, state, saved) VALUES ('s', '{{}}', 't')",
            f"SELECT semblance_projects.take_turn('{two}')",
            "SELECT semblance_projects.take_turn('semblance')",
            f"SELECT semblance_projects.make_embedding('{one}', 3)",
        )
        for place in (two, "semblance", "public", "nowhere"):
            with pytest.raises(REFUSED):
                member.execute(EVENT, (place, "{}"))
        assert member.execute(f"SELECT * FROM {two}.library_state").fetchall() == []
    assert [one["detail"]["project"] for one in list_audit(library) if one["action"] == "search"] == ["one"]


def test_notices_that_a_stranger_sends_are_not_believed(connect, library):
    with ChangeListener(library) as listener, connect("stranger") as stranger:
        for payload in ("9" * 7_000, "x" * 7_000, "no such table", "１２", "", "cases"):
            stranger.execute("SELECT pg_notify('semblance', %s)", (payload,))
        assert listener.wait(5.0) <= {"cases"}


def test_the_maker_alone_writes_in_the_names_of_others(library):
    with psycopg.connect(
        str(library), password=PASSWORD, options="-c search_path=semblance", autocommit=True
    ) as maker:
        maker.execute(INSERT.format("somebody"))
        assert maker.execute("SELECT author FROM judgements").fetchall() == [("somebody",)]


def test_a_library_is_removed_with_its_roles(library, postgres, tmp_path):
    assert run(["library", "move", as_given(library), str(tmp_path / "m.semblance"), "--remove"]) == 0
    left = "SELECT rolname FROM pg_roles WHERE rolname ~ '^library_'"
    assert postgres.execute(left) == []
    with contextlib.closing(ServerLibrary.create(library)) as again:
        assert again.catalogue.all_cases() == []
