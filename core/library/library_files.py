"""The files of a library beside its catalogue: values of features, metrics, and what was deleted."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

import sqlalchemy as sa

from semblance.core.files import TEMPORARY, UNFINISHED, copy_private, create_folder, move, write_file
from semblance.core.library.feature_chunks import DESCRIPTION, chunk_checksum, chunk_file
from semblance.core.library.records import DELETED, PASTED

#: The folders with files that cannot be made again.
_COPIED = ("features", "metrics", DELETED, PASTED)


class LibraryFiles:
    """The files of a library in a folder. Names are relative to it, with slashes, and may be folders.

    Programs read and write files in ``folder``. Where the library is elsewhere, :meth:`fetch` copies files to the
    folder before they are read, and :meth:`store` from there after they were written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fetch(self, names: Collection[str]) -> None:
        """Have the files ``names`` in the folder, as the library has them now."""

    def fetch_new(self, names: Collection[str]) -> None:
        """:meth:`fetch` those of ``names``, which never change, that are not in the folder yet."""
        self.fetch([name for name in names if not (self.folder / name).is_file()])

    def fetch_chunks(self, store: str, numbers: Collection[int], sums: Mapping[int, int]) -> None:
        """:meth:`fetch` the description of the feature store ``store``, and those of its chunks that are not in the
        folder or have another checksum there; ``sums``: chunk number -> checksum."""

    def forget_copies(self) -> None:
        """Discard the copies in the folder, so that everything is fetched again."""

    def store(self, connection: sa.Connection, names: Collection[str]) -> None:
        """Make the files ``names``, as they are in the folder, a part of the library, within a running transaction."""

    def names(self, connection: sa.Connection) -> list[str]:
        """All files of the library but those that are made again from the rest, as ``connection`` sees them."""
        files = (file for top in _COPIED for file in (self.folder / top).rglob("*"))
        return sorted(
            file.relative_to(self.folder).as_posix()
            for file in files
            if file.is_file() and not file.is_symlink() and not _is_temporary(file)
        )

    def read(self, connection: sa.Connection, name: str) -> bytes:
        """What is in the file ``name``."""
        return (self.folder / name).read_bytes()

    def write(self, connection: sa.Connection, name: str, content: bytes) -> None:
        """Make the file ``name`` with ``content`` a part of the library, within a running transaction."""
        create_folder((self.folder / name).parent)
        write_file(self.folder / name, content, durable=False)

    def exists(self, name: str) -> bool:
        """Whether the library has the file or folder ``name``."""
        return (self.folder / name).exists()

    def children(self, name: str) -> list[str]:
        """The names of what is in the folder ``name``, relative to it; none where it does not exist."""
        folder = self.folder / name
        return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []

    def size(self, name: str) -> int:
        """The bytes of all files in the folder ``name``."""
        folder = self.folder / name
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

    def move(self, name: str, target: str) -> None:
        """Rename a file or folder, in place of what is at ``target``."""
        self.remove(target)
        create_folder((self.folder / target).parent)
        move(self.folder / name, self.folder / target)

    def copy(self, connection: sa.Connection, name: str, target: str) -> None:
        """Copy a file or folder, in place of what is at ``target``, within a running transaction."""
        self.remove(target)
        if (self.folder / name).is_dir():
            for file in (self.folder / name).rglob("*"):
                if file.is_file():
                    copied = self.folder / target / file.relative_to(self.folder / name)
                    create_folder(copied.parent)
                    copy_private(file, copied)
        else:
            copy_private(self.folder / name, self.folder / target)

    def remove(self, name: str) -> None:
        """Remove a file or folder, if it exists."""
        path = self.folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _is_temporary(file: Path) -> bool:
    """Whether a program is writing it, or was killed while it did."""
    return file.suffix in (TEMPORARY, UNFINISHED)


def changed_chunks(folder: Path, store: str, numbers: Collection[int], sums: Mapping[int, int]) -> list[str]:
    """The names of the files of those of ``numbers`` that are not in ``folder`` as the catalogue counted them."""
    found = ((number, chunk_checksum(folder / store, number)) for number in numbers)
    return [chunk_name(store, number) for number, has in found if has is None or has != sums.get(number, has)]


def chunk_name(store: str, number: int) -> str:
    """The name of the file of a chunk of the feature store ``store``."""
    return chunk_file(Path(store), number).as_posix()


def description_name(store: str) -> str:
    """The name of the file that describes the feature store ``store``."""
    return f"{store}/{DESCRIPTION}"
