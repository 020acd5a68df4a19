"""DICOMDIR: the files that a medium lists. Its paths are checked and never followed out of the folder."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from semblance.core.imaging.dicom.attributes import items, text

if TYPE_CHECKING:
    from pydicom import Dataset

#: Media Storage Directory Storage.
SOP_CLASS = "1.2.840.10008.1.3.10"


def named_files(dataset: Dataset) -> tuple[list[str], list[str]]:
    """(files, refused): paths relative to the DICOMDIR's folder, "/" between parts; refused are those outside the
    folder. The disk is not read."""
    files: list[str] = []
    refused: list[str] = []
    for record in items(dataset, "DirectoryRecordSequence"):
        file_id = text(record, "ReferencedFileID")
        if not file_id:
            continue
        parts = file_id.split("\\")
        outside = any(
            not part or part in (".", "..") or "/" in part or ":" in part or "\0" in part for part in parts
        )
        (refused if outside else files).append("/".join(parts) if outside else str(PurePosixPath(*parts)))
    return files, refused
