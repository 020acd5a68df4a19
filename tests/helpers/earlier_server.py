"""A library on a server as the version of Semblance before made it: with its roles, people and a project."""

from __future__ import annotations

import gzip
from pathlib import Path

import psycopg

from semblance.core.library.rights import RIGHTS
from tests.helpers.postgres_server import PASSWORD, PostgresServer

#: Who made it, who has which right in it, and the member of its project.
MADE_BY, MEMBER = "maker", "mia"
PEOPLE = {"reader": "rita", "annotator": "anna", "curator": "carl", "administrator": "adam"}
_DUMP = Path(__file__).parent / "schemas" / "server_0006.sql.gz"


def earlier_library(server: PostgresServer) -> None:
    """Make the database `library` with a library of the tables 0006, as it was before a dump."""
    server.new_database("library")
    server.execute(f"CREATE ROLE {MADE_BY} LOGIN CREATEROLE PASSWORD '{PASSWORD}'")
    server.execute(f"ALTER DATABASE library OWNER TO {MADE_BY}")
    with psycopg.connect(server.address("postgres", MADE_BY), autocommit=True) as maker:
        lower = ""
        for right in RIGHTS:
            maker.execute(f"CREATE ROLE library_{right} NOLOGIN {f'IN ROLE {lower}' if lower else ''}")
            lower = f"library_{right}"
        maker.execute(f"GRANT {lower} TO {MADE_BY} WITH SET TRUE, INHERIT TRUE")
        for right, person in (*PEOPLE.items(), ("", MEMBER)):
            maker.execute(f"CREATE ROLE {person} LOGIN PASSWORD '{PASSWORD}'")
            if right:
                maker.execute(f"GRANT library_{right} TO {person}")
    with psycopg.connect(server.address("library"), autocommit=True) as connection:
        connection.execute(gzip.decompress(_DUMP.read_bytes()).decode())
