"""Every account, every table, every statement and every function, by SQL, against the written table `rights.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from semblance.core.library.location import server_address
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import project_schema
from semblance.core.workflows.maintenance.share_library import (
    CaseSelection,
    add_cases,
    change_members,
    create_project,
)
from tests.unit.core.library.server.conftest import make_library_of_people

#: What is allowed, to be read. A line for each table, sequence and function: what each account may do with it.
WRITTEN = Path(__file__).parent / "rights.txt"
#: Accounts: of nobody, of members of the project `one`, a member of another project, and by their right in the library.
ACCOUNTS = ("stranger", "other", "max", "mia", "rita", "anna", "carl", "adam")
SCHEMAS = ("semblance", "semblance_projects", "semblance_audit", project_schema("one"))
#: Letter -> statement on a table. Nobody may do what has a small letter.
ON_TABLES = {
    "S": "SELECT * FROM {t} LIMIT 1",
    "I": "INSERT INTO {t} ({columns}) OVERRIDING SYSTEM VALUE SELECT {values}",
    "U": "UPDATE {t} SET {one} = {one}",
    "D": "DELETE FROM {t}",
    "L": "LOCK TABLE {t} IN ACCESS EXCLUSIVE MODE",
    "t": "TRUNCATE {t} CASCADE",
    "a": "ALTER TABLE {t} ADD COLUMN more integer",
    "g": "CREATE TRIGGER mine BEFORE UPDATE ON {t} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "c": "CREATE TRIGGER mine AFTER TRUNCATE ON {t} FOR EACH STATEMENT EXECUTE FUNCTION semblance_audit.count_change()",
    "d": "ALTER TABLE {t} DISABLE TRIGGER ALL",
    "r": "ALTER TABLE {t} DISABLE ROW LEVEL SECURITY",
    "p": "CREATE POLICY mine ON {t} USING (true)",
    "u": "CREATE RULE mine AS ON DELETE TO {t} DO INSTEAD NOTHING",
    "x": "DROP TABLE {t} CASCADE",
    "o": "ALTER TABLE {t} OWNER TO CURRENT_USER",
    "n": "SELECT 1 WHERE has_table_privilege('{t}', 'SELECT WITH GRANT OPTION')",
}
#: Letter -> statement on a sequence: the next number, and set the number.
ON_SEQUENCES = {
    "N": "SELECT nextval('{t}')",
    "V": "SELECT setval('{t}', 7)",
    "x": "DROP SEQUENCE {t} CASCADE",
}
#: What nobody may do, anywhere in the database.
NOBODY = (
    "CREATE TEMPORARY TABLE cases (id integer)",
    "CREATE TEMPORARY SEQUENCE s",
    "CREATE TEMPORARY VIEW v AS SELECT 1",
    "CREATE FUNCTION pg_temp.f() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "CREATE SCHEMA mine",
    "CREATE PUBLICATION p FOR ALL TABLES",
    "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION semblance_audit.count_change()",
    "ALTER DATABASE library SET search_path = public",
    "CREATE ROLE more",
    "SET ROLE library_owner",
    "SET ROLE library_audit",
    "SET SESSION AUTHORIZATION owner",
    "SET session_replication_role = replica",
    "GRANT library_owner TO stranger",
    "GRANT library_administrator TO stranger",
    "ALTER ROLE library_owner LOGIN PASSWORD 'pw'",
    "COPY (SELECT 1) TO PROGRAM 'true'",
)
IN_SCHEMAS = (
    "CREATE TABLE {s}.other (a integer)",
    "CREATE VIEW {s}.other AS SELECT 1",
    "CREATE TYPE {s}.other AS (a integer)",
    "CREATE OR REPLACE FUNCTION {s}.has_right(place text, wanted text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "CREATE FUNCTION {s}.has_right(place text, wanted varchar) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "CREATE FUNCTION {s}.pg_has_role(name, text, unknown) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "CREATE FUNCTION {s}.array_position(text[], text) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "CREATE OPERATOR {s}.= (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq)",
    "ALTER SCHEMA {s} OWNER TO CURRENT_USER",
    "DROP SCHEMA {s} CASCADE",
)


@pytest.fixture(scope="module")
def server(postgres):
    """A library with an embedding and two projects, with a row in every table."""
    address = server_address(postgres.new_database("library"))
    make_library_of_people(address)
    with ServerLibrary.open(address) as made, made.catalogue.transaction() as connection:
        connection.exec_driver_sql("SELECT semblance_projects.make_embedding('semblance', 3)")
    for name in ("stranger", "other", "max", "mia"):
        postgres.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'pw'")
    for project, people in (("one", {"max": "reader", "mia": "annotator"}), ("two", {"other": "annotator"})):
        create_project(address, project, "a study", "2999-12-31")
        add_cases(address, project, CaseSelection(case_ids=("s/a",)))
        for name, right in people.items():
            change_members(address, project, [name], right)
    with psycopg.connect(postgres.address("library"), autocommit=True) as root:
        root.execute("SET session_replication_role = replica")
        for table in relations(root, "r"):
            if not root.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
                columns, values = row_for(root, table)
                root.execute(f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {values}")
    return postgres


@pytest.fixture
def accounts(server) -> Iterator[dict[str, psycopg.Connection]]:
    connections = {
        name: psycopg.connect(server.address("library", name, "pw"), autocommit=True) for name in ACCOUNTS
    }
    yield connections
    for connection in connections.values():
        connection.close()


def relations(connection, kinds: str) -> list[str]:
    found = connection.execute(
        "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = ANY (%s) AND c.relkind = ANY (%s) ORDER BY 1",
        (list(SCHEMAS), list(kinds)),
    )
    return [name for (name,) in found]


#: Type, or name of a column -> a value of it.
_VALUES = {
    "text": "'[]'", "integer": "1000", "bigint": "1000", "boolean": "true", "bytea": "''", "uuid": "gen_random_uuid()",
    "double precision": "1", "tsvector": "''::tsvector", "date": "'2999-12-31'", "character varying(32)": "'0'",
    "halfvec(3)": "'[1,2,3]'", "reader": "session_user", "region": "'{}'", "state": "'{}'", "data": "'{}'",
}  # fmt: skip


def row_for(connection, table: str) -> tuple[str, str]:
    """The names and the values of the columns of a row."""
    found = connection.execute(
        "SELECT quote_ident(attname), format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        (table,),
    ).fetchall()
    return ", ".join(name for name, _ in found), ", ".join(
        _VALUES.get(name, _VALUES.get(kind, "")) for name, kind in found
    )


def allowed(connection, statement: str) -> bool:
    """Whether the server lets the account run the statement, and it has an effect; it is always undone."""
    try:
        with connection.transaction():
            ran = connection.execute(statement)
            has_effect = ran.rowcount != 0
            raise psycopg.Rollback
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.WrongObjectType):
        return False
    except psycopg.Error as error:
        # Refused for what is in the table, after the rights were checked.
        assert str(error.sqlstate)[:2] in ("23", "42", "55", "22", "P0", "0A"), (statement, error)
        return True
    return has_effect


def lines(server, accounts) -> list[str]:
    """What each account may do, as in the written table."""
    found: list[tuple[str, list[str]]] = []
    with psycopg.connect(server.address("library"), autocommit=True) as root:
        for table in relations(root, "rv"):
            columns, values = row_for(root, table)
            filled = {"t": table, "columns": columns, "values": values, "one": columns.split(", ")[-1]}
            found.append((table, _letters(accounts, ON_TABLES, filled)))
        found += [(one, _letters(accounts, ON_SEQUENCES, {"t": one})) for one in relations(root, "S")]
        functions = root.execute(
            "SELECT n.nspname || '.' || p.proname, ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t) "
            "FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = ANY (%s) ORDER BY 1, 2",
            (list(SCHEMAS),),
        ).fetchall()
    for name, types in functions:
        call = f"{name}({', '.join(f'NULL::{one}' for one in types)})"
        may = [_may_call(connection, f"SELECT {call}", name) for connection in accounts.values()]
        found.append((f"{name}()", ["X" if one else "-" for one in may]))
    found = [(name.replace(project_schema("one"), "PROJECT"), letters) for name, letters in found]
    width = max(len(name) for name, _ in found)
    shown = [f"{'':{width}} {' '.join(f'{name:>8}' for name in ACCOUNTS)}"]
    return shown + [f"{name:{width}} {' '.join(f'{one:>8}' for one in letters)}" for name, letters in found]


def _letters(accounts, statements: dict[str, str], filled: dict[str, str]) -> list[str]:
    return [
        "".join(letter for letter, text in statements.items() if allowed(connection, text.format(**filled)))
        or "-"
        for connection in accounts.values()
    ]


def _may_call(connection, statement: str, name: str) -> bool:
    try:
        with connection.transaction():
            connection.execute(statement)
            raise psycopg.Rollback
    except psycopg.errors.InsufficientPrivilege as error:
        # A function that refuses by itself was called.
        return not str(error).startswith(("permission denied for function", "permission denied for schema"))
    except psycopg.Error:
        return True
    return True


def test_every_account_may_do_what_is_written_and_nothing_else(server, accounts):
    found = lines(server, accounts)
    written = [
        line.rstrip()
        for line in WRITTEN.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert found == written
    assert len(found) > 100


def test_nobody_makes_anything_anywhere(server, accounts):
    statements = [*NOBODY, *(one.format(s=schema) for one in IN_SCHEMAS for schema in (*SCHEMAS, "public"))]
    for name, connection in accounts.items():
        for statement in statements:
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement)
                raise AssertionError((name, statement))


def test_every_function_has_a_search_path_of_its_own_and_belongs_to_a_role_that_cannot_log_in(server):
    functions = server.execute(
        "SELECT p.oid::regprocedure::text, p.prosecdef, p.proconfig, r.rolcanlogin OR r.rolsuper, "
        "has_function_privilege('public', p.oid, 'EXECUTE') FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner "
        "JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname ~ '^semblance'",
        "library",
    )
    assert len(functions) > 30
    for name, _, settings, may_log_in, is_public in functions:
        assert "search_path=pg_catalog, pg_temp" in (settings or ()), name
        assert not may_log_in and not is_public, name
    owned = server.execute(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner "
        "WHERE c.relnamespace::regnamespace::text ~ '^semblance' AND (r.rolcanlogin OR r.rolsuper)",
        "library",
    )
    assert owned == []
