"""A library that the version before made becomes one like a new one, by one opening of the account that made it."""

from __future__ import annotations

import re

import psycopg
import pytest

from semblance.core.errors import SemblanceError
from semblance.core.library.address import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.records import JudgementRecord
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import REVISION
from semblance.core.workflows.library.exports import check_audit, list_audit
from semblance.core.workflows.maintenance.manage_people import list_people
from semblance.core.workflows.maintenance.manage_projects import create_project, list_projects
from tests.helpers.earlier_server import MADE_BY, MEMBER, PEOPLE, earlier_library
from tests.helpers.postgres_server import MAKER, SUPERUSER

#: Tables, columns, constraints, functions, triggers, policies and grants, in words.
_OBJECTS = (
    "SELECT format('%s %s %s %s', c.oid::regclass, c.relkind, c.relowner::regrole, c.relrowsecurity) FROM pg_class c "
    "WHERE c.relnamespace::regnamespace::text ~ '^semblance' AND c.relkind IN ('r', 'v', 'S')",
    "SELECT format('%s.%s %s %s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull) "
    "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
    "WHERE c.relnamespace::regnamespace::text ~ '^semblance' AND c.relkind IN ('r', 'v') AND a.attnum > 0",
    "SELECT format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint "
    "WHERE connamespace::regnamespace::text ~ '^semblance'",
    "SELECT format('%s %s', proowner::regrole, pg_get_functiondef(oid)) FROM pg_proc "
    "WHERE pronamespace::regnamespace::text ~ '^semblance'",
    "SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    "WHERE c.relnamespace::regnamespace::text ~ '^semblance' AND NOT t.tgisinternal",
    "SELECT format('%s.%s %s %s %s %s', schemaname, tablename, policyname, cmd, qual, with_check) FROM pg_policies",
    "SELECT format('%s %s', c.oid::regclass, a) FROM pg_class c, aclexplode(c.relacl) a "
    "WHERE a.grantee <> c.relowner AND c.relnamespace::regnamespace::text ~ '^semblance'",
    "SELECT format('%s.%s %s', t.attrelid::regclass, t.attname, a) FROM pg_attribute t, aclexplode(t.attacl) a "
    "JOIN pg_roles r ON r.oid = a.grantee WHERE r.rolname ~ '^library_'",
    "SELECT format('%s %s', p.oid::regprocedure, a) FROM pg_proc p, aclexplode(p.proacl) a "
    "WHERE a.grantee <> p.proowner AND p.pronamespace::regnamespace::text ~ '^semblance'",
    "SELECT format('%s %s', nspname, a) FROM pg_namespace, aclexplode(nspacl) a WHERE nspname ~ '^semblance'",
)


def objects(postgres) -> list[str]:
    roles = dict(postgres.execute("SELECT oid::text, rolname FROM pg_roles"))
    found = [str(row[0]) for query in _OBJECTS for row in postgres.execute(query, "library")]
    return sorted(re.sub(r"\b\d{4,}\b", lambda one: roles.get(one[0], one[0]), text) for text in found)


@pytest.mark.parametrize("account", [MADE_BY, SUPERUSER])
def test_an_earlier_library_has_the_same_tables_functions_and_rights_as_a_new_one_and_its_contents(
    postgres, account
):
    earlier_library(postgres)
    address = server_address(postgres.address("library", account))
    (noted,) = postgres.execute("SELECT number, hash FROM semblance.audit_head", "library")
    for name in ("adam", "carl", "rita"):
        with pytest.raises(SemblanceError, match="older version"):
            ServerLibrary.open(postgres.address("library", name))
    with ServerLibrary.open(address, writable=True) as opened:
        assert len(opened.catalogue.all_cases()) == 3 and len(opened.thumbnails.contents()) == 3
        assert len(opened.judgements("l").read()) == 1 and opened.right == "administrator"
        assert len(opened.catalogue.rows_with_word("ct")) == 3
    rights = {one["name"]: one["right"] for one in list_people(address)}
    assert {name: right for name, right in rights.items() if name in PEOPLE.values()} == {
        name: right for right, name in PEOPLE.items()
    }
    assert check_audit(address, noted[1]).problems == () and len(list_audit(address)) >= noted[0]
    (project,) = list_projects(server_address(postgres.address("library", "carl")))
    assert (project["state"], project["until"], project["cases"]) == ("open", "2999-12-31", 2)
    with open_library(server_address(f"{postgres.address('library', MEMBER)}?project=one")) as opened:
        assert opened.right == "annotator" and len(opened.catalogue.all_cases()) == 2
        opened.judgements("l").append([JudgementRecord("alike", "q", "c", None, None, (), "w", "t")])
        assert opened.judgements("l").read()[0][1].author == MEMBER
    updated = objects(postgres)
    database = postgres.new_database("library")
    ServerLibrary.create(database).close()
    create_project(server_address(database), "one", "a study", "2999-12-31")
    assert updated == objects(postgres)


