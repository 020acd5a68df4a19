"""Kills, cuts of the network, and several migrations at once lose nothing of a library on a server."""

from __future__ import annotations

import multiprocessing
import os

import pytest

from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import REVISION, SCHEMA
from tests.attack.server_faults import KINDS, run_rounds


@pytest.mark.skipif(os.name != "posix", reason="the writers and the server are killed with SIGKILL")
def test_nothing_acknowledged_is_lost_whatever_is_killed_or_cut():
    assert {kind: count for kind, count in run_rounds(len(KINDS)).items() if kind in KINDS} == dict.fromkeys(
        KINDS, 1
    )


def open_library(address: str) -> None:
    ServerLibrary.open(address, writable=True).close()


def test_programs_that_update_the_tables_at_once_all_end_well(postgres, database):
    ServerLibrary.create(database).close()
    # The last migration can be run again on its own tables.
    postgres.execute(f"UPDATE {SCHEMA}.alembic_version SET version_num = '0005'", "library")
    processes = multiprocessing.get_context("spawn")
    programs = [processes.Process(target=open_library, args=(database,)) for _ in range(2)]
    for program in programs:
        program.start()
    for program in programs:
        program.join()
    assert [program.exitcode for program in programs] == [0, 0]
    assert postgres.execute(f"SELECT version_num FROM {SCHEMA}.alembic_version", "library") == [(REVISION,)]
