"""Tables of another version are refused, and a restored library gets the rights to its database again."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadInput
from semblance.core.library.location import server_address
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import REVISION
from semblance.core.workflows.maintenance.share_library import create_project
from tests.helpers.postgres_server import MAKER


@pytest.mark.parametrize("writable", [True, False])
@pytest.mark.parametrize(
    ("revision", "says"),
    [
        ("0001", r"too old \(tables 0001; this version reads \d+\)\. The account that made it opens it once"),
        (f"{int(REVISION) - 1:04}", "too old"),
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
