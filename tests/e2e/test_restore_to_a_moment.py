"""The commands of the help page on servers bring a library back to a moment before a mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from semblance.core.library.location import server_address
from semblance.core.library.server.library import ServerLibrary
from semblance.core.workflows.library.audit_log import check_audit, list_audit
from semblance.core.workflows.library.edit_cases import remove_cases
from tests.helpers.postgres_server import PASSWORD, PostgresServer, running_server
from tests.helpers.server_writes import cases_of, prepare, write_one
from tests.helpers.wait import wait_until

HELP = Path(__file__).resolve().parents[2] / "resources/help/server.md"


def commands() -> list[str]:
    """What stands between backticks in the steps."""
    text = HELP.read_text(encoding="utf-8")
    steps = text[text.index("To go back to any point in time") :].partition("\n- ")[0]
    return re.findall(r"`([^`]+)`", steps)


def set_up(server: PostgresServer, place: dict[str, str], *names: str) -> None:
    """Add the settings called ``names`` as the help page gives them, with the folders and the time of ``place``."""
    lines = [next(one for one in commands() if one.startswith(f"{name} =")) for name in names]
    for written, real in place.items():
        lines = [line.replace(written, real) for line in lines]
    with (server.data / "postgresql.conf").open("a") as settings:
        settings.write("\n".join([*lines, ""]))


@pytest.fixture
def server():
    with running_server() as made:
        yield made


def test_a_library_goes_back_to_a_moment_before_its_cases_were_removed(server, monkeypatch):
    archive, backup = server.folder_for("archive"), server.folder_for("backup")
    set_up(server, {"/archive": str(archive)}, "archive_mode", "archive_command")
    server.stop()
    server.start()
    database = server.new_database("library")
    with ServerLibrary.create(server_address(database)) as library:
        prepare(library)
        write_one(library, 1)
        copying = next(one for one in commands() if one.startswith("pg_basebackup"))
        program, *arguments = copying.replace("/backup", str(backup)).replace("HOST", "127.0.0.1").split()
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        server.run(program, *arguments, "-p", str(server.port))
        write_one(library, 2)
        ((moment,),) = server.execute("SELECT clock_timestamp()::text")
        remove_cases(library.location, [*cases_of(1), *cases_of(2)])
        write_one(library, 3)
        entries = list_audit(library.location)
    server.execute("SELECT pg_switch_wal()")
    server.stop()
    server.data.rename(server.data.with_name("old"))
    server.run("cp", "-a", str(backup / "base"), str(server.data))
    set_up(
        server,
        {"/archive": str(archive), "2030-01-31 14:05:00+00": str(moment)},
        "restore_command",
        "recovery_target_time",
        "recovery_target_action",
    )
    server.run("touch", str(server.data / "recovery.signal"))
    server.start()
    wait_until(lambda: server.execute("SELECT pg_is_in_recovery()") == [(False,)], "the server is restored")
    with ServerLibrary.open(server_address(database), writable=True) as library:
        found = {case.case_id for case in library.catalogue.all_cases()}
        assert found == {*cases_of(1), *cases_of(2)}
        write_one(library, 4)
    assert not check_audit(server_address(database)).problems
    restored = list_audit(server_address(database))
    same = [one for one, other in zip(restored, entries, strict=False) if one == other]
    assert 0 < len(same) < len(entries)
