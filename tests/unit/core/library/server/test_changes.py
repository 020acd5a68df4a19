"""Two clients see what the other changes. A lost server is reported, and no change is missed."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semblance.core.errors import BadArguments, ServerUnavailable
from semblance.core.library.location import server_address
from semblance.core.library.records import CaseRecord, FileRecord, JudgementRecord
from semblance.core.library.server.changes import EVERYTHING, ChangeListener
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import SCHEMA
from semblance.core.workflows.maintenance.watch_library import library_changes
from tests.helpers.postgres_server import running_server

#: Seconds that a notice may take on a loaded computer before the test fails.
PATIENCE = 60.0


def add_case(library: ServerLibrary, name: str) -> None:
    source = library.catalogue.add_source("folder", "s", Path("/images"))
    library.catalogue.put(
        source, [FileRecord(name, 1, 1, name, "ok")], [CaseRecord(f"s/{name}", name, content=name)]
    )


def until(listener: ChangeListener, table: str) -> None:
    """Wait for a change of ``table``, which a notice of another may precede."""
    while table not in (found := listener.wait(PATIENCE)):
        assert found, f"no notice of {table}"


def test_each_client_hears_of_what_the_other_does(database, postgres):
    ServerLibrary.create(server_address(database)).close()
    address = server_address(database)
    with (
        ServerLibrary.open(server_address(database)) as one,
        ServerLibrary.open(server_address(database)) as other,
        ChangeListener(address) as notices,
    ):
        assert notices.wait(0.0) == frozenset()
        add_case(one, "a")
        until(notices, "cases")
        assert [row.case_id for row in other.catalogue.all_cases()] == ["s/a"]
        mine = JudgementRecord("alike", "q", "c", None, None, (), "w", "t")
        other.judgements("l").append([mine])
        until(notices, "judgements")
        assert one.judgements("l").read()[0][1] == mine
        concept = one.concepts.add("c", "w")
        until(notices, "concepts")
        other.concepts.mark(concept, [("s/a", True)], "w")
        until(notices, "concept_marks")
        # Past the program.
        postgres.execute(f"UPDATE {SCHEMA}.cases SET finding = 'x'", "library")
        until(notices, "cases")
        # A transaction that is undone changes nothing.
        with pytest.raises(RuntimeError), one.catalogue.transaction() as connection:
            connection.exec_driver_sql("UPDATE cases SET finding = 'y'")
            raise RuntimeError
        assert notices.wait(0.2) == frozenset()


def test_a_notice_wakes_a_client_that_waits(database):
    with (
        ServerLibrary.create(server_address(database)) as library,
        ChangeListener(server_address(database)) as notices,
        ThreadPoolExecutor(1) as threads,
    ):
        waiting = threads.submit(notices.wait, PATIENCE)
        add_case(library, "a")
        assert waiting.result()


def test_what_changed_while_the_connection_was_lost_is_not_missed():
    with running_server() as server:
        address = server_address(server.new_database("library"))
        with ServerLibrary.create(address) as library, ChangeListener(address) as notices:
            add_case(library, "a")
            until(notices, "cases")
            while notices.wait(0.2):
                pass
            server.stop("immediate")
            for _ in range(2):
                with pytest.raises(ServerUnavailable, match="answer"):
                    notices.wait(PATIENCE)
            server.start()
            add_case(library, "b")
            assert notices.wait(PATIENCE) == {EVERYTHING}
            add_case(library, "c")
            until(notices, "cases")


def test_the_command_prints_changes_and_that_the_server_is_away():
    with running_server() as server:
        database = server.new_database("library")
        with ServerLibrary.create(server_address(database)) as library:
            command = [sys.executable, "-m", "semblance.app", "library", "watch", database, "--json"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
                try:
                    assert json.loads(program.stdout.readline())["event"] == "watching"
                    add_case(library, "a")
                    changed: set[str] = set()
                    while "cases" not in changed:
                        changed |= set(json.loads(program.stdout.readline())["tables"])
                    server.stop("immediate")
                    while (line := json.loads(program.stdout.readline()))["event"] == "changed":
                        pass
                    assert line["event"] == "away" and "answer" in line["reason"]
                    server.start()
                    assert json.loads(program.stdout.readline())["event"] == "back"
                finally:
                    program.kill()


def test_a_folder_is_not_watched(tmp_path):
    with pytest.raises(BadArguments, match="Only a library on a server"):
        next(library_changes(tmp_path))
