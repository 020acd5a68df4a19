"""The copy of a library on a server that this computer has, read while the server does not answer.

It is a library in a folder with the same tables, so that whatever reads a library reads the copy too. It is made with
the account of the user and contains what this account may read.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa

from semblance.core.files import copy_private, create_folder, move, replacing
from semblance.core.imaging import ImageAddress
from semblance.core.language import tr_lazy
from semblance.core.library.audit import EXPORT
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.copy_library import copy_rows
from semblance.core.library.database import connect, create_tables, transaction, update
from semblance.core.library.library import Library
from semblance.core.library.library_files import LibraryFiles, changed_chunks, description_name
from semblance.core.library.location import (
    COPY_FACTS,
    VIEWED_IMAGES,
    LibraryLocation,
    ServerAddress,
    local_folder,
)
from semblance.core.library.records import CATALOGUE, METRIC_FILE, CaseDetails, FeatureSet, present
from semblance.core.library.schema import NEW_TABLES, cases, feature_chunks, metrics, tables
from semblance.core.library.server.connection import away_error, unavailable_error
from semblance.core.library.server.library import ServerLibrary, last_search_of, private_thumbnails
from semblance.core.library.server.projects import EXPIRED, check_state
from semblance.core.library.server.tables import library_state
from semblance.core.tasks import SILENT, Reporter

#: A copy that was not compared with the server for so many days is not opened any more.
KEPT_DAYS = 30
#: Thumbnails that are copied before they are seen, and bytes of values of features.
THUMBNAILS_AHEAD, FEATURE_BYTES = 20_000, 2 << 30
#: An image in larger files is not kept.
LARGEST_IMAGE = 256 << 20
_PART = 200
#: Tables whose changes do not change `cases_version`.
_OF_PEOPLE = (
    "searches", "judgements", "concepts", "concept_marks", "reader_studies", "reader_answers",
    *(table.name for table in NEW_TABLES),
)  # fmt: skip


@dataclass(frozen=True)
class CopyFacts:
    """When the copy was last the same as the library on the server (UTC, by its clock, which was so many seconds
    ``ahead`` of the one of this computer), the versions of the library then, the right of the user, the last day of a
    project ("" for a library), and the feature sets whose values are in the copy."""

    compared: str
    library: str
    number: int
    version: str
    right: str
    until: str
    feature_sets: tuple[int, ...]
    ahead: float

    @property
    def _present(self) -> datetime.datetime:
        """The moment by the clock of the server, as far as this computer knows."""
        return max(present(self.ahead), datetime.datetime.fromisoformat(self.compared))

    @property
    def days(self) -> float:
        """The age of the copy."""
        return (self._present - datetime.datetime.fromisoformat(self.compared)).total_seconds() / 86_400

    @property
    def has_ended(self) -> bool:
        """Whether the last day of the project has passed."""
        return bool(self.until) and self.until < self._present.date().isoformat()

    def is_of(self, other: CopyFacts) -> bool:
        """Whether ``other`` differs in the time of the comparison alone."""
        return replace(self, compared="", ahead=0.0) == replace(other, compared="", ahead=0.0)


def copy_facts(address: ServerAddress) -> CopyFacts | None:
    """What is known of the copy of the library at ``address``; ``None`` where there is no whole one."""
    folder = local_folder(address)
    facts = _facts_in(folder)
    return facts if facts and facts.days < KEPT_DAYS and (folder / CATALOGUE).is_file() else None


def remove_ended(folder: Path) -> bool:
    """Remove the copy in ``folder`` where it is of a project whose last day has passed; whether it was."""
    facts = _facts_in(folder)
    if facts is None or not facts.has_ended:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _facts_in(folder: Path) -> CopyFacts | None:
    try:
        found = json.loads((folder / COPY_FACTS).read_bytes())
        return CopyFacts(**found | {"feature_sets": tuple(found["feature_sets"])})
    except (OSError, ValueError, TypeError, KeyError):
        # Without it the copy is made again.
        return None


class LocalCopy(Library):
    """The copy of a library on a server; read-only. Its :attr:`path` is the address."""

    location: ServerAddress

    def __init__(self, path: ServerAddress) -> None:
        facts = copy_facts(path)
        if facts is None:
            raise unavailable_error(path, tr_lazy("and this computer has no copy of the library"))
        if remove_ended(local_folder(path)):
            check_state(path, EXPIRED, facts.until)
        self.location, self.writable, self._facts = path, False, facts
        folder = local_folder(path)
        self.catalogue = _CopiedCatalogue(path, folder)
        self.thumbnails = private_thumbnails(folder)
        self._set_up(_CopiedFiles(path, folder))

    @classmethod
    def open(cls, location: LibraryLocation, *, writable: bool | None = None) -> Self:
        """Open the copy of the library at the address ``location``.

        Raises:
            AccessRefused: the last day of the project has passed. The copy was removed.
            ServerUnavailable: this computer has no copy, or ``writable`` is asked for.
        """
        assert isinstance(location, ServerAddress)
        if writable:
            raise away_error(location)
        return cls(location)

    @classmethod
    def open_or_create(cls, location: LibraryLocation) -> Self:
        """:meth:`open` for writing."""
        return cls.open(location, writable=True)

    @property
    def name(self) -> str:
        """The name of the database, and of the project in it."""
        return self.location.title

    @property
    def copied(self) -> str:
        """When the library on the server was last the same (UTC)."""
        return self._facts.compared

    def is_still_at(self, location: LibraryLocation) -> bool:
        """Whether the server is still away, and the copy may still be read."""
        is_away = isinstance(location, ServerAddress) and location.is_away
        return is_away and not self._facts.has_ended and super().is_still_at(location)

    @property
    def can_store_derived(self) -> bool:
        """Always: the folder is in the user's cache."""
        return True

    def load_last_search(self) -> Mapping[str, Any] | None:
        """The search that the window of this user showed last on this computer; ``None`` without one."""
        return last_search_of(self.files.folder)

    def log_event(self, action: str, detail: Mapping[str, Any]) -> None:
        """Searches and views are not logged while the server is away.

        Raises:
            ServerUnavailable: for an export, which must be.
        """
        if action == EXPORT:
            raise away_error(self.location)


