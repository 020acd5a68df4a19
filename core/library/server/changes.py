"""Notices of the server about what others change in a library, as they happen (LISTEN and NOTIFY)."""

from __future__ import annotations

import time
from typing import Any, Self

from semblance.core.library.address import ServerAddress
from semblance.core.library.server.catalogue import CHANNEL
from semblance.core.library.server.connection import (
    connection_error,
    connection_parameters,
    unavailable_error,
)
from semblance.core.library.server.tables import SCHEMA

#: Stands for every table: the connection was lost, and the library changed meanwhile.
EVERYTHING = "*"
#: Notices that come within so many seconds of the first are given together.
_TOGETHER_S = 0.05


class ChangeListener:
    """Tells which tables any program changed. A connection that was lost is made anew by the next :meth:`wait`."""

    def __init__(self, address: ServerAddress) -> None:
        """
        Raises:
            ServerUnavailable: the server does not answer, or refuses the user.
        """
        self._address = address
        self._connection: Any = None
        self._number: int | None = None
        self._missed = self._connect()

    def wait(self, seconds: float) -> frozenset[str]:
        """The tables that were changed since the last call, as soon as there are any; empty after ``seconds`` without
        a change. :data:`EVERYTHING` alone where the connection was lost and something changed meanwhile.

        Raises:
            ServerUnavailable: the server does not answer; the next call tries again.
        """
        import psycopg

        try:
            if self._connection is None:
                self._missed = self._connect()
            if self._missed:
                self._missed = False
                return frozenset({EVERYTHING})
            end = time.monotonic() + seconds
            while True:
                first = self._notices(max(0.0, end - time.monotonic()))
                if not first:
                    return frozenset()
                tables = {name for name in first if not name.isdecimal()}
                self._number = max([self._number or 0, *(int(name) for name in first if name.isdecimal())])
                if tables:
                    return frozenset(tables)
        except psycopg.Error as error:
            self._drop()
            raise connection_error(self._address, str(error)) or unavailable_error(
                self._address, str(error).strip().partition("\n")[0]
            ) from error

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
            self._connection.execute(f"LISTEN {CHANNEL}")
            row = self._connection.execute(f"SELECT number FROM {SCHEMA}.library_state").fetchone()
        except psycopg.Error as error:
            self._drop()
            raise connection_error(self._address, str(error)) or unavailable_error(
                self._address, str(error).strip().partition("\n")[0]
            ) from error
        number, before = int(row[0]), self._number
        self._number = number
        return before is not None and number != before

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
