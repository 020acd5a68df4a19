"""A library on a server with an account for each right."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from semblance.core.library.location import ServerAddress, server_address
from semblance.core.library.records import CaseRecord, FileRecord
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import SCHEMA
from semblance.core.workflows.maintenance.share_library import set_right
from tests.helpers.postgres_server import MAKER, PASSWORD

#: Accounts by right.
PEOPLE = {"reader": "rita", "annotator": "anna", "curator": "carl", "administrator": "adam"}


def make_library_of_people(address: ServerAddress) -> None:
    """Make a library of three cases at ``address``, and an account for each right."""
    with ServerLibrary.create(address) as made:
        source = made.catalogue.add_source("folder", "s", Path("/images"))
        made.catalogue.put(
            source,
            [FileRecord(name, 1, 1, name, "ok") for name in "abc"],
            [CaseRecord(f"s/{name}", name, content=name) for name in "abc"],
        )
    for right, name in PEOPLE.items():
        set_right(address, name, right, "pw")


@pytest.fixture
def library_of_people(database, postgres):
    """The address with the account that makes the library."""
    address = server_address(database)
    make_library_of_people(address)
    set_right(address, "anton", "annotator", "pw")
    postgres.execute("CREATE ROLE stranger LOGIN PASSWORD 'pw'")
    return address


@pytest.fixture
def connect_as(library_of_people, postgres):
    """Connects an account of the library."""

    def connected(name: str):
        options = f"-c search_path={SCHEMA},public"
        password = PASSWORD if name == MAKER else "pw"
        return psycopg.connect(postgres.address("library", name, password), autocommit=True, options=options)

    return connected
