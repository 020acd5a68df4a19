"""Notices of the server about what others change in a library, as they happen (LISTEN and NOTIFY)."""

from __future__ import annotations

import re
import time
from typing import Any, Self

from semblance.core.errors import AccessRefused, SemblanceError
from semblance.core.library.location import ServerAddress
from semblance.core.library.schema import tables as catalogue_tables
from semblance.core.library.server.connection import (
    NO_RIGHTS,
    connection_error,
    connection_parameters,
    no_right_error,
    unavailable_error,
)
from semblance.core.library.server.projects import STATE, check_state
from semblance.core.library.server.tables import project_members, projects, schema_of
from semblance.core.library.server.tables import tables as server_tables

#: Stands for every table: the connection was lost, and the library changed meanwhile.
EVERYTHING = "*"
#: Tables whose rows have an author.
_AUTHORED = ("judgements", "concepts", "concept_marks", "annotations", "edits")
#: Tables whose changes may mean that the user may not read the project any more.
_OF_PROJECTS = frozenset({projects.name, project_members.name})
#: What notices hold: a table, or the number of the change.
_TABLES = frozenset(catalogue_tables.tables) | frozenset(server_tables.tables)
_NUMBER = re.compile(r"[0-9]{1,18}")
#: Notices that come within so many seconds of the first are given together.
_TOGETHER_S = 0.05
#: The server says nothing when it takes the right to read the library away, so it is asked after so many seconds.
ASK_S = 60.0


class ChangeListener:
    """Reports which tables any program changed. A lost connection is made again by the next :meth:`wait`."""

    def __init__(self, address: ServerAddress) -> None:
        """
        Raises:
            AccessRefused: the user may not read the library, or not any more.
            ServerUnavailable: the server does not answer.
        """
        self._address, self._schema = address, schema_of(address)
        self._connection: Any = None
        self._number: int | None = None
        self._asked = 0.0
        #: Table -> the newest row that was counted.
        self._seen: dict[str, int] = {}
        self._missed = self._connect()

    def wait(self, seconds: float) -> frozenset[str]:
        """The tables that were changed since the last call, as soon as there are any; empty after ``seconds`` without
        a change. :data:`EVERYTHING` alone where the connection was lost and something changed meanwhile.

        Raises:
            AccessRefused: the user was taken out of the project, or it was closed.
            ServerUnavailable: the server does not answer; the next call tries again.
        """
        import psycopg

        try:
            if self._connection is None:
                self._missed = self._connect()
            if self._missed:
                self._missed = False
                return frozenset({EVERYTHING})
            if time.monotonic() - self._asked >= ASK_S:
                self._read_number()
            end = time.monotonic() + seconds
            while True:
                first = self._notices(max(0.0, end - time.monotonic()))
                if not first:
                    return frozenset()
                # Anybody with an account of the server can send notices.
                tables = _TABLES.intersection(first)
                if not tables.isdisjoint(_OF_PROJECTS):
                    self._check_project()
                    tables -= _OF_PROJECTS
                self._number = max(
                    [self._number or 0, *(int(name) for name in first if _NUMBER.fullmatch(name))]
                )
                if tables:
                    return frozenset(tables)
        except psycopg.Error as error:
            raise self._lost(error) from error

    def authors(self) -> dict[str, int]:
        """Account -> the number of judgements, concepts, marks, annotations and edits that it added since the last
        call, without those of this account. What an import or a training adds has no author.

        Raises:
            ServerUnavailable: the server does not answer.
        """
        import psycopg

        found: dict[str, int] = {}
        try:
            for table in self._seen:
                query = (
                    f"SELECT author, count(*), max(id) FROM {self._schema}.{table} WHERE id > %s"
                    " AND author <> session_user GROUP BY author"
                )
                for author, added, last in self._connection.execute(query, (self._seen[table],)):
                    found[author] = found.get(author, 0) + added
                    self._seen[table] = max(self._seen[table], last)
        except psycopg.Error as error:
            raise self._lost(error) from error
        return found

    def close(self) -> None:
        """Close the connection."""
        self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _notices(self, seconds: float) -> list[str]:
        found = [one.payload for one in self._connection.notifies(timeout=seconds, stop_after=1)]
        if found:
            found += [one.payload for one in self._connection.notifies(timeout=_TOGETHER_S)]
        return found

    def _connect(self) -> bool:
        """Connect and listen; whether the library changed since the last notice."""
        import psycopg

        try:
            self._connection = psycopg.connect(
                **connection_parameters(self._address, writable=False), autocommit=True
            )
            # Listening first: what changes between the two statements is noticed twice, never missed.
            self._connection.execute(f"LISTEN {self._schema}")
            self._check_project()
            number, before = self._read_number(), self._number
            if not self._seen:
                for table in _AUTHORED:
                    newest = f"SELECT coalesce(max(id), 0) FROM {self._schema}.{table}"
                    self._seen[table] = self._connection.execute(newest).fetchone()[0]
        except psycopg.Error as error:
            raise self._lost(error) from error
        self._number = number
        return before is not None and number != before

    def _read_number(self) -> int:
        """The number of the last change, which only who may read the library gets."""
        row = self._connection.execute(f"SELECT number FROM {self._schema}.library_state").fetchone()
        self._asked = time.monotonic()
        return int(row[0])

    def _check_project(self) -> None:
        """
        Raises:
            AccessRefused: this is a project, which the user may not read any more.
        """
        if self._address.project:
            found = self._connection.execute(STATE, (self._address.project,)).fetchone()
            try:
                check_state(self._address, *found)
            except AccessRefused:
                self._drop()
                raise

    def _lost(self, error: Exception) -> SemblanceError:
        """Drop the connection; the error to raise."""
        self._drop()
        first_line = str(error).strip().partition("\n")[0]
        if getattr(error, "sqlstate", None) == NO_RIGHTS:
            return no_right_error(self._address, first_line)
        return connection_error(self._address, str(error)) or unavailable_error(self._address, first_line)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