def test_nothing_that_an_administrator_left_in_an_earlier_library_runs_when_it_is_updated_or_later(postgres):
    earlier_library(postgres)
    with psycopg.connect(postgres.address("library", "adam"), autocommit=True) as adam:
        adam.execute("CREATE TABLE semblance.ran (by text)")
        adam.execute("GRANT ALL ON semblance.ran TO PUBLIC")
        body = "BEGIN INSERT INTO semblance.ran VALUES (current_user); RETURN NULL; END"
        adam.execute(f"CREATE FUNCTION semblance.plant() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$")
        for table in ("cases", "judgements", "library_state", "alembic_version", "meta"):
            adam.execute(
                f"CREATE TRIGGER aa AFTER INSERT OR UPDATE OR DELETE ON semblance.{table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION semblance.plant()"
            )
        for name, arguments in (("format", "text, text"), ("format", "text, name, name"), ("now", "")):
            adam.execute(
                f"CREATE FUNCTION semblance.{name}({arguments}) RETURNS text LANGUAGE plpgsql AS "
                "$$ BEGIN INSERT INTO semblance.ran VALUES (current_user); RETURN 'SELECT 1'; END $$"
            )
        adam.execute("CREATE POLICY mine ON semblance.judgements USING (true) WITH CHECK (true)")
        adam.execute("GRANT ALL ON semblance.cases, semblance.meta TO rita")
    address = server_address(postgres.address("library", SUPERUSER))
    with ServerLibrary.open(address, writable=True) as opened:
        opened.save_search("s", {})
        with opened.catalogue.transaction() as connection:
            connection.exec_driver_sql("UPDATE semblance.cases SET finding = 'y'")
    assert postgres.execute("SELECT * FROM semblance.ran", "library") == []
    assert postgres.execute("SELECT polname FROM pg_policy WHERE polname = 'mine'", "library") == []
    with psycopg.connect(postgres.address("library", "rita"), autocommit=True) as rita:
        for statement in ("DELETE FROM semblance.cases", "INSERT INTO semblance.meta VALUES ('a', 'b')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                rita.execute(statement)


def test_tables_of_much_earlier_versions_are_refused_in_words(postgres):
    earlier_library(postgres)
    postgres.execute("UPDATE semblance.alembic_version SET version_num = '0003'", "library")
    with pytest.raises(SemblanceError, match=r"too old \(tables 0003\)"):
        ServerLibrary.open(postgres.address("library", MADE_BY))
    assert REVISION > "0006"


def test_a_restored_dump_has_the_rights_to_the_database_again_once_its_maker_opens_it(postgres):
    address = postgres.new_database("library")
    ServerLibrary.create(address).close()
    postgres.new_database("copy", "library")
    temporary = "SELECT has_database_privilege('public', 'copy', 'TEMPORARY')"
    assert postgres.execute(temporary) == [(True,)]
    copy = postgres.address("copy", MAKER)
    ServerLibrary.open(copy).close()
    assert postgres.execute(temporary) == [(False,)]
    create_project(server_address(copy), "one", "a study", "2999-12-31")
    postgres.execute("DROP DATABASE copy WITH (FORCE)")
