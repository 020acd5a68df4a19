"""The files of a library on a server: rows of a table, copied to a folder of this computer as they are used."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from semblance.core.files import (
    create_folder,
    locked,
    make_folder,
    move,
    replacing,
    unfinished_name,
    write_file,
)
from semblance.core.library.database import upsert
from semblance.core.library.library_files import LibraryFiles, changed_chunks, description_name
from semblance.core.library.location import COPY_FACTS
from semblance.core.library.records import DERIVED
from semblance.core.library.server.catalogue import ServerCatalogue
from semblance.core.library.server.tables import stored_files as t

#: The file of the folder that names its library.
_IDENTITY = "library"
#: Files that are read or written with one statement.
_PART = 16


class ServerFiles(LibraryFiles):
    """The files of a library on a server. What stands in ``folder`` is a copy, and may be lost."""

    def __init__(self, catalogue: ServerCatalogue, folder: Path) -> None:
        super().__init__(folder)
        self._catalogue = catalogue
        with catalogue.errors():
            # A library that was deleted and made again under the same address has other files.
            identity = catalogue.library_id
            if not _is_of(folder, identity):
                _begin_anew(folder, identity)
            for name in ("features", "metrics", DERIVED):
                make_folder(folder / name)

    def fetch(self, names: Collection[str]) -> None:
        """Copy the files ``names`` from the server; remove copies of those that it no longer has."""
        for part in _parts(names):
            self._write_copies(part, self._catalogue.read(sa.select(t).where(t.c.name.in_(part))))

    def fetch_from(self, connection: sa.Connection, names: Collection[str]) -> None:
        """:meth:`fetch` the files as ``connection`` sees them."""
        for part in _parts(names):
            self._write_copies(part, connection.execute(sa.select(t).where(t.c.name.in_(part))).all())

    def _write_copies(self, names: Collection[str], rows: Sequence[sa.Row[Any]]) -> None:
        found = {r.name: r.data for r in rows}
        with self._catalogue.errors():
            for name in names:
                if name not in found:
                    super().remove(name)
                    continue
                target = self.folder / name
                create_folder(target.parent)
                with replacing(target, durable=False) as temporary:
                    temporary.write_bytes(found[name])

    def fetch_chunks(self, store: str, numbers: Collection[int], sums: Mapping[int, int]) -> None:
        """Copy the description of a feature store, and its chunks that are not here as the catalogue counted them."""
        with self._catalogue.errors():
            changed = changed_chunks(self.folder, store, numbers, sums)
        self.fetch([description_name(store), *changed])

    @property
    def has_copy(self) -> bool:
        """Whether there is a copy of the whole library in the folder."""
        return (self.folder / COPY_FACTS).is_file()

    def forget_copies(self) -> None:
        """Discard the local copies, so that everything is fetched again."""
        for name in ("features", "metrics"):
            with self._catalogue.errors():
                super().remove(name)
                make_folder(self.folder / name)

    def store(self, connection: sa.Connection, names: Collection[str]) -> None:
        """Copy files of the folder to the server."""
        statement = upsert(connection, t, ("name",))
        for part in _parts(names):
            rows = [{"name": name, "data": (self.folder / name).read_bytes()} for name in part]
            connection.execute(statement, rows)

    def names(self, connection: sa.Connection) -> list[str]:
        """All files of the library."""
        return list(connection.execute(sa.select(t.c.name).order_by(t.c.name)).scalars())

    def read(self, connection: sa.Connection, name: str) -> bytes:
        """What is in the file ``name``."""
        content: bytes = connection.execute(sa.select(t.c.data).where(t.c.name == name)).scalar_one()
        return content

    def write(self, connection: sa.Connection, name: str, content: bytes) -> None:
        """Write the file ``name``."""
        connection.execute(upsert(connection, t, ("name",)), {"name": name, "data": content})

    def exists(self, name: str) -> bool:
        """Whether the server has the file or folder ``name``."""
        return bool(self._catalogue.read(sa.select(t.c.name).where(_within(name)).limit(1)))

    def children(self, name: str) -> list[str]:
        """The names of what is in the folder ``name``, relative to it."""
        inside = sa.func.starts_with(t.c.name, f"{name}/")
        first = sa.func.split_part(sa.func.substr(t.c.name, len(name) + 2), "/", 1)
        return sorted({r[0] for r in self._catalogue.read(sa.select(first).where(inside).distinct())})

    def size(self, name: str) -> int:
        """The bytes of all files in the folder ``name``."""
        total = sa.select(sa.func.coalesce(sa.func.sum(sa.func.length(t.c.data)), 0)).where(_within(name))
        return int(self._catalogue.read(total)[0][0])

    def move(self, name: str, target: str) -> None:
        """Rename a file or folder on the server; copies here are fetched again."""
        with self._catalogue.files_transaction() as connection:
            connection.execute(t.delete().where(_within(target)))
            connection.execute(
                t.update().where(_within(name)).values(name=target + sa.func.substr(t.c.name, len(name) + 1))
            )
        self._drop_copies(name, target)

    def copy(self, connection: sa.Connection, name: str, target: str) -> None:
        """Copy a file or folder on the server."""
        connection.execute(t.delete().where(_within(target)))
        renamed = sa.literal(target) + sa.func.substr(t.c.name, len(name) + 1)
        chosen = sa.select(renamed, t.c.data).where(_within(name))
        connection.execute(t.insert().from_select(["name", "data"], chosen))
        self._drop_copies(target)

    def remove(self, name: str) -> None:
        """Remove a file or folder from the server."""
        with self._catalogue.files_transaction() as connection:
            connection.execute(t.delete().where(_within(name)))
        self._drop_copies(name)

    def _drop_copies(self, *names: str) -> None:
        for name in names:
            with contextlib.suppress(OSError):
                super().remove(name)


def _is_of(folder: Path, identity: str) -> bool:
    """Whether ``folder`` is that of the library ``identity``."""
    try:
        return (folder / _IDENTITY).read_bytes() == identity.encode()
    except (FileNotFoundError, NotADirectoryError):
        return False


def _begin_anew(folder: Path, identity: str) -> None:
    """Put an empty folder of the library ``identity`` in place of ``folder``, unless another program has done it.

    Raises:
        OSError: it cannot be written.
    """
    create_folder(folder.parent)
    with locked(folder.with_name(f"{folder.name}.lock")):
        if _is_of(folder, identity):
            return
        made = unfinished_name(folder)
        try:
            # Whole at once: a program that opens it now would take a folder without identity for another library's.
            create_folder(made)
            write_file(made / _IDENTITY, identity.encode(), durable=False)
            shutil.rmtree(folder, ignore_errors=not folder.exists())
            move(made, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _within(name: str) -> sa.ColumnElement[bool]:
    return sa.or_(t.c.name == name, sa.func.starts_with(t.c.name, f"{name}/"))


def _parts(names: Collection[str]) -> list[list[str]]:
    listed = list(names)
    return [listed[start : start + _PART] for start in range(0, len(listed), _PART)]
