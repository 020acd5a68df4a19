"""The records of the catalogue as plain values; importing this loads no database."""

from __future__ import annotations

import datetime
import getpass
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region, shown_slice
from semblance.core.language import tr_lazy
from semblance.core.library.case_names import SHIFTED

READER, ANNOTATOR, CURATOR, ADMINISTRATOR = "reader", "annotator", "curator", "administrator"
#: Each may do what those before it may.
RIGHTS = (READER, ANNOTATOR, CURATOR, ADMINISTRATOR)


SUFFIX = ".semblance"
#: Counts the cases without a finding, among the findings of a summary.
NO_FINDING = "(none)"
CATALOGUE = "catalogue.sqlite"
#: The folder for files that can be computed again.
DERIVED = "derived"
#: The folder for the files of deleted feature sets and metrics, until they are forgotten.
DELETED = "deleted"
#: The folder for images that were pasted to search with.
PASTED = "pasted"
#: The log of exports.
EXPORTS = "exports.log"
#: Its last entry.
EXPORTS_HEAD = "exports.head"
#: Entries of a library that are never links, because files in them are removed, replaced and moved.
LIBRARY_ENTRIES = (
    CATALOGUE,
    "thumbnails.sqlite",
    EXPORTS,
    EXPORTS_HEAD,
    "features",
    "metrics",
    DERIVED,
    DELETED,
    PASTED,
)
#: The name of a metric's file in the folder ``metrics``; other names in a catalogue are not used.
METRIC_FILE = re.compile(r"[0-9a-f]{1,64}\.metric")

#: Reason of a file whose state is "missing".
NOT_THERE = tr_lazy("The file no longer exists.")

#: A slice of a volume: the path of its file within the source, and its frame in it.
Slice = tuple[str, int | None]

#: Cases in a chunk of a store. A finished chunk is never rewritten.
CHUNK = 256
#: Settings of a feature set that say what it holds; the others are those of its extractor.
PLUGIN, PART, PART_OF, ROW_BYTES, CODING, GRID, FITTED_FROM = _OF_SET = (
    "plugin",
    "part",
    "part_of",
    "row_bytes",
    "coding",
    "grid",
    "fitted_from",
)


def present(ahead: float = 0.0) -> datetime.datetime:
    """The present moment by a clock that is so many seconds ``ahead`` of the one of this computer."""
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=ahead)


def now() -> str:
    """The present time for records: UTC, to the second."""
    return present().isoformat(timespec="seconds")


def account() -> str:
    """The name of the user's account; empty where there is none, as in some containers."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


@dataclass(frozen=True)
class SourceRecord:
    """A folder, zip or file that was imported; ``identified``: with the original ids and dates."""

    id: int
    kind: str
    name: str
    path: Path
    columns: tuple[str, ...] = ()
    identified: bool = False


@dataclass(frozen=True)
class FileRecord:
    """A file of a source as it was when last read. ``stamp``: mtime in ns, or a zip entry's CRC."""

    path: str
    size: int
    stamp: int
    hash: str
    state: str
    reason: str = ""


@dataclass(frozen=True)
class CaseRecord:
    """A case to be written; ``content`` is the hash of its image, so equal content is a duplicate.

    ``depth``: slices of a volume; ``slices``: if in several files, (path, frame) of each.
    """

    case_id: str
    path: str
    member: str = ""
    frame: int | None = None
    finding: str | None = None
    patient: str | None = None
    region: Region | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    width: int | None = None
    height: int | None = None
    content: str = ""
    numbers: tuple[float, ...] | None = None
    depth: int | None = None
    slices: tuple[Slice, ...] = ()


@dataclass(frozen=True)
class CaseLabels:
    """The labels of a case as catalogued; ``path`` is the case's file."""

    finding: str | None
    patient: str | None
    attributes: Mapping[str, str]
    region: Region | None
    path: str
    slices: tuple[Slice, ...] = ()


@dataclass(frozen=True)
class CaseExtent:
    """The id of the ``source`` of a case, and the size of its image and of its region in pixels, where known."""

    source: int
    width: int | None
    height: int | None
    region_width: int | None
    region_height: int | None

    @property
    def image_size(self) -> float:
        """Pixels of the image; NaN where unknown."""
        return float(self.width * self.height) if self.width and self.height else math.nan

    @property
    def crop_scale(self) -> float:
        """The region's share of the image, 1 without a region; NaN where unknown."""
        if self.region_width is None or self.region_height is None:
            return self.image_size / self.image_size
        return self.region_width * self.region_height / self.image_size


@dataclass(frozen=True)
class CaseDetails:
    """A case as it is read, with the address of its image (``None`` for a table's row).

    ``depth``: slices of a volume (``None`` for an image). ``slice_hashes``: of a volume in several files,
    the hash of each slice's file when it was read, in the order of ``address.slices``. ``is_date_shifted``: whether
    de-identification moved its date.
    """

    row: int
    case_id: str
    finding: str | None
    patient: str | None
    region: Region | None
    attributes: Mapping[str, str]
    width: int | None
    height: int | None
    content: str
    kind: str
    address: ImageAddress | None
    state: str
    reason: str
    depth: int | None = None
    slice_hashes: tuple[str, ...] = ()
    is_date_shifted: bool = False

    @property
    def shown_slice(self) -> int | None:
        """The slice, from 0, that represents a volume: of its region, else the middle one; ``None`` for an image."""
        return None if self.depth is None or self.depth < 2 else shown_slice(self.depth, self.region)

    @property
    def date(self) -> str:
        """The date as :func:`semblance.core.library.case_names.date_name` has it; "" where it has none."""
        date = self.attributes.get("date", "")
        return date + SHIFTED if date and self.is_date_shifted else date


