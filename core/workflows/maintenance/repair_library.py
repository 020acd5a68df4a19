"""Repair a library: damaged files are moved to its folder ``damaged``, and derived files are made again."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.errors import SemblanceError
from semblance.core.features.imported import origin_text
from semblance.core.features.registry import stored_extractor
from semblance.core.files import (
    TEMPORARY,
    UNFINISHED,
    copy_private,
    create_folder,
    excess_permissions,
    move,
    move_into_place,
    replacing,
)
from semblance.core.language import as_lazy, join_texts, tr_lazy
from semblance.core.library.catalogue_repair import (
    copy_catalogue,
    integrity_errors,
    recover_catalogue,
    remove_orphans,
    repair_rows,
)
from semblance.core.library.database import disk_is_full, not_writable_error, plain_errors
from semblance.core.library.feature_checks import (
    FeatureDamage,
    clear_chunks,
    dtype_of,
    feature_damage,
    rewrite_description,
)
from semblance.core.library.feature_chunks import DESCRIPTION, chunk_file
from semblance.core.library.records import (
    CATALOGUE,
    DERIVED,
    NOT_THERE,
    SUFFIX,
    FeatureSet,
    MetricRecord,
    SourceRecord,
    now,
)
from semblance.core.log import log_folder
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: Folder of the library for damaged files.
DAMAGED_FOLDER = "damaged"
#: Another program may still be writing newer files.
MIN_AGE_S = 3600
#: Endings of unfinished files and folders; other files in a library may belong to the user.
_UNFINISHED = (TEMPORARY, UNFINISHED)
_BATCH = 64


class Repairer:
    """Repairs of one library. Each returns what it did in a sentence, or an empty text where it failed."""

    def __init__(self, library: Path, reporter: Reporter) -> None:
        self._library, self._reporter = library, reporter
        self._damaged_folder = library / DAMAGED_FOLDER / now().replace(":", "").replace("+0000", "Z")

    @property
    def moved_to(self) -> str:
        """The folder that damaged files were moved to, if there were any."""
        return str(self._damaged_folder) if self._damaged_folder.exists() else ""

    def move_aside(self, file: Path) -> str:
        """Move a damaged file or folder of the library aside."""
        target = self._damaged_folder / file.relative_to(self._library)
        with plain_errors(self._library / CATALOGUE):
            create_folder(target.parent)
            move(file, target)
        return tr_lazy("Moved to {target}.", target=target.relative_to(self._library).as_posix())

    # The catalogue

    def recover_catalogue(self) -> str:
        """Replace a damaged catalogue by one with all its readable rows; the damaged one is stored beside it."""
        file = self._library / CATALOGUE
        new_file = file.with_name(f"{CATALOGUE}.part")
        new_file.unlink(missing_ok=True)
        try:
            with plain_errors(file):
                saved = recover_catalogue(file, new_file)
        except (sqlite3.DatabaseError, SemblanceError):
            new_file.unlink(missing_ok=True)
            if disk_is_full(file):
                raise not_writable_error(self._library) from None
            return ""
        if not saved.get("cases") or integrity_errors(new_file):
            new_file.unlink(missing_ok=True)
            return ""
        logs = [file.with_name(CATALOGUE + end) for end in ("-wal", "-shm")]
        with plain_errors(file):
            create_folder(self._damaged_folder)
            for part in (file, *logs):
                if part.exists():
                    copy_private(part, self._damaged_folder / part.name)
            for log in logs:
                log.unlink(missing_ok=True)
            move_into_place(new_file, file)
        counts = join_texts(
            tr_lazy("{n:,} {part}", n=saved.get(name, 0), part=as_lazy(name))
            for name in ("cases", "metrics", "judgements")
        )
        return tr_lazy(
            "All readable rows were recovered: {saved}. Import the sources again to restore the "
            "missing cases.",
            saved=counts,
        )

    def _copy_catalogue_aside(self) -> None:
        """Copy the catalogue, before anything in it is repaired, to the folder of damaged files."""
        file, copy = self._library / CATALOGUE, self._damaged_folder / CATALOGUE
        if copy.exists():
            return
        with plain_errors(file):
            create_folder(copy.parent)
            copy_catalogue(file, copy)

    def remove_orphans(self) -> str:
        """Remove rows that refer to missing rows; a copy of the original catalogue is kept."""
        file = self._library / CATALOGUE
        self._copy_catalogue_aside()
        with plain_errors(file):
            return tr_lazy(
                "{n:,} rows were removed. The original catalogue was kept as a copy.", n=remove_orphans(file)
            )

    def repair_rows(self, rows: Mapping[str, Sequence[int]]) -> tuple[str, bool]:
        """Make rows readable again or remove them. A copy of the original catalogue is kept.

        The table ``meta`` is not changed, because it holds the key of the pseudonyms. Returns what was done, and
        whether every row was repaired.
        """
        repaired = {table: found for table, found in rows.items() if table != "meta"}
        if not repaired:
            return "", False
        self._copy_catalogue_aside()
        with plain_errors(self._library / CATALOGUE):
            removed = repair_rows(self._library / CATALOGUE, repaired)
        done = tr_lazy(
            "{n:,} rows can be read again, {removed:,} were removed. The original catalogue was "
            "kept as a copy. Import the sources again to restore the missing cases.",
            n=sum(map(len, repaired.values())) - removed,
            removed=removed,
        )
        return done, "meta" not in rows

    # Images

    def mark_images(
        self, library: Library, source: SourceRecord, missing: list[str], returned: list[str]
    ) -> None:
        """Record which images of ``source`` are missing and which were found again."""
        if missing:
            library.catalogue.set_state(source, missing, "missing", NOT_THERE)
        if returned:
            library.catalogue.set_state(source, returned, "ok")

    # Features

    def repair_features(
        self, library: Library, feature_set: FeatureSet, state: FeatureDamage
    ) -> tuple[str, int]:
        """Move damaged blocks aside and extract their cases again. Returns what was done, and how many cases are
        still without features."""
        from semblance.core.workflows.features.extract_features import extract_features

        store = library.features.store_of(feature_set)
        extractor = stored_extractor(feature_set.extractor, feature_set.package)
        if not state.description:
            dtype = dtype_of(store) or ("int8" if feature_set.is_packed else extractor.stored_type())
            if (store / DESCRIPTION).exists():
                self.move_aside(store / DESCRIPTION)
            with library.catalogue.errors():
                rewrite_description(library.features, feature_set, dtype)
            state = feature_damage(library.features, feature_set, self._reporter)
        for number in state.damaged:
            if chunk_file(store, number).exists():
                self.move_aside(chunk_file(store, number))
        clear_chunks(library.catalogue, feature_set, state.damaged)
        if not state.cases:
            return tr_lazy("Its description was written again. All its features can be read."), 0
        if not extractor.can_measure:
            return tr_lazy(
                "The damaged blocks were moved to the folder 'damaged'. These features were imported ({origin}). "
                "Import them again, which adds what is missing.",
                origin=origin_text(feature_set.settings),
            ), state.cases
        before = len(library.features.cases_of(feature_set))
        try:
            whole = library.features.whole(feature_set)
            extract_features(
                library.location,
                whole.extractor,
                settings=whole.extractor_settings,
                name=whole.name,
                reporter=self._reporter,
            )
        except SemblanceError as error:
            return tr_lazy(
                "The damaged blocks were moved to the folder 'damaged'. Extracting them again failed:"
                " {error}",
                error=error,
            ), state.cases
        gained = len(library.features.cases_of(feature_set)) - before
        failed = max(0, state.cases - gained)
        if not failed:
            return tr_lazy("{gained:,} cases were extracted again.", gained=gained), failed
        return tr_lazy(
            "{gained:,} cases were extracted again. {still:,} failed because their images are "
            "missing or have changed.",
            gained=gained,
            still=failed,
        ), failed

    # Metrics

    def replace_metric_file(self, library: Library, record: MetricRecord) -> str:
        """Search the files of metrics for an intact copy of a missing one."""
        from semblance.core.metrics.metric import load_metric

        content_hash = record.card.get("content_hash")
        # If two metrics' files were swapped, the first was moved aside just before.
        moved_metrics = self._damaged_folder / "metrics"
        for file in sorted(
            [*(library.files.folder / "metrics").glob("*.metric"), *moved_metrics.glob("*.metric")]
        ):
            try:
                if file == record.file or load_metric(file).card.content_hash != content_hash:
                    continue
            except SemblanceError:
                continue
            if record.file.exists():
                self.move_aside(record.file)
            with library.catalogue.errors(), replacing(record.file) as temporary:
                copy_private(file, temporary)
            return tr_lazy("The same metric was found in {file}.", file=file.name)
        return ""

    # Derived files

    def make_thumbnails(self, library: Library) -> str:
        """Make the thumbnails of all readable images again."""
        from semblance.core.imaging import open_image
        from semblance.core.imaging.thumbnail import thumbnail

        library.thumbnails.reset()
        rows = [r.id for r in library.catalogue.all_cases() if r.has_image]
        count = 0
        for start in range(0, len(rows), _BATCH):
            self._reporter.check_cancelled()
            self._reporter.progress(start, len(rows), "Making thumbnails")
            images = []
            for case in library.catalogue.details(rows[start : start + _BATCH]).values():
                try:
                    if case.address is not None:
                        images.append((case.content, thumbnail(open_image(case.address, case.region))))
                except SemblanceError:
                    continue
            library.thumbnails.put(images)
            count += len(images)
        return tr_lazy("{made:,} of {n:,} thumbnails were made again.", made=count, n=len(rows))

    def rebuild_prepared_metric(self, library: Library, file: Path) -> str:
        """Remove the prepared data of a metric, and prepare them again."""
        from semblance.core.workflows.searches.loaded_metric import LoadedMetric

        with library.catalogue.errors():
            shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
        for record in library.metrics():
            if record.file.stem == file.name.partition(".")[0]:
                try:
                    LoadedMetric(library, record, self._reporter)
                except SemblanceError as error:
                    return tr_lazy(
                        "Removed, because it could not be made again: {message}", message=error.message
                    )
                return tr_lazy("Made again.")
        return tr_lazy("Removed: no metric uses it.")


def own_folders() -> list[Path]:
    """The folders of this user with files of the program that may name somebody: log, copies of libraries on servers
    and images received for them, settings, keys of projects. The encoder's file is the same for everybody."""
    from semblance.core.imaging.deidentification.project_key import project_folder
    from semblance.core.library.location import lasting_servers_folder, servers_folder
    from semblance.core.network.servers import servers_file

    settings = servers_file().parent
    # Qt writes its own beside them.
    return [
        log_folder(), servers_folder(), lasting_servers_folder(), settings,
        settings.with_name("Semblance"), project_folder(),
    ]  # fmt: skip


