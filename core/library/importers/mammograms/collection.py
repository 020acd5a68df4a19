"""What the collections of mammograms share."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from semblance.core.imaging.formats import has_image_name
from semblance.core.library.importers.image_files import rejection_of
from semblance.core.library.importers.importer import FoundCase, Recognition, RejectedFile
from semblance.core.library.importers.source import Entry, Source
from semblance.core.tasks import Reporter


class Collection(abc.ABC):
    """One way of laying mammograms and their findings out."""

    title: ClassVar[str]

    @abc.abstractmethod
    def recognise(self, source: Source) -> Recognition | None:
        """How well the source fits; names and first bytes only."""

    @abc.abstractmethod
    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """As :meth:`semblance.core.library.importers.importer.Importer.scan`, without the files left lying."""


def is_mammogram_file(path: str) -> bool:
    """Whether a name promises a raster or DICOM image."""
    return has_image_name(path) or PurePosixPath(path).suffix.lower() in (".dcm", ".dicom")


def rejection_of_mammogram(source: Source, entry: Entry) -> RejectedFile | None:
    """As :func:`semblance.core.library.importers.image_files.rejection_of`, but DICOM files are images."""
    name = PurePosixPath(entry.path)
    if name.suffix.lower() in (".dcm", ".dicom") and entry.size:
        return None
    return rejection_of(source, entry)


def case_keys(path: str, count: int) -> list[str]:
    """Keys of the ``count`` cases of one image: its path, then path and number."""
    return [path, *(f"{path}#{number}" for number in range(2, count + 1))]
