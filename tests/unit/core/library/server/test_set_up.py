"""Tables of the version before are brought up to date and others refused; a restored library gets its rights again."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.library.location import server_address
from semblance.core.library.records import CaseRecord, FileRecord
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import BEFORE, REVISION
from semblance.core.workflows.maintenance.share_library import create_project, set_right
from tests.helpers.postgres_server import MAKER


@pytest.mark.parametrize("writable", [True, False])
@pytest.mark.parametrize(
    ("revision", "says"),
    [
        ("0001", r"too old \(tables 0001; this version reads \d+\)\. The account that made it opens it once"),
        (f"{int(BEFORE) - 1:04}", "too old"),
        (f"{int(REVISION) + 1:04}", r"newer version of Semblance .*\. Update Semblance"),
        ("9999", "newer version"),
    ],
)
def test_tables_of_another_version_are_refused_unchanged(postgres, database, revision, says, writable):
    ServerLibrary.create(server_address(database)).close()
    postgres.execute(f"UPDATE semblance.alembic_version SET version_num = '{revision}'", "library")
    with pytest.raises(BadInput, match=says):
        ServerLibrary.open(server_address(database), writable=writable)
    found = postgres.execute("SELECT version_num FROM semblance.alembic_version", "library")
    assert found == [(revision,)]


#: Tables with columns, indexes, references, triggers, policies, grants and functions of a library with its projects.
DESCRIBED = (
    "SELECT table_schema, table_name, column_name, data_type, is_nullable, column_default, collation_name "
    "FROM information_schema.columns WHERE table_schema ~ '^semblance' ORDER BY 1, 2, ordinal_position",
    "SELECT schemaname, tablename, regexp_replace(indexdef, 'INDEX \\S+', '') FROM pg_indexes "
    "WHERE schemaname ~ '^semblance' ORDER BY 1, 2, 3",
    "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace::regnamespace::text ~ '^semblance' ORDER BY 1, 2",
    "SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2",
    "SELECT schemaname, tablename, policyname, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2, 3",
    "SELECT relnamespace::regnamespace::text, relname, relowner::regrole::text, relacl::text, relrowsecurity "
    "FROM pg_class WHERE relnamespace::regnamespace::text ~ '^semblance' AND relkind <> 'i' ORDER BY 1, 2",
    "SELECT oid::regprocedure::text, prosrc, proacl::text, prosecdef, proowner::regrole::text FROM pg_proc "
    "WHERE pronamespace::regnamespace::text ~ '^semblance' ORDER BY 1",
    "SELECT version_num, value FROM semblance.alembic_version, semblance.meta WHERE key = 'schema'",
)


def test_tables_of_the_version_before_are_brought_up_to_date_by_the_maker(postgres, database):
    address = server_address(database)
    with ServerLibrary.create(address) as made:
        source = made.catalogue.add_source("folder", "s", Path("/images"))
        made.catalogue.put(
            source,
            [FileRecord("a", 1, 1, "a", "ok")],
            [CaseRecord("s/a", "a", finding="Zyste", attributes={"title": "Ödem 右肺肿瘤"}, content="a")],
        )
    create_project(address, "one", "a study", "2999-12-31")
    set_right(address, "anna", "annotator", "pw")
    new = [postgres.execute(query, "library") for query in DESCRIBED]
    page = (Path(__file__).parents[4] / "helpers" / f"server_{BEFORE}.sql").read_text(encoding="utf-8")
    postgres.execute(f"SET ROLE library_owner; {page}", "library")
    with pytest.raises(SemblanceError, match="The account that made the library opens it once"):
        ServerLibrary.open(server_address(postgres.address("library", "anna", "pw")))
    with ServerLibrary.open(address) as opened:
        for word in ("zyste", "odem", "肿瘤", "ödem 右"):
            assert opened.catalogue.rows_with_word(word).tolist() == [1], word
    for query, expected in zip(DESCRIBED, new, strict=True):
        assert postgres.execute(query, "library") == expected
    ServerLibrary.open(server_address(postgres.address("library", "anna", "pw"))).close()


def test_a_restored_dump_has_the_rights_to_the_database_again_once_its_maker_opens_it(postgres):
    address = server_address(postgres.new_database("library"))
    ServerLibrary.create(address).close()
    postgres.new_database("copy", "library")
    temporary = "SELECT has_database_privilege('public', 'copy', 'TEMPORARY')"
    assert postgres.execute(temporary) == [(True,)]
    copy = server_address(postgres.address("copy", MAKER))
    ServerLibrary.open(copy).close()
    assert postgres.execute(temporary) == [(False,)]
    create_project(copy, "one", "a study", "2999-12-31")
    postgres.execute("DROP DATABASE copy WITH (FORCE)")
