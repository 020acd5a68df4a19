"""Back a library up into one file, and restore it from one."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.core.errors import BadInput
from semblance.core.imaging.image_address import divide_zip_entry
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation, ServerAddress, check_is_library
from semblance.core.library.open_library import open_library
from semblance.core.library.records import SUFFIX
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.maintenance.move_library import move_library


@dataclass(frozen=True)
class RestoreResult(JsonDocument):
    """A restored library: its number of cases, and of image files that are missing."""

    library: str
    cases: int
    missing: int


def back_up(library: LibraryLocation, file: Path, *, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Write ``library`` without images and derived files into the file ``file``.

    Returns the file, the number of files and bytes in it, and the files that the catalogue refers to but that are
    missing.

    Raises:
        BadInput: not a library, or its catalogue is damaged.
        BadArguments: ``file`` is inside the library.
        SemblanceError: ``file`` cannot be written.
        Cancelled: the reporter was cancelled; no file is left.
    """
    from semblance.core.library.backup_file import write_backup

    if isinstance(library, ServerAddress):
        file = file.absolute()
        if not file.parent.is_dir():
            raise BadInput(
                tr_lazy("{folder} does not exist.", folder=file.parent), "Choose an existing folder."
            )
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=file.parent) as folder:
            copy = Path(folder) / f"{library.name}{SUFFIX}"
            move_library(library, copy, reporter=reporter)
            result = write_backup(copy, file, reporter)
    else:
        check_is_library(library)
        result = write_backup(library, file, reporter)
    # A backup contains everything the library knows about patients.
    log_export(library, "backup", "zip", identified=True)
    return result.to_json()


def restore(file: Path, library: LibraryLocation, *, reporter: Reporter = SILENT) -> RestoreResult:
    """Restore the backup ``file`` as the library ``library``.

    Raises:
        BadInput: not a backup, damaged, of a newer version; or ``library`` exists already.
        SemblanceError: not enough space, or the folder cannot be written to.
        Cancelled: the reporter was cancelled; no file is left.
    """
    from semblance.core.library.backup_file import read_backup

    if isinstance(library, ServerAddress):
        with tempfile.TemporaryDirectory(prefix="semblance-restore-") as folder:
            copy = Path(folder) / f"restored{SUFFIX}"
            read_backup(file, copy, reporter)
            move_library(copy, library, reporter=reporter)
    else:
        if library.suffix != SUFFIX:
            library = library.with_name(library.name + SUFFIX)
        read_backup(file, library, reporter)
    with open_library(library) as opened:
        missing = 0
        for source in opened.catalogue.sources():
            files = [f for f in opened.catalogue.files(source).values() if f.state in ("ok", "missing")]
            existing = source.path.is_dir()
            missing += (
                sum(not (source.path / divide_zip_entry(f.path)[0]).exists() for f in files)
                if existing
                else 0
            )
            missing += 0 if source.path.exists() else len(files)
        return RestoreResult(str(library), len(opened.catalogue.all_cases()), missing)