class _CopiedCatalogue(Catalogue):
    """The catalogue of a copy. Images whose files cannot be reached have the addresses of their copies."""

    def __init__(self, address: ServerAddress, folder: Path) -> None:
        self._address, self._images = address, folder / VIEWED_IMAGES
        super().__init__(folder / CATALOGUE, writable=False)

    @property
    def library_name(self) -> str:
        """The name of the library in messages."""
        return str(self._address)

    def transaction(self) -> Any:
        """Nothing can be written.

        Raises:
            ServerUnavailable: always.
        """
        raise away_error(self._address)

    def details(self, rows: Sequence[int]) -> dict[int, CaseDetails]:
        """Row id -> the details of the case."""
        found = super().details(rows)
        kept = {entry.name for entry in self._images.iterdir()} if self._images.is_dir() else set()
        for row, case in found.items() if kept else ():
            if case.address is not None and case.content in kept:
                found[row] = replace(case, address=_reachable(case.address, self._images / case.content))
        return found


class _CopiedFiles(LibraryFiles):
    def __init__(self, address: ServerAddress, folder: Path) -> None:
        super().__init__(folder)
        self._address = address

    def fetch_chunks(self, store: str, numbers: Collection[int], sums: Mapping[int, int]) -> None:
        """Check that the chunks are here.

        Raises:
            ServerUnavailable: they are not, or newer than the copy of the catalogue.
        """
        if changed_chunks(self.folder, store, numbers, sums):
            raise unavailable_error(
                self._address, tr_lazy("these features are not in the copy on this computer")
            )


