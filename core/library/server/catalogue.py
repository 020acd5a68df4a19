"""The catalogue of a library on a server."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Iterator, Sequence
from typing import Any
from unicodedata import category, normalize

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import TSQUERY

from semblance.core.library.case_headers import DATE, GIVEN, GROUPS, READ, HeaderColumns
from semblance.core.library.case_names import SHIFTED
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.location import ServerAddress
from semblance.core.library.records import ANNOTATOR, CURATOR, present
from semblance.core.library.schema import TEXT_WEIGHTS, cases, files, judgements, sources
from semblance.core.library.server.connection import (
    connect,
    not_writable_error,
    removal_of_refused,
    server_errors,
    transaction,
)
from semblance.core.library.server.projects import check_open
from semblance.core.library.server.set_up import check_revision
from semblance.core.library.server.tables import LOBBY, library_state, thumbnails
from semblance.core.library.text_query import TextTerm, folded, ranked_texts

_STATE = sa.select(library_state.c.number, library_state.c.cases_version)
#: Characters of a word in the index of the server, at most.
_LONGEST_WORD = 500


class ServerCatalogue(Catalogue):
    """Reads and writes the tables of a library on a server; a lost connection is made again.

    Raises:
        BadInput: the database has no library, or one of a newer version.
        ServerUnavailable: the server does not answer.
        SemblanceError: it refuses the user, or ``writable`` is asked for and the user may only read.
    """

    def __init__(self, address: ServerAddress, *, writable: bool | None) -> None:
        self.address = address
        #: Numbers of the last changes of the library that were made here.
        self._own_changes: set[int] = set()
        #: Whether transactions are made to read only, unless they say otherwise.
        self.reads_only = writable is False
        engine = connect(address, writable=not self.reads_only)
        try:
            with server_errors(address), engine.connect() as connection:
                #: The last day of a project, UTC; "" for the library itself.
                self.until = check_open(connection, address) if address.project else ""
                self.is_standby = bool(connection.execute(sa.select(sa.func.pg_is_in_recovery())).scalar())
            may_write = writable is not False and not self.is_standby
            check_revision(engine, address, writable=may_write)
            with server_errors(address), engine.connect() as connection:
                allowed, may_store, self._account, time = _account(connection, address)
            #: Seconds that the clock of the server is ahead of the one of this computer.
            self.ahead = (time - present()).total_seconds()
            may_write = may_write and allowed
            self._is_curator = may_store
            #: Whether the user may store thumbnails, which others see.
            self.may_store_images = may_write and may_store
            if writable and not may_write:
                raise not_writable_error(address)
            self.writable = may_write
            self._writing = engine
            # Single statements need no transaction, which would be two more ways to the server and back.
            self.engine = engine.execution_options(isolation_level="AUTOCOMMIT")
            self.library_id = str(self.read(sa.select(library_state.c.id))[0][0])
        except BaseException:
            engine.dispose()
            raise

    @property
    def where(self) -> ServerAddress:
        """The address of the library."""
        return self.address

    @property
    def library_name(self) -> str:
        """The name of the library in messages."""
        return str(self.address)

    def errors(self) -> contextlib.AbstractContextManager[None]:
        """Turns errors of the server into errors that name the library."""
        return server_errors(self.address)

    def read_columns(self, query: sa.Select[Any]) -> tuple[list[Any], ...]:
        """Each column of ``query`` as a list."""
        rows = self.read(query)
        if not rows:
            return tuple([] for _ in query.selected_columns)
        return tuple(list(column) for column in zip(*rows, strict=True))

    def identity(self) -> tuple[int, int] | None:
        """The same value for the same library."""
        return 0, int(self.library_id.replace("-", ""), 16)

    def stamp(self) -> tuple[Any, ...]:
        """A value that changes whenever any program wrote to the library.

        Raises:
            AccessRefused: the project may not be read any more.
        """
        state = self.read(_STATE)
        if not state:
            # The server shows no row to whom a project is not open any more.
            with removal_of_refused(self.address), self.errors(), self.engine.connect() as connection:
                check_open(connection, self.address)
        return self.library_id, state[0].number, state[0].cases_version

    def cases_stamp(self, stamp: tuple[Any, ...]) -> tuple[Any, ...]:
        """See :meth:`semblance.core.library.catalogue.Catalogue.cases_stamp`."""
        return stamp[0], stamp[2]

    def notes_own_changes(self, stamp: tuple[Any, ...]) -> bool:
        """Always: what others wrote since ``stamp`` leaves a gap in the numbers."""
        self._own_changes.clear()
        return True

    def stamp_after_own_changes(self, stamp: tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
        """See :meth:`semblance.core.library.catalogue.Catalogue.stamp_after_own_changes`."""
        library_id, number, cases_version = stamp
        while number + 1 in self._own_changes:
            number += 1
        return (library_id, number, cases_version), number >= max(self._own_changes, default=number)

    def present(self) -> datetime.datetime:
        """The present moment, UTC, by the clock of the server."""
        return present(self.ahead)

    def author(self, name: str) -> str:
        """The account, as the server writes it for all but administrators."""
        return self._account

    def may_change(self, author: str) -> bool:
        """Whether ``author`` is the account, or the account is of a curator."""
        return author == self._account or self._is_curator

    def is_settled(self, stamp: tuple[Any, ...]) -> bool:
        """Always: the server counts transactions."""
        return True

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[sa.Connection]:
        """A transaction that locks out other writers and notifies nobody."""
        if not self.writable:
            raise not_writable_error(self.address)
        with transaction(self.engine, self.address) as connection:
            yield connection

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A write transaction as a context manager giving the connection. Others are notified when it ends."""
        with self.exclusive() as connection:
            yield connection
            # One message: each is a way to the server and back.
            noted = connection.exec_driver_sql(f"SELECT {LOBBY}.note_change(current_schema(), false); COMMIT")
            number = int(noted.scalar_one())
        self._own_changes.add(number)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """A connection that reads the library as it is at its first statement, whatever others write."""
        frozen = self._writing.execution_options(isolation_level="REPEATABLE READ")
        with self.errors(), frozen.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def files_transaction(self) -> Iterator[sa.Connection]:
        """A transaction that changes no row of the catalogue, also while one of this program that does is running."""
        with self.errors(), self._writing.connect() as connection, connection.begin():
            yield connection

    def headers(self) -> HeaderColumns:
        """See :meth:`semblance.core.library.catalogue.Catalogue.headers`."""
        text = sa.type_coerce(cases.c.attributes, sa.Text)
        query = (
            sa.select(cases.c.id, cases.c.depth, text.label("attributes"), sources.c.identified)
            .join(files, files.c.id == cases.c.file)
            .join(sources, sources.c.id == files.c.source)
        )
        is_given = sa.or_(*(text.contains(f'"{name}"') for name in GIVEN))
        rows = self.read(query.where(is_given).order_by(cases.c.id))
        found = [
            (r.id, r.depth, attributes)
            for r in rows
            if set(GIVEN) & (attributes := json.loads(r.attributes)).keys()
        ]
        shifted = {r.id for r in rows if not r.identified}
        for row, _, attributes in found:
            if row in shifted and DATE in attributes and "study" in attributes:
                attributes[DATE] += SHIFTED
        return HeaderColumns(
            np.array([row for row, _, _ in found], dtype=np.int64),
            [depth for _, depth, _ in found],
            [
                json.dumps([attributes.get(name) for name in READ], ensure_ascii=False, separators=(",", ":"))
                for _, _, attributes in found
            ],
            {name: [attributes.get(name) for _, _, attributes in found] for name in (*GROUPS, DATE)},
        )

    def find_text(
        self, terms: Sequence[TextTerm], *, ranked: bool = True
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """See :meth:`semblance.core.library.catalogue.Catalogue.find_text`."""
        # Only letters and digits are left in the words, so that nothing in them is an operator.
        phrases = []
        for term in terms:
            listed = [part[:_LONGEST_WORD] for word in term.words for part in server_words(word)]
            if listed:
                phrases.append(" <-> ".join([*listed[:-1], listed[-1] + ":*" * term.is_prefix]))
        if not phrases:
            return ranked_texts(np.empty(0, dtype=np.int64), np.empty(0))
        query = " & ".join(phrases)
        words = sa.table("case_words", sa.column("case"), sa.column("words"))
        typed = sa.cast(query, TSQUERY)
        matches = words.c.words.op("@@", is_comparison=True)(typed)
        finding, header, notes = (weight / max(TEXT_WEIGHTS) for weight in TEXT_WEIGHTS)
        # Of words without a weight, with C, B and A.
        weights = sa.cast(sa.cast(f"{{{header},0,{notes},{finding}}}", sa.Text), postgresql.ARRAY(sa.REAL))
        # Divided by the logarithm of the length, as BM25 prefers short texts.
        score = sa.func.ts_rank(weights, words.c.words, typed, 1) if ranked else sa.literal(0.0)
        found = self.read(sa.select(words.c.case, score.label("score")).where(matches))
        rows, scores = [r[0] for r in found], [-float(r.score) for r in found]
        return ranked_texts(np.array(rows, dtype=np.int64), np.array(scores, dtype=np.float64))


#: Digits of other scripts. The function ``words_of`` of the server has the same.
_DIGITS = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९০১২৩৪৫৬৭৮৯", "0123456789" * 4)


def server_words(word: str) -> list[str]:
    """The parts of ``word`` in the index of the server: letters and digits of another width or script, as in "ＣＴ" and
    "mm²", are those that they stand for (NFKC), and digits that stand for no others separate."""
    plain = folded(normalize("NFKC", word).translate(_DIGITS))
    kept = (one if one.isalpha() or one in "0123456789" or category(one) == "Nl" else " " for one in plain)
    return "".join(kept).split()


def server_function(name: str, *arguments: Any) -> sa.ColumnElement[Any]:
    """A call of a function of the server for the library, or the project, that the connection is for."""
    called: sa.ColumnElement[Any] = getattr(getattr(sa.func, LOBBY), name)(
        sa.func.current_schema(), *arguments
    )
    return called


def _account(connection: sa.Connection, address: ServerAddress) -> tuple[bool, bool, str, datetime.datetime]:
    """Whether the user may judge cases, and store thumbnails; the account; the time."""
    account = sa.cast(sa.text("session_user"), sa.Text)
    # Many have the privilege in a project, and the policies of its rows decide.
    judges, stores = (
        server_function("has_right", right)
        if address.project
        else sa.func.has_table_privilege(sa.func.to_regclass(table.name), "INSERT")
        for table, right in ((judgements, ANNOTATOR), (thumbnails, CURATOR))
    )
    query = sa.select(judges, stores, account, sa.func.clock_timestamp())
    may_judge, may_store, name, time = connection.execute(query).one()
    return bool(may_judge), bool(may_store), str(name), time
