"""What an importer looks into: a folder, a zip or a single file, listed in the same way."""

from __future__ import annotations

import abc
import io
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import DICOM, HEAD_BYTES, sniff
from semblance.core.imaging.image_address import IN_ZIP, ImageAddress, address_in_folder, divide_zip_entry
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.imaging.volume_files import has_header_name, voxel_file_name
from semblance.core.imaging.zip_archive import ZipArchive, modified_ns, open_regular_file, read_file
from semblance.core.language import tr_lazy
from semblance.core.library.natural_key import natural_key

if TYPE_CHECKING:
    from semblance.core.library.importers.finding_rules import ListReport

Kind = Literal["folder", "zip", "file"]

_FILE_MANAGERS = frozenset(("thumbs.db", "desktop.ini", "ehthumbs.db"))
#: Entries of a zip in a folder that are checked first for DICOM files.
_SAMPLED_ENTRIES = 8


@dataclass(frozen=True)
class Entry:
    """One file: ``path`` relative to the source with ``/`` ("" for a source that is one file), ``size`` in
    bytes, ``mtime_ns`` when it last changed, ``crc`` its CRC-32 in a zip. Those of a header whose voxels lie in
    another file beside it are the sums of both, so that they change with each."""

    path: str
    size: int
    mtime_ns: int
    crc: int | None = None


