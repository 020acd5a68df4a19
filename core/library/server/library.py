"""A library on a PostgreSQL server."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa

from semblance.core.errors import BadArguments, BadInput
from semblance.core.files import replacing
from semblance.core.language import tr_lazy
from semblance.core.library.audit import EXPORT, AuditCheck, AuditEntry, AuditHead, check_chain
from semblance.core.library.library import Library
from semblance.core.library.location import LibraryLocation, ServerAddress, local_folder
from semblance.core.library.records import READER, EmbeddingIndex
from semblance.core.library.server.catalogue import ServerCatalogue
from semblance.core.library.server.connection import connect, removal_of_refused, with_kept_password
from semblance.core.library.server.embeddings import ServerEmbedding, embedding_indexes
from semblance.core.library.server.files import ServerFiles
from semblance.core.library.server.people import Person, people_of, right_of_user, set_right
from semblance.core.library.server.projects import no_removal_error, projects_of
from semblance.core.library.server.set_up import create_tables, known_roles, run_page
from semblance.core.library.server.tables import (
    AUDIT_SCHEMA,
    LOBBY,
    audit_head,
    audit_log,
    export_log,
    schema_of,
)
from semblance.core.library.server.thumbnails import ServerThumbnails
from semblance.core.library.thumbnails import ThumbnailStore

#: Entries of the audit log that are read at once.
_ENTRIES = 10_000
_LAST_SEARCH = "last_search.json"
_ADD_EVENT = sa.text(f"SELECT {AUDIT_SCHEMA}.audit_event(:place, :action, :detail)")
_ADD_EXPORTS = sa.text(f"SELECT {LOBBY}.add_exports(:lines)")
_HEAD = sa.select(audit_head.c.number, audit_head.c.hash)


class ServerLibrary(Library):
    """An open library on a server. Its :attr:`path` is the address."""

    catalogue: ServerCatalogue
    files: ServerFiles
    thumbnails: ServerThumbnails
    location: ServerAddress

    def __init__(self, path: ServerAddress, *, writable: bool | None) -> None:
        # With the password, so that it is looked up once.
        self.location = path = with_kept_password(path)
        with removal_of_refused(path):
            self.catalogue = catalogue = ServerCatalogue(path, writable=writable)
        self.writable = catalogue.writable
        try:
            files = ServerFiles(catalogue, local_folder(path))
            self._set_up(files)
            self.thumbnails = ServerThumbnails(catalogue, files, private_thumbnails(files.folder))
        except BaseException:
            catalogue.close()
            raise

    @property
    def name(self) -> str:
        """The name of the database, and of the project in it."""
        return self.location.title

    def is_still_at(self, location: LibraryLocation) -> bool:
        """Whether the server answers, as far as ``location`` knows."""
        return isinstance(location, ServerAddress) and not location.is_away

    @cached_property
    def right(self) -> str:
        """What the user may do, as the server says when it is first asked for."""
        if not self.writable:
            return READER
        with self.catalogue.snapshot() as connection:
            return right_of_user(connection)

    @property
    def can_store_derived(self) -> bool:
        """Always: the folder is in the user's cache."""
        return True

    def embedding_indexes(self) -> list[EmbeddingIndex]:
        """The embeddings of metrics that have an index for candidates."""
        return embedding_indexes(self.catalogue)

    def embedding(self, index: EmbeddingIndex) -> ServerEmbedding:
        """The vectors of an embedding."""
        return ServerEmbedding(self.catalogue, index.number, index.centre, index.scale)

    def load_last_search(self) -> Mapping[str, Any] | None:
        """The search that the window of this user showed last on this computer; ``None`` without one."""
        return last_search_of(self.files.folder)

    def save_last_search(self, state: Mapping[str, Any]) -> None:
        """Save the search that the window shows: on this computer, because that of others is another."""
        with self.catalogue.errors(), replacing(self.files.folder / _LAST_SEARCH) as temporary:
            temporary.write_text(json.dumps(dict(state)), encoding="utf-8")

    @contextlib.contextmanager
    def removal(self) -> Iterator[sa.Connection]:
        """A transaction within which nobody changes the library, and which removes it if it ends without an error."""
        with self.catalogue.exclusive() as connection:
            if names := [one.name for one in projects_of(connection)]:
                raise no_removal_error(self.location, names)
            yield connection
            run_page(connection, "remove", known_roles(connection))

    def add_exports(self, connection: sa.Connection, lines: Sequence[str]) -> None:
        """Add lines that another home of the library logged, within a running transaction."""
        if lines:
            connection.execute(_ADD_EXPORTS, {"lines": list(lines)})

    def exports(self, count: int | None = None) -> list[str]:
        """The last ``count`` lines of the log of exports, or all, oldest first."""
        newest = self.catalogue.read(self._logged(count).where(audit_log.c.action == EXPORT))
        lines = [
            # The server knows who it was, and when.
            json.dumps({**AuditEntry(*r).detail_values, "time": r.time, "by": r.by}, ensure_ascii=False)
            for r in reversed(newest)
        ]
        earlier = sa.select(export_log.c.line).order_by(export_log.c.id.desc()).limit(count)
        lines = [*(r.line for r in reversed(self.catalogue.read(earlier))), *lines]
        return lines if count is None else lines[-count:]

    def log_event(self, action: str, detail: Mapping[str, Any]) -> None:
        """Log a search, a view or an export. The server notes who it was, and when.

        Raises:
            SemblanceError: it cannot be logged.
        """
        if self.catalogue.is_standby:
            return
        text = json.dumps(detail, ensure_ascii=False)
        event = {"place": schema_of(self.location), "action": action, "detail": text}
        if not self.catalogue.reads_only:
            with self.catalogue.errors(), self.catalogue.engine.connect() as connection:
                connection.execute(_ADD_EVENT, event)
            return
        with self.catalogue.files_transaction() as connection:
            connection.execute(sa.text("SET TRANSACTION READ WRITE"))
            connection.execute(_ADD_EVENT, event)

    def audit_entries(self, count: int) -> list[AuditEntry]:
        """The last ``count`` entries of the audit log, oldest first; in a project, those that name it."""
        return [AuditEntry(*row) for row in reversed(self.catalogue.read(self._logged(count)))]

    def audit_head(self) -> AuditHead:
        """The number and the hash of the last entry of the audit log."""
        self._check_has_log()
        self._seal()
        return AuditHead(*self.catalogue.read(_HEAD)[0])

    def _check_has_log(self) -> None:
        if self.location.project:
            raise BadArguments(
                "The audit log of a project is part of that of its library.",
                "Check the log of the library: the address without the project.",
            )

    def _logged(self, count: int | None) -> sa.Select[Any]:
        self._seal()
        chosen = sa.select(audit_log).order_by(audit_log.c.number.desc()).limit(count)
        if self.location.project:
            return chosen.where(
                sa.func.semblance_audit.project_of(audit_log.c.detail) == self.location.project
            )
        return chosen

    def _seal(self) -> None:
        """Have entries in the log that waited for another transaction."""
        if not self.catalogue.is_standby:
            with self.catalogue.files_transaction() as connection:
                connection.execute(sa.text("SET TRANSACTION READ WRITE"))
                connection.execute(sa.text(f"SELECT {AUDIT_SCHEMA}.seal()"))

    def check_audit(self, since: str = "") -> AuditCheck:
        """Check the chain of hashes of the audit log; see :func:`semblance.core.library.audit.check_chain`."""
        self._check_has_log()
        self._seal()
        with self.catalogue.snapshot() as connection:
            head = connection.execute(_HEAD).first()
            query = sa.select(audit_log).order_by(audit_log.c.number).execution_options(yield_per=_ENTRIES)
            entries = (AuditEntry(*row) for row in connection.execute(query))
            return check_chain(entries, AuditHead() if head is None else AuditHead(*head), since)

    @classmethod
    def create(cls, location: LibraryLocation) -> Self:
        """Create the library in the database at ``location``, unless there is one, and open it.

        Raises:
            SemblanceError: the user may not, or the server has no pgvector.
        """
        address = _address(location)
        if address.project:
            return cls.open(address, writable=True)
        engine = connect(address, writable=True)
        try:
            create_tables(engine, address)
        finally:
            engine.dispose()
        library = cls(address, writable=True)
        # Those who may only judge cannot make its key.
        library.pseudonyms()
        return library

    def people(self) -> list[Person]:
        """Those who have a right in the library."""
        self._check_is_whole()
        with self.catalogue.snapshot() as connection:
            return people_of(connection)

    def set_right(self, person: str, right: str | None, password: str | None = None) -> None:
        """Give a person a right; see :func:`semblance.core.library.server.people.set_right`."""
        self._check_is_whole()
        with self.catalogue.exclusive() as connection:
            set_right(connection, self.location, person, right, password)

    def _check_is_whole(self) -> None:
        if self.location.project:
            raise BadArguments(
                "This is a project of a library.", "Give the address of the library, without the project."
            )

    @contextlib.contextmanager
    def projects(self) -> Iterator[sa.Connection]:
        """A transaction that manages projects of the library.

        Raises:
            BadArguments: this is a project.
            SemblanceError: the user may not.
        """
        self._check_is_whole()
        with self.catalogue.exclusive() as connection:
            yield connection

    @classmethod
    def open(cls, location: LibraryLocation, *, writable: bool | None = None) -> Self:
        """Open the library at ``location``; read-only where the user may only read, unless ``writable`` says.

        Raises:
            BadInput: the database has no library, or one of a newer version.
            ServerUnavailable: no server answers.
            SemblanceError: ``writable=True`` where the user may only read.
        """
        return cls(_address(location), writable=writable)

    @classmethod
    def open_or_create(cls, location: LibraryLocation) -> Self:
        """The library at the address ``location`` for writing, created when the database has none."""
        return cls.create(location)


def last_search_of(folder: Path) -> Mapping[str, Any] | None:
    """The last search that is kept in ``folder``, the one for files of a library on this computer."""
    try:
        found = json.loads((folder / _LAST_SEARCH).read_bytes())
    except (OSError, ValueError):
        # Nothing is lost but the place where the user was.
        return None
    return found if isinstance(found, dict) else None


def private_thumbnails(folder: Path) -> ThumbnailStore:
    """The thumbnails that are kept in ``folder``, readable by the user alone."""
    return ThumbnailStore(folder / "thumbnails.sqlite", writable=True)


def _address(location: LibraryLocation) -> ServerAddress:
    if isinstance(location, Path):
        raise BadInput(
            tr_lazy("{path} is not the address of a server.", path=location),
            "Give one such as postgresql://HOST/DATABASE.",
        )
    return location
