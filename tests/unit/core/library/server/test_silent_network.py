"""A network that loses every packet, and says nothing, is noticed, and holds nobody up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from semblance.core.errors import ServerUnavailable
from semblance.core.library.location import server_address
from semblance.core.library.records import CaseRecord, FileRecord
from semblance.core.library.server import connection
from semblance.core.library.server.library import ServerLibrary
from semblance.core.workflows.maintenance.watch_library import AWAY, BACK, CHANGED, WATCHING, library_changes
from tests.helpers.silent_network import LOSES_PACKETS, Network, network_to

pytestmark = pytest.mark.skipif(not LOSES_PACKETS, reason="only Linux has filters that lose packets")


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Seconds in place of the quarter of a minute that the program waits for an answer."""
    for name, value in (
        ("_IDLE_S", 1),
        ("_PROBE_S", 1),
        ("_PROBES", 2),
        ("_SILENCE_MS", 1000),
        ("CONNECT_S", 2),
    ):
        monkeypatch.setattr(connection, name, value)


@pytest.fixture
def network(postgres) -> Iterator[Network]:
    with network_to(postgres.port) as made:
        yield made


@pytest.fixture
def through(network, postgres, database) -> str:
    """The address of the library, reached through the network."""
    ServerLibrary.create(server_address(database)).close()
    return database.replace(f":{postgres.port}/", f":{network.port}/")


def add_case(library: ServerLibrary, name: str) -> None:
    source = library.catalogue.add_source("folder", "s", Path("/images"))
    library.catalogue.put(
        source, [FileRecord(name, 1, 1, name, "ok")], [CaseRecord(f"s/{name}", name, content=name)]
    )


def test_reading_and_writing_say_that_the_server_does_not_answer(network, through):
    with ServerLibrary.open(server_address(through), writable=True) as library:
        add_case(library, "a")
        network.fall_silent()
        with pytest.raises(ServerUnavailable, match="does not answer"):
            library.catalogue.all_cases()
        with pytest.raises(ServerUnavailable, match="does not answer"):
            add_case(library, "b")
        with pytest.raises(ServerUnavailable, match="does not answer"):
            ServerLibrary.open(server_address(through))
        network.recover()
        add_case(library, "c")
        assert [case.case_id for case in library.catalogue.all_cases()] == ["s/a", "s/c"]


def test_who_watches_is_told_that_the_server_is_away_and_what_was_missed(network, through, database):
    events = library_changes(server_address(through))
    assert next(events).kind == WATCHING
    network.fall_silent()
    assert next(events).kind == AWAY
    with ServerLibrary.open(server_address(database), writable=True) as library:
        add_case(library, "a")
    network.recover()
    assert next(events).kind == BACK
    missed = next(events)
    assert (missed.kind, missed.tables) == (CHANGED, ("*",))
    events.close()


@pytest.mark.parametrize("is_answered", [True, False], ids=["idle", "with an answer on its way"])
def test_a_writer_that_vanishes_soon_lets_others_write(network, through, database, is_answered):
    with (
        ServerLibrary.open(server_address(through), writable=True) as lost,
        ServerLibrary.open(server_address(database), writable=True) as other,
    ):
        add_case(other, "a")
        with pytest.raises(ServerUnavailable), lost.catalogue.transaction() as running:
            running.exec_driver_sql("UPDATE cases SET finding = 'half'")
            if not is_answered:
                driver = running.connection.dbapi_connection.pgconn
                driver.send_query(b"SELECT pg_sleep(0.5), repeat('x', 1000)")
            network.fall_silent()
            # Refused where the server keeps the lock for longer than writers wait.
            add_case(other, "b")
            running.exec_driver_sql("UPDATE cases SET patient = 'half'")
        found = [(case.case_id, case.finding, case.patient) for case in other.catalogue.all_cases()]
        assert found == [("s/a", None, None), ("s/b", None, None)]
