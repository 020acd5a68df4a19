"""The contract of an importer: the cases a source holds, one by one."""

from __future__ import annotations

import abc
import copy
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.region import Region
from semblance.core.library.importers.encodings import ENCODINGS
from semblance.core.library.importers.source import Source
from semblance.core.parameters import Parameter, Value
from semblance.core.tasks import Reporter

AUTO, EXACT = "auto", "exact"
#: Settings of every kind.
COMMON_PARAMETERS = (
    Parameter(
        "encoding", AUTO, "How the letters of a table or list are encoded.", choices=(AUTO, *ENCODINGS)
    ),
    Parameter(
        "findings",
        AUTO,
        "Findings that differ only in capitals, blanks or '.0' are one finding, unless they are taken exactly.",
        choices=(AUTO, EXACT),
    ),
)


@dataclass(frozen=True)
class FoundCase:
    """One case of a source.

    ``path``: file of the case relative to the source, with ``/`` ("" for a source that is one file).
    ``key``: unique within the source and the same at every import (the path, or path and index).
    ``frame``: row within an array file. ``values``: ready numbers (NaN: missing), with ``columns`` their names; such
    a case has an image only where it has a ``region`` of one.
    ``slices``: of a volume in several files, (path, frame within that file or ``None``) of each in order;
    ``path`` is then the file that makes it a case: the first slice, or the file whose region it is.
    """

    key: str
    path: str
    member: str = ""
    frame: int | None = None
    finding: str | None = None
    patient: str | None = None
    region: Region | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    values: tuple[float, ...] | None = None
    columns: tuple[str, ...] = ()
    slices: tuple[tuple[str, int | None], ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file the case is made of, ``path`` first."""
        return tuple(dict.fromkeys((self.path, *(path for path, _ in self.slices))))


@dataclass(eq=False)
class FoundRows:
    """Rows of a table that follow each other: cases without an image, as columns, because there may be millions.

    ``path``, ``keys``, ``findings``, ``patients``: of each of n cases, as in :class:`FoundCase`. ``attributes``: n
    cells of each column of words, "" where the case has none. ``values`` (n, d) float64, with ``columns`` their names.
    """

    path: str
    keys: list[str]
    findings: list[str | None]
    patients: list[str | None]
    attributes: dict[str, list[str]]
    values: npt.NDArray[np.float64]
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def attributes_of(self, place: int) -> dict[str, str]:
        """The attributes that the case at ``place`` has."""
        return {name: cells[place] for name, cells in self.attributes.items() if cells[place]}

    def without(self, places: Collection[int]) -> FoundRows:
        """The same without the cases at ``places``."""
        kept = [place for place in range(len(self)) if place not in places]
        return replace(
            self,
            keys=[self.keys[place] for place in kept],
            findings=[self.findings[place] for place in kept],
            patients=[self.patients[place] for place in kept],
            attributes={name: [cells[place] for place in kept] for name, cells in self.attributes.items()},
            values=self.values[kept],
        )


@dataclass(frozen=True)
class RejectedFile:
    """A file that gave no case: ``failed`` (it should have) or ignored (it never could), and why."""

    path: str
    reason: str
    failed: bool


#: What an importer finds.
Found = FoundCase | FoundRows | RejectedFile


@dataclass(frozen=True)
class Recognition:
    """``confidence`` 0..1 that the source is of the importer's kind; ``explanation`` for the user."""

    confidence: float
    explanation: str


class Importer(abc.ABC):
    """Lists what a source of one kind contains. It reads names and labels and never decodes images."""

    kind: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    #: Whether DICOM headers may identify patients in this kind of source.
    reads_headers: ClassVar[bool] = False
    #: Whether folders and files of this kind are called after patients, so that case ids must not show them.
    paths_name_patients: ClassVar[bool] = False
    #: Whether it finds :class:`FoundRows` instead of cases.
    finds_rows: ClassVar[bool] = False
    #: Settings of the command line.
    parameters: ClassVar[tuple[Parameter, ...]] = COMMON_PARAMETERS
    #: The encoding of lists beside the images, ``None`` as it is recognised.
    encoding: str | None = None
    #: Whether findings that are written differently stay different.
    exact_findings: bool = False

    def with_settings(self, values: Mapping[str, Value]) -> Self:
        """An importer of this kind with ``values`` of its :attr:`parameters`."""
        made = copy.copy(self)
        encoding = str(values.get("encoding", AUTO))
        made.encoding = None if encoding == AUTO else encoding
        made.exact_findings = values.get("findings") == EXACT
        return made

    @abc.abstractmethod
    def recognise(self, source: Source) -> Recognition | None:
        """How well the source fits, or ``None`` when it cannot be of this kind. Quick: names only."""

    @abc.abstractmethod
    def scan(self, source: Source, reporter: Reporter) -> Iterator[Found]:
        """Every file of the source, as a case (or several) or as rejected, in a stable order.

        Raises:
            BadInput: the source as a whole cannot be read.
        """
