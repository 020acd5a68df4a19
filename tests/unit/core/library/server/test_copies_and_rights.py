"""The copy on a computer has what its account may read, and goes when the account may not read it any more."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest
import sqlalchemy as sa

from semblance.core.errors import AccessRefused
from semblance.core.library.location import local_folder, server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.schema import cases
from semblance.core.library.server import changes
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.local_copy import LocalCopy
from semblance.core.workflows.library.local_copies import renew_copy
from semblance.core.workflows.maintenance.share_library import set_right
from semblance.core.workflows.maintenance.watch_library import WATCHING, library_changes
from tests.helpers.server_writes import cases_of, prepare, write_one


@pytest.fixture
def anna(database, postgres):
    """The address of a library of ten cases for the reader anna."""
    with ServerLibrary.create(server_address(database)) as made:
        prepare(made)
        for number in (1, 2):
            write_one(made, number)
        made.thumbnails.put([(case.removeprefix("s/"), b"image") for case in (*cases_of(1), *cases_of(2))])
    set_right(server_address(database), "anna", "reader", "pw")
    return server_address(postgres.address("library", "anna", "pw"))


def test_a_reader_of_some_rows_gets_a_copy_of_these_alone(anna, postgres):
    postgres.execute(
        "ALTER TABLE semblance.cases ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY first_five ON semblance.cases FOR SELECT TO library_reader USING (case_id LIKE 's/1-%')",
        "library",
    )
    renew_copy(anna)
    with open_library(replace(anna, is_away=True)) as opened:
        assert isinstance(opened, LocalCopy)
        assert [case.case_id for case in opened.catalogue.all_cases()] == cases_of(1)
        assert [row[0] for row in opened.catalogue.read(sa.select(cases.c.content))] == [
            case.removeprefix("s/") for case in cases_of(1)
        ]
        assert set(opened.thumbnails.contents()) == {case.removeprefix("s/") for case in cases_of(1)}


@pytest.mark.parametrize("how", ["by the program", "past the program"])
def test_a_right_that_is_taken_away_takes_the_copy_along(anna, database, monkeypatch, how):
    monkeypatch.setattr(changes, "ASK_S", 0.0)
    renew_copy(anna)
    events = library_changes(anna)
    assert next(events).kind == WATCHING
    assert local_folder(anna).exists()
    if how == "by the program":
        set_right(server_address(database), "anna", None)
    else:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("REVOKE library_reader FROM anna")
    with pytest.raises(AccessRefused):
        next(events)
    assert not local_folder(anna).exists()
    with pytest.raises(AccessRefused):
        open_library(anna)