class Source(abc.ABC):
    """Files of one place, listed once and read one at a time; use it in a ``with`` statement.

    Every file is in exactly one of ``entries()``, ``refused`` (path, reason: unsafe names, links, folders
    that cannot be opened, password) and ``ignored`` (path, reason: hidden files, leavings of file managers).
    An importer reports how the entries and ``ignored`` were used; its caller reports ``refused`` as failed.
    ``closed_zips``: why a zip among the entries cannot be opened (path -> reason).
    ``pseudonyms``: how patients are called in the library; ``None`` where their ids are kept. ``known_slices``: the
    slices of the case that the library has of this source under the key of a :class:`FoundCase`.
    ``encoding``: that of the lists in it, ``None`` as it is recognised. ``notes``: sentences about what was read and a
    person should know. ``earlier_rule``: how findings were chosen when the library read the source last;
    ``list_report``: how they are chosen now, where lists name them.
    """

    kind: Kind

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pseudonyms: Pseudonyms | None = None
        self.known_slices: Callable[[str], Sequence[tuple[str, int | None]]] = lambda _key: ()
        self.encoding: str | None = None
        self.notes: list[str] = []
        self.earlier_rule: Mapping[str, Any] = {}
        self.list_report: ListReport | None = None
        self.refused: list[tuple[str, str]] = []
        self.ignored: list[tuple[str, str]] = []
        self.closed_zips: dict[str, str] = {}
        self._entries: list[Entry] | None = None

    @staticmethod
    def open(path: Path) -> Source:
        """
        Raises:
            BadInput: nothing there, not readable, or a damaged zip.
        """
        path = Path(os.path.abspath(path))  # noqa: PTH100 - links in the user's own path stay as typed
        if path.suffix == ".semblance":
            raise BadInput(
                tr_lazy("'{path}' is a Semblance library.", path=path), "Open it instead of importing it."
            )
        if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises on a name that is too long
            return FolderSource(path)
        with open_regular_file(path, str(path)) as file:
            head = file.read(4)
        is_array_file = path.suffix.lower() == ".npz"
        if path.suffix.lower() == ".zip" or (head == b"PK\x03\x04" and not is_array_file):
            return ZipSource(path)
        return FileSource(path)

    def entries(self) -> list[Entry]:
        """The files that may be read, in natural order ("2.png" before "10.png")."""
        if self._entries is None:
            listed = [entry for entry in self._list() if not self._ignore_clutter(entry.path)]
            by_path = {entry.path: entry for entry in listed}
            counted = (self._with_voxels(entry, by_path) for entry in listed)
            self._entries = sorted(counted, key=lambda entry: _in_order(entry.path))
            self.refused.sort(key=lambda item: _in_order(item[0]))
            self.ignored.sort(key=lambda item: _in_order(item[0]))
        return self._entries

    def label(self, path: str) -> str:
        """What to call an entry in messages: its path, or the file's name for a source that is one file."""
        return path or self.path.name

    @abc.abstractmethod
    def read(self, path: str) -> bytes:
        """All bytes of an entry.

        Raises:
            BadInput: not an entry, damaged, or not readable.
        """

    @abc.abstractmethod
    def head(self, path: str) -> bytes:
        """The first bytes of an entry, enough to recognise its format.

        Raises:
            BadInput: as :meth:`read`.
        """

    def stream(self, path: str) -> BinaryIO:
        """An entry open for reading from its start, however large; close it.

        Raises:
            BadInput: as :meth:`read`.
        """
        return io.BytesIO(self.read(path))

    def stream_beside(self, path: str) -> BinaryIO | None:
        """The file with the voxels of the header ``path``; ``None`` for other files, or where it is missing.

        Raises:
            BadInput: as :meth:`read`.
        """
        beside = self._voxels_beside(path)
        known = beside is not None and any(entry.path == beside for entry in self.entries())
        return self.stream(beside) if beside is not None and known else None

    @abc.abstractmethod
    def address(self, path: str, member: str = "", frame: int | None = None) -> ImageAddress:
        """Where the image of an entry lies; ``member`` an array within the entry, ``frame`` its row."""

    def close(self) -> None:
        """Close open files; a second call does nothing."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abc.abstractmethod
    def _list(self) -> Iterator[Entry]:
        """Every readable file; the others go to ``refused``."""

    def _voxels_beside(self, path: str) -> str | None:
        """The path of the file that the header ``path`` names."""
        if not has_header_name(self.label(path)):
            return None
        try:
            with self.stream(path) as file:
                name = voxel_file_name(file)
        except BadInput:
            return None
        return None if name is None else str(PurePosixPath(path).with_name(name))

    def _with_voxels(self, entry: Entry, by_path: Mapping[str, Entry]) -> Entry:
        beside = self._voxels_beside(entry.path)
        voxels = None if beside is None else by_path.get(beside)
        if voxels is None:
            return entry
        crc = None if entry.crc is None or voxels.crc is None else entry.crc + voxels.crc
        return replace(
            entry, size=entry.size + voxels.size, mtime_ns=entry.mtime_ns + voxels.mtime_ns, crc=crc
        )

    def _ignore_clutter(self, path: str) -> bool:
        reason = clutter_reason(path)
        if reason is not None:
            self.ignored.append((path, reason))
        return reason is not None


class FolderSource(Source):
    """A folder and everything under it. Links are never followed.

    A zip that holds DICOM files is listed like a folder ("ct.zip!/1.dcm"). Zips within zips stay closed.
    """

    kind = "folder"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lock = threading.Lock()
        self._open_zip: tuple[str, ZipArchive] | None = None

    def _list(self) -> Iterator[Entry]:
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(self.path / folder) as found:
                    children = list(found)
            except OSError as error:
                if not folder:
                    raise BadInput(
                        tr_lazy(
                            "The folder '{path}' cannot be opened: {strerror}.",
                            path=self.path,
                            strerror=error.strerror,
                        ),
                        "Check its permissions.",
                    ) from None
                self.refused.append(
                    (
                        f"{folder}/",
                        tr_lazy("the folder cannot be opened: {strerror}", strerror=error.strerror),
                    )
                )
                continue
            for child in children:
                path = f"{folder}/{child.name}" if folder else child.name
                if child.is_dir(follow_symlinks=False) and printable(path) == path:
                    if divide_zip_entry(f"{path}/.")[1]:
                        self.refused.append((f"{path}/", tr_lazy("its name ends in '.zip!'; rename it")))
                    elif child.name.endswith(".semblance"):
                        self.ignored.append((f"{path}/", tr_lazy("a Semblance library")))
                    else:
                        pending.append(path)
                    continue
                entry = self._entry(child, path)
                if entry is not None:
                    yield from self._entries_of_zip(entry) or (entry,)

    def _entry(self, child: os.DirEntry[str], path: str) -> Entry | None:
        shown = printable(path)
        if shown != path:
            self.refused.append((shown, tr_lazy("its name is not valid text; rename it")))
        elif child.is_symlink():
            self.refused.append(
                (
                    path,
                    tr_lazy("a link ({value}), and links are not followed", value=self._link_target(child)),
                )
            )
        else:
            try:
                status = child.stat(follow_symlinks=False)
            except OSError as error:
                self.refused.append((path, tr_lazy("it cannot be read: {strerror}", strerror=error.strerror)))
                return None
            if stat.S_ISREG(status.st_mode):
                return Entry(path, status.st_size, status.st_mtime_ns)
            self.refused.append((path, tr_lazy("not a plain file")))
        return None

    def _entries_of_zip(self, zip_entry: Entry) -> list[Entry]:
        """The entries of a zip of DICOM files; none for anything else. The reason why a zip is not opened is
        recorded."""
        if not zip_entry.path.lower().endswith(".zip"):
            return []
        try:
            archive = ZipArchive(self._file(zip_entry.path), zip_entry.path)
        except BadInput as error:
            self.closed_zips[zip_entry.path] = str(error)
            return []
        try:
            names = list(archive.entries)
            step = max(1, len(names) // _SAMPLED_ENTRIES)
            # A few from everywhere first, because most zips have DICOM files alone or none.
            if not any(_is_dicom(archive, name) for name in (*names[::step], *names)):
                if archive.refused and not names:
                    self.closed_zips[zip_entry.path] = archive.refused[0][1]
                return []
        finally:
            archive.close()
        inside = f"{zip_entry.path}{IN_ZIP}"
        self.refused.extend((inside + printable(name), reason) for name, reason in archive.refused)
        return [
            Entry(inside + name, info.file_size, modified_ns(info), info.CRC)
            for name, info in archive.entries.items()
        ]

    def _link_target(self, child: os.DirEntry[str]) -> str:
        target = os.path.realpath(child.path)
        root = os.path.realpath(self.path)
        return (
            tr_lazy("within the folder") if target.startswith(root + os.sep) else tr_lazy("out of the folder")
        )

    def read(self, path: str) -> bytes:
        """All bytes of a file; see :meth:`Source.read`."""
        file, entry = divide_zip_entry(path)
        if entry:
            with self._lock:
                return self._archive(file).read(entry)
        return read_file(self._file(path), path)

    def head(self, path: str) -> bytes:
        """The first bytes of a file; see :meth:`Source.head`."""
        zip_file, entry = divide_zip_entry(path)
        if entry:
            with self._lock:
                return self._archive(zip_file).head(entry, HEAD_BYTES)
        with open_regular_file(self._file(path), path) as file:
            return file.read(HEAD_BYTES)

    def stream(self, path: str) -> BinaryIO:
        """A file opened for reading; see :meth:`Source.stream`."""
        if divide_zip_entry(path)[1]:
            return io.BytesIO(self.read(path))
        return open_regular_file(self._file(path), path)

    def address(self, path: str, member: str = "", frame: int | None = None) -> ImageAddress:
        """Where an image lies; see :meth:`Source.address`."""
        self._file(divide_zip_entry(path)[0])
        return address_in_folder(self.path, path, member, frame)

    def close(self) -> None:
        """Close the zip that was read last."""
        with self._lock:
            if self._open_zip is not None:
                self._open_zip[1].close()
            self._open_zip = None

    def _archive(self, path: str) -> ZipArchive:
        """The zip ``path``, which stays open until another is read: files are read in order."""
        if self._open_zip is None or self._open_zip[0] != path:
            archive = ZipArchive(self._file(path), path)
            if self._open_zip is not None:
                self._open_zip[1].close()
            self._open_zip = (path, archive)
        return self._open_zip[1]

    def _file(self, path: str) -> Path:
        parts = PurePosixPath(path)
        if not path or parts.is_absolute() or ".." in parts.parts:
            raise BadInput(
                tr_lazy("'{path}' is not a file of '{path2}'.", path=path, path2=self.path),
                "Import the folder again.",
            )
        return self.path.joinpath(*parts.parts)


class ZipSource(Source):
    """A zip, read in place of a folder."""

    kind = "zip"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._archive = ZipArchive(path, str(path))
        self.refused.extend(self._archive.refused)

    def _list(self) -> Iterator[Entry]:
        for name, info in self._archive.entries.items():
            yield Entry(name, info.file_size, modified_ns(info), info.CRC)

    def read(self, path: str) -> bytes:
        """All bytes of a file; see :meth:`Source.read`."""
        return self._archive.read(path)

    def head(self, path: str) -> bytes:
        """The first bytes of a file; see :meth:`Source.head`."""
        return self._archive.head(path, HEAD_BYTES)

    def address(self, path: str, member: str = "", frame: int | None = None) -> ImageAddress:
        """Where an image lies; see :meth:`Source.address`."""
        return ImageAddress(self.path, f"{path}!{member}" if member else path, frame)

    def close(self) -> None:
        """Close the zip."""
        self._archive.close()


class FileSource(Source):
    """A single file: a table, an array file or an image. Its one entry has the path ""."""

    kind = "file"

    def _list(self) -> Iterator[Entry]:
        status = self.path.stat()
        yield Entry("", status.st_size, status.st_mtime_ns)

    def _ignore_clutter(self, path: str) -> bool:
        return False

    def read(self, path: str) -> bytes:
        """All bytes of a file; see :meth:`Source.read`."""
        return read_file(self.path, self.path.name)

    def head(self, path: str) -> bytes:
        """The first bytes of a file; see :meth:`Source.head`."""
        with open_regular_file(self.path, self.path.name) as file:
            return file.read(HEAD_BYTES)

    def stream(self, path: str) -> BinaryIO:
        """A file opened for reading; see :meth:`Source.stream`."""
        return open_regular_file(self.path, self.path.name)

    def stream_beside(self, path: str) -> BinaryIO | None:
        """The file of the voxels; see :meth:`Source.stream_beside`."""
        file = self._file_beside()
        return None if file is None else open_regular_file(file, file.name)

    def _file_beside(self) -> Path | None:
        if not has_header_name(self.path.name):
            return None
        with self.stream("") as header:
            name = voxel_file_name(header)
        file = None if name is None else self.path.with_name(name)
        return file if file is not None and file.is_file() else None

    def _with_voxels(self, entry: Entry, by_path: Mapping[str, Entry]) -> Entry:
        file = self._file_beside()
        if file is None:
            return entry
        status = file.stat()
        return replace(entry, size=entry.size + status.st_size, mtime_ns=entry.mtime_ns + status.st_mtime_ns)

    def address(self, path: str, member: str = "", frame: int | None = None) -> ImageAddress:
        """Where an image lies; see :meth:`Source.address`."""
        return ImageAddress(self.path, member, frame)


def _is_dicom(archive: ZipArchive, name: str) -> bool:
    try:
        return sniff(archive.head(name, HEAD_BYTES)) == DICOM
    except BadInput:
        return False


def _in_order(path: str) -> tuple[str, str]:
    return natural_key(path), path


def clutter_reason(path: str) -> str | None:
    """Why a file of this path is no data at all; ``None`` for any other."""
    parts = PurePosixPath(path).parts
    if "__MACOSX" in parts:
        return tr_lazy("a file of macOS's own")
    if any(part.startswith(".") for part in parts):
        return tr_lazy("a hidden file")
    if parts and parts[-1].lower() in _FILE_MANAGERS:
        return tr_lazy("made by a file manager")
    return None


def printable(path: str) -> str:
    """``path`` with bytes that are no text shown as replacement characters."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
