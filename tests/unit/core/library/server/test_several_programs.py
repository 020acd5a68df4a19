"""Several programs use a library on a server at once, and the server goes away and comes back."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import ServerUnavailable
from semblance.core.library.location import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CaseRecord, FileRecord, JudgementRecord
from semblance.core.library.server.library import ServerLibrary
from tests.helpers.postgres_server import running_server

ROUNDS, WRITERS, CASES = 6, 3, 40


def add_cases(library: ServerLibrary, writer: int, number: int) -> None:
    source = library.catalogue.add_source("folder", f"s{writer}", Path(f"/images/{writer}"))
    names = [f"{number}-{n}" for n in range(CASES)]
    library.catalogue.put(
        source,
        [FileRecord(name, 1, 1, name, "ok") for name in names],
        [CaseRecord(f"s{writer}/{name}", name, content=name) for name in names],
    )


def test_writers_and_readers_at_once_lose_nothing_and_see_whole_transactions(database):
    ServerLibrary.create(server_address(database)).close()
    counts: list[int] = []
    done = threading.Event()

    def write(writer: int) -> None:
        with ServerLibrary.open(server_address(database), writable=True) as library:
            made = library.features.make("f", "raw", 1, {}, [("a", "g"), ("b", "g")], dtype="float64")
            for number in range(ROUNDS):
                add_cases(library, writer, number)
                rows = library.features.cases_to_extract(made, images=None)
                values = np.stack([rows, rows * 2], axis=1).astype(np.float64)
                # Others may have measured the same cases meanwhile: these are left out.
                library.features.write_chunk(made, rows[:256], values[:256])
                library.judgements("l").append(
                    [JudgementRecord("alike", "q", f"{writer}-{number}", None, None, (), f"w{writer}", "t")]
                )

    def read() -> None:
        with ServerLibrary.open(server_address(database)) as library:
            while not done.is_set():
                counts.append(len(library.catalogue.all_cases()))

    with ThreadPoolExecutor(WRITERS + 1) as threads:
        reader = threads.submit(read)
        writers = [threads.submit(write, writer) for writer in range(WRITERS)]
        try:
            for one in writers:
                one.result()
        finally:
            done.set()
        reader.result()
    with ServerLibrary.open(server_address(database), writable=True) as library:
        (made,) = library.features.all()
        rows = library.features.cases_to_extract(made, images=None)
        for start in range(0, len(rows), 256):
            part = rows[start : start + 256]
            library.features.write_chunk(made, part, np.stack([part, part * 2], axis=1).astype(np.float64))
        ids, values = library.features.read(made)
        assert (
            len(ids)
            == len(set(ids.tolist()))
            == ROUNDS * WRITERS * CASES
            == len(library.catalogue.all_cases())
        )
        assert np.array_equal(values, np.stack([ids, ids * 2], axis=1))
        assert len(library.judgements("l").read()) == ROUNDS * WRITERS
    assert counts == sorted(counts) and all(count % CASES == 0 for count in counts)


def test_other_clients_notice_a_change(database):
    ServerLibrary.create(server_address(database)).close()
    with (
        ServerLibrary.open(server_address(database)) as one,
        ServerLibrary.open(server_address(database)) as other,
    ):
        before = other.catalogue.stamp()
        assert other.catalogue.stamp() == before
        add_cases(one, 0, 0)
        assert other.catalogue.stamp() != before


def test_a_library_reconnects_after_its_server_restarted():
    with running_server() as server:
        database = server.new_database("library")
        address = server_address(database)
        assert address is not None
        with ServerLibrary.create(server_address(database)) as library:
            add_cases(library, 0, 0)
            server.stop("immediate")
            for _ in range(2):
                with pytest.raises(ServerUnavailable, match="answer"):
                    library.catalogue.all_cases()
            with pytest.raises(ServerUnavailable):
                add_cases(library, 0, 1)
            with pytest.raises(ServerUnavailable):
                open_library(address)
            server.start()
            assert len(library.catalogue.all_cases()) == CASES
            add_cases(library, 0, 1)
        with open_library(address) as library:
            assert len(library.catalogue.all_cases()) == 2 * CASES


def test_a_transaction_that_the_server_loses_leaves_no_half_case():
    with running_server() as server:
        database = server.new_database("library")
        with ServerLibrary.create(server_address(database)) as library:
            add_cases(library, 0, 0)
            with pytest.raises(ServerUnavailable), library.catalogue.transaction() as connection:
                connection.exec_driver_sql("UPDATE cases SET finding = 'half'")
                server.stop("immediate")
                connection.exec_driver_sql("UPDATE cases SET patient = 'half'")
            server.start()
            assert {(r.finding, r.patient) for r in library.catalogue.all_cases()} == {(None, None)}


def make_library(address: str, together: Barrier) -> None:
    together.wait()
    ServerLibrary.create(server_address(address)).close()


def test_programs_that_make_a_library_at_once_make_one_and_all_end_well(database):
    processes = multiprocessing.get_context("spawn")
    together = processes.Barrier(WRITERS)
    programs = [processes.Process(target=make_library, args=(database, together)) for _ in range(WRITERS)]
    for program in programs:
        program.start()
    for program in programs:
        program.join()
    assert [program.exitcode for program in programs] == [0] * WRITERS