# Making the copy


def renew_catalogue(library: ServerLibrary, reporter: Reporter = SILENT) -> CopyFacts:
    """Make the copy of the catalogue, the metrics and the values of features the same as the library on the server,
    which is read as it is at one moment. Nothing is copied where nothing changed.

    Raises:
        AccessRefused: the user may not read the library any more.
        ServerUnavailable: the server does not answer any more; the copy is as it was.
    """
    folder, known = library.files.folder, copy_facts(library.location)
    if known is not None and (known.library, known.right) != (library.catalogue.library_id, library.right):
        # What another right has shown is not kept.
        known = None
    sets = _sets_to_copy(library)
    with library.catalogue.snapshot() as reading:
        state = reading.execute(sa.select(library_state)).one()
        facts = CopyFacts(
            library.catalogue.now(), str(state.id), state.number, str(state.cases_version), library.right,
            library.catalogue.until, tuple(sorted(one.id for one in sets)),
            library.catalogue.ahead,
        )  # fmt: skip
        if known is None or not known.is_of(facts):
            same = (known.version, known.feature_sets) if known else None
            all_of_it = same != (facts.version, facts.feature_sets)
            chosen = [one for one in tables.sorted_tables if all_of_it or one.name in _OF_PEOPLE]
            if all_of_it:
                _fetch_files(library, reading, sets, reporter)
            with replacing(folder / CATALOGUE, durable=False) as temporary:
                if all_of_it:
                    create_tables(temporary)
                else:
                    copy_private(folder / CATALOGUE, temporary)
                _write_rows(reading, temporary, chosen, facts.feature_sets, reporter)
    with replacing(folder / COPY_FACTS, durable=False) as temporary:
        temporary.write_text(json.dumps(asdict(facts)), encoding="utf-8")
    return facts


def copy_thumbnails(library: ServerLibrary, reporter: Reporter = SILENT) -> tuple[int, int]:
    """Copy thumbnails of the library that were not seen yet, until :data:`THUMBNAILS_AHEAD` are here, and remove what
    belongs to no case that the user may see. Returns how many are here, and how many the cases have.

    Raises:
        ServerUnavailable: the server does not answer any more.
    """
    contents = {r[0] for r in library.catalogue.read(sa.select(cases.c.content).distinct())}
    kept = library.thumbnails.kept
    here = set(kept.contents())
    kept.remove(here - contents)
    images = library.files.folder / VIEWED_IMAGES
    for entry in images.iterdir() if images.is_dir() else ():
        if entry.name not in contents:
            shutil.rmtree(entry, ignore_errors=True)
    here &= contents
    made = [one for one in library.thumbnails.contents() if one in contents]
    missing = [one for one in made if one not in here][: max(0, THUMBNAILS_AHEAD - len(here))]
    for start in range(0, len(missing), _PART):
        reporter.check_cancelled()
        reporter.progress(start, len(missing), tr_lazy("Copying thumbnails"))
        # What is read is kept.
        library.thumbnails.get(missing[start : start + _PART])
    return len(here) + len(missing), len(made)


def keep_image(library: Library, case: CaseDetails) -> None:
    """Keep the image of ``case``, which was viewed, of a library on a server."""
    if not isinstance(library, ServerLibrary) or case.address is None or not case.content:
        return
    target = library.files.folder / VIEWED_IMAGES / case.content
    # Nothing depends on the copy.
    with contextlib.suppress(OSError):
        if target.is_dir():
            os.utime(target)
            return
        files = _containers(case.address)
        if not library.files.has_copy or sum(file.stat().st_size for file in files) > LARGEST_IMAGE:
            return
        create_folder(target.parent)
        unfinished = target.with_name(f".{case.content}")
        shutil.rmtree(unfinished, ignore_errors=True)
        create_folder(unfinished)
        for number, file in enumerate(files):
            copy_private(file, unfinished / _copied_name(number, file))
        move(unfinished, target)