def open_to_others(folder: Path) -> dict[Path, int]:
    """The files and folders of ``folder``, itself among them, that others may use, and their modes; other libraries are
    left out."""
    found = {}
    for inside, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.endswith(SUFFIX)]
        for path in (Path(inside), *(Path(inside, name) for name in sorted(names))):
            # Other programs remove files meanwhile.
            with contextlib.suppress(FileNotFoundError):
                if excess_permissions(path):
                    found[path] = stat.S_IMODE(path.lstat().st_mode)
    return found


def thumbnail_error(library: Path) -> str:
    """The first error of the thumbnails' file; empty without one, or without such a file."""
    file = library / "thumbnails.sqlite"
    if not file.exists():
        return ""
    found = integrity_errors(file)
    return found[0] if found else ""


def damaged_prepared_metrics(library: Path) -> list[Path]:
    """Prepared metrics that cannot be read."""
    from semblance.core.workflows.features.derived_arrays import EMBEDDING_SUFFIX
    from semblance.core.workflows.searches.embedding_cache import is_readable

    files = sorted((library / DERIVED).glob(f"*{EMBEDDING_SUFFIX}"))
    return [file for file in files if not is_readable(file)]


def unreadable_files(library: Path) -> tuple[list[Path], list[Path]]:
    """Links, pipes and devices in a library, and files and folders that the user has no permission to read."""
    not_files, unreadable = [], []
    for folder, folders, names in os.walk(library):
        if Path(folder) == library and DAMAGED_FOLDER in folders:
            folders.remove(DAMAGED_FOLDER)
        for name in (*folders, *names):
            mode = os.lstat(file := Path(folder, name)).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                not_files.append(file)
            elif not os.access(file, os.R_OK | os.X_OK if stat.S_ISDIR(mode) else os.R_OK):
                unreadable.append(file)
    return sorted(not_files), sorted(unreadable)