@dataclass(frozen=True)
class FeatureSet:
    """An extractor, its settings and version, and the names and groups of its features."""

    id: int
    name: str
    extractor: str
    version: int
    settings: Mapping[str, Any]
    columns: tuple[tuple[str, str], ...]

    @property
    def part(self) -> str:
        """One of :data:`semblance.core.features.places.PARTS` where the set was described in the same pass as another
        set; "" for a set of its own."""
        return str(self.settings.get(PART, ""))

    @property
    def part_of(self) -> int:
        """The id of the set it was described with; 0 for a set of its own."""
        return int(self.settings.get(PART_OF, 0))

    @property
    def width(self) -> int:
        """Values of a row of the store: the number of features, or of the bytes of packed descriptions."""
        return int(self.settings.get(ROW_BYTES, len(self.columns)))

    @property
    def is_packed(self) -> bool:
        """Whether its rows are packed descriptions in bytes, which no metric compares."""
        return ROW_BYTES in self.settings

    @property
    def extractor_settings(self) -> dict[str, Any]:
        """The settings of the extractor that measures its features."""
        return {name: value for name, value in self.settings.items() if name not in _OF_SET}

    @property
    def package(self) -> str:
        """The package whose plug-in its extractor is; empty for an extractor of this program."""
        plugin = self.settings.get(PLUGIN)
        return str(plugin.get("package", "")) if isinstance(plugin, Mapping) else ""

    @property
    def groups(self) -> tuple[str, ...]:
        """The group of each feature, in order."""
        return tuple(group for _, group in self.columns)


@dataclass(frozen=True)
class MetricRecord:
    """A stored metric; ``training`` (n,) are the ids of the cases it was fitted on."""

    id: int
    name: str
    learner: str
    feature_set: int
    file: Path
    card: Mapping[str, Any]
    training: npt.NDArray[np.int64]
    scores: Mapping[str, Any] | None


@dataclass(frozen=True)
class EmbeddingIndex:
    """An embedding with an index, of ``cases`` cases.

    ``features``: the stamp of the features that it was made from. ``candidates``: the smallest number of candidates
    that reached the required recall, ``None`` where none did; ``recall``: the share of the 20 nearest cases that are
    among so many candidates, over ``queries`` cases as queries; ``candidates`` and ``recall`` are measured.
    """

    number: int
    metric: str
    features: str
    cases: int
    dimensions: int
    centre: npt.NDArray[np.float64]
    scale: float
    candidates: int | None
    recall: float
    queries: int
    built: str


@dataclass(frozen=True)
class JudgementRecord:
    """A judgement in plain values; see :class:`semblance.core.searches.feedback.judgements.Judgement`."""

    kind: str
    query: str
    case: str
    other: str | None
    region: dict[str, Any] | None
    shown: tuple[str, ...]
    author: str
    time: str


@dataclass(frozen=True)
class MarkRecord:
    """A case, by its id, that has a concept or does not have it; the case may no longer exist."""

    case: str
    has: bool
    author: str
    time: str


@dataclass(frozen=True)
class ConceptRecord:
    """A concept and its marks, oldest first; ``deleted``: when it was deleted, or ``None``."""

    id: int
    name: str
    author: str
    time: str
    deleted: str | None = None
    marks: tuple[MarkRecord, ...] = ()

    def majority(self) -> dict[str, bool | None]:
        """Case -> whether most of those who marked it say that it has the concept; ``None`` where as many say that it
        has not. In the order of the first marks."""
        balance: dict[str, int] = {}
        for mark in self.marks:
            balance[mark.case] = balance.get(mark.case, 0) + (1 if mark.has else -1)
        return {case: value > 0 if value else None for case, value in balance.items()}


#: Longest name of a metric or feature set.
LONGEST_NAME = 200


def checked_name(name: str, what: str) -> str:
    """``name`` without spaces around it, as the name of ``what`` ("A metric").

    Raises:
        BadArguments: nothing is left, it is too long, or it holds a line break or a control character.
    """
    name = name.strip()
    if not name:
        raise BadArguments(tr_lazy("{what} needs a name.", what=what), "Give one, such as 'first'.")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise BadArguments(
            tr_lazy("{what} cannot be called {name}.", what=what, name=ascii(name[:40])),
            tr_lazy("Use at most {longest_name} characters, without line breaks.", longest_name=LONGEST_NAME),
        )
    return name


def unique_name(base: str, existing: Sequence[str]) -> str:
    """``base``, or ``base 2``, ``base 3`` ... when it is among the names ``existing``."""
    name, number = base, 2
    while name in existing:
        name, number = f"{base} {number}", number + 1
    return name


@dataclass(frozen=True)
class Edit:
    """An edit of the log. ``summary``: the names and counts of its description."""

    id: int
    kind: str
    summary: Mapping[str, Any]
    author: str
    time: str
    undone: bool = False


@dataclass(frozen=True)
class Reversal:
    """An edit that was undone or redone; ``skipped`` rows were changed meanwhile and stayed as they are."""

    edit: Edit
    skipped: int


@dataclass(frozen=True)
class OfferedProject:
    """A project that the account may open now, with its right there; ``until``: the last day, UTC."""

    name: str
    purpose: str
    until: str
    right: str