def _containers(address: ImageAddress) -> list[Path]:
    """The files of an image, each once, in order."""
    return list(dict.fromkeys(one.container for one in (address.slices or (address,))))


def _copied_name(number: int, file: Path) -> str:
    return f"{number}{file.suffix}"


def _reachable(address: ImageAddress, copy: Path) -> ImageAddress:
    """``address``, or that of the copy in the folder ``copy`` where a file of it cannot be reached."""
    files = _containers(address)
    if all(file.is_file() for file in files):
        return address
    with contextlib.suppress(OSError):
        os.utime(copy)
    place = {file: copy / _copied_name(number, file) for number, file in enumerate(files)}

    def moved(one: ImageAddress) -> ImageAddress:
        return replace(one, container=place.get(one.container, one.container))

    return replace(moved(address), slices=tuple(map(moved, address.slices)))


def _sets_to_copy(library: ServerLibrary) -> list[FeatureSet]:
    """The feature sets whose values are copied: that of the current metric, then the smaller ones first, as long as
    all together have at most :data:`FEATURE_BYTES`."""
    current = library.current_metric()
    needed = None if current is None else current.feature_set
    store = library.features.store_name
    sizes = [(one.id != needed, library.files.size(store(one)), one) for one in library.features.every()]
    chosen, total = [], 0
    for is_other, size, feature_set in sorted(sizes, key=lambda one: one[:2]):
        if not is_other or total + size <= FEATURE_BYTES:
            chosen.append(feature_set)
            total += size
    return chosen


def _fetch_files(
    library: ServerLibrary, reading: sa.Connection, sets: Sequence[FeatureSet], reporter: Reporter
) -> None:
    """Have the metrics and the values of ``sets`` in the folder, as ``reading`` sees them."""
    files, c = library.files, feature_chunks.c
    names = [
        f"metrics/{name}"
        for name in reading.execute(sa.select(metrics.c.file)).scalars()
        if METRIC_FILE.fullmatch(name) and not (files.folder / "metrics" / name).is_file()
    ]
    for feature_set in sets:
        of_set = sa.select(c.chunk, c.file_sum).where(c.feature_set == feature_set.id)
        found: dict[int, int | None] = {r.chunk: r.file_sum for r in reading.execute(of_set)}
        sums = {number: value for number, value in found.items() if value is not None}
        store = library.features.store_name(feature_set)
        names += [description_name(store), *changed_chunks(files.folder, store, found, sums)]
    for start in range(0, len(names), _PART):
        reporter.check_cancelled()
        reporter.progress(start, len(names), tr_lazy("Copying features"))
        files.fetch_from(reading, names[start : start + _PART])


def _write_rows(
    reading: sa.Connection,
    file: Path,
    chosen: Sequence[sa.Table],
    feature_sets: Sequence[int],
    reporter: Reporter,
) -> None:
    engine = connect(file, writable=True)

    @sa.event.listens_for(engine, "connect")
    def _settings(connection: Any, _record: object) -> None:
        # A person may see a row and not the one that it refers to. The file is made again after a crash.
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("PRAGMA synchronous=OFF")

    try:
        # The copy may be of the version before.
        update(engine, file)
        with transaction(engine, file) as writing:
            copy_rows(reading, writing, chosen, {}, reporter)
            writing.execute(feature_chunks.delete().where(feature_chunks.c.feature_set.not_in(feature_sets)))
        with _plain_connection(engine) as run:
            # One file, which is put into place as a whole.
            run("PRAGMA journal_mode=DELETE")
    finally:
        engine.dispose()


@contextlib.contextmanager
def _plain_connection(engine: sa.Engine) -> Iterator[Callable[[str], Any]]:
    connection = engine.raw_connection()
    try:
        yield connection.cursor().execute
    finally:
        connection.close()