def unused_files(library: Library) -> list[tuple[Path, bool]]:
    """Unreferenced files, and whether each is too new to be moved."""
    from semblance.core.workflows.features.derived_arrays import (
        CASES_FILE,
        EMBEDDING_SUFFIX,
        NEAR_SUFFIX,
        PLACES_SUFFIX,
        SLICES_SUFFIX,
        TRAINED_SUFFIX,
    )

    of_metrics = (EMBEDDING_SUFFIX, NEAR_SUFFIX, TRAINED_SUFFIX)
    folder = library.files.folder
    copy = {record.file.name for record in library.metrics()}
    stems = {Path(name).stem for name in copy}
    stores = {library.features.store_of(one) for one in library.features.every()}
    of_places = {f"{one.id}{PLACES_SUFFIX}" for one in library.features.every()}
    found = [file for file in sorted(folder.iterdir()) if file.suffix in _UNFINISHED]
    found += [file for file in _inside(folder / "metrics") if file.name not in copy]
    found += [file for file in _inside(folder / "features") if file not in stores]
    for store in stores:
        found += [
            file for file in sorted(store.rglob("*")) if file.is_file() and not _belongs_to_store(store, file)
        ]
    found += [
        file
        for file in _inside(folder / DERIVED)
        if file.name != CASES_FILE
        and file.name not in of_places
        and file.suffix != SLICES_SUFFIX
        and (file.suffix not in of_metrics or file.name.partition(".")[0] not in stems)
    ]
    return [(file, time.time() - os.lstat(file).st_mtime < MIN_AGE_S) for file in found]


def _inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _belongs_to_store(store: Path, file: Path) -> bool:
    parts = file.relative_to(store).parts
    return parts == (DESCRIPTION,) or (
        len(parts) == 3 and parts[0] == "c" and parts[1].isdecimal() and parts[2] == "0"
    )
