"""The report of a search as a document independent of its format; de-identified when it is made."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from semblance.core.imaging.region import Region
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import (
    LazyText,
    as_lazy,
    count_label,
    isolated,
    join_texts,
    tr_lazy,
    tr_lazy_n,
    visible,
    visible_lines,
)
from semblance.core.library.finding_codes import FindingCode
from semblance.core.library.findings import PALETTE, finding_letters
from semblance.core.reports.formatting import (
    digits_for,
    library_share_text,
    prevalence_text,
    region_text,
    spread_text,
)
from semblance.core.reports.measurement_text import Result
from semblance.core.reports.redaction import CaseNames, Redactor, texts_of
from semblance.core.searches.similar_cases import RankedCase, Vote

#: The name of an image that is not in the library, whose file name often contains the patient's name.
QUERY_IMAGE = tr_lazy("Query image")
#: In place of an image where the query is numbers that another program made.
GIVEN_VECTOR = tr_lazy("a given vector")
FINDING_COLOURS = tuple(PALETTE.values())
#: Cases shown large on the first page: the nearest, then those a person marked, then the next nearest. Without
#: images as many as vote are listed.
COMPARED, NEAREST, LISTED_WITHOUT_IMAGES = 6, 3, 10
_DARK_INK, _LIGHT_INK, _GREY = "#101012", "#FFFFFF", "#6B6B74"
_Row = TypeVar("_Row")
#: What the author wrote, in lines of their own.
_LINES = frozenset(("comment",))
#: Data for programs.
_NOT_SHOWN = frozenset(("created", "embedded_search", "identified", "free_text"))

#: Parts of a distance shown for a case; the others are summed.
PARTS = 5


@dataclass(frozen=True)
class LabelledValue(JsonDocument):
    """A line of a list of facts."""

    label: str
    value: str


@dataclass(frozen=True)
class LabelledImage:
    """An image, PNG or JPEG bytes, with its caption."""

    label: str
    image: bytes


@dataclass(frozen=True)
class FindingMark:
    """The mark shown beside a finding's name: colour of the square, letter and colour of the letter."""

    colour: str
    letter: str
    ink: str


@dataclass(frozen=True)
class ReportedQuery:
    """The query: a case of the library (``case_id``), or an image file (``image``)."""

    case_id: str | None = None
    image: str | None = None
    patient: str | None = None
    finding: str | None = None
    #: PNG or JPEG bytes.
    thumbnail: bytes | None = None
    #: Where the query is a region: the whole image with the region outlined.
    overview: bytes | None = None
    region: Region | None = None
    facts: tuple[LabelledValue, ...] = ()
    #: The slices that a person marked, with what each is.
    key_images: tuple[LabelledImage, ...] = ()


@dataclass(frozen=True)
class ReportedCase(RankedCase):
    """A case of the ranking as a report shows it. ``parts``: names and shares of its distance."""

    JSON_KEYS: ClassVar[JsonKeys] = (
        "rank",
        "case_id",
        "distance",
        "finding",
        "path",
        "patient",
        "near_duplicates",
        "judgement",
        "reason",
        ("parts", "_named_parts"),
    )
    JSON_NULL: ClassVar[tuple[str, ...]] = ()

    thumbnail: bytes | None = None
    parts: tuple[tuple[str, float], ...] = ()
    judgement: str = ""
    #: The main reasons of the distance, as a sentence.
    reason: str = ""
    #: The image in the size of the first page, of the cases that are shown there.
    image: bytes | None = None
    #: Whether the user chose the case for the first page.
    is_chosen: bool = False

    @property
    def _named_parts(self) -> list[dict[str, Any]]:
        return [{"name": name, "amount": amount} for name, amount in self.parts]

    def place_text(self) -> str:
        """Where a search by place found the query; empty without a place."""
        return "" if self.place is None else tr_lazy("Place {region}", region=region_text(self.place.region))

    def near_duplicates_text(self) -> str:
        """How many near-duplicates are grouped under the case."""
        return tr_lazy_n(
            "+{n} of the same lesion or copy", "+{n} of the same lesion or copies", self.near_duplicates
        )


@dataclass(frozen=True)
class JudgementRow(JsonDocument):
    """One judgement: ``a`` is (not) like ``b``, or closer to ``b`` than to ``c``; ``verdict`` as text."""

    verdict: str
    a: str
    b: str
    c: str | None = None
    when: str = ""


@dataclass(frozen=True)
class MeasurementRow(JsonDocument):
    """A figure that was measured: its ``number`` on the picture, its ``kind``, its results, and how lengths are known,
    where not in the patient."""

    number: int
    kind: str
    results: tuple[Result, ...]
    source: str = ""


@dataclass(frozen=True)
class MeasuredImage(JsonDocument):
    """The measurements on one image of the query (``rank`` ``None``) or of a similar case; ``slice`` from 1, of a
    volume. ``image``: PNG of it with the figures."""

    JSON_KEYS: ClassVar[JsonKeys] = ("rank", "case_id", "slice", ("measurements", "rows"))

    rank: int | None
    case_id: str | None
    slice: int | None
    rows: tuple[MeasurementRow, ...]
    image: bytes | None = None

    def title(self) -> str:
        """What was measured, such as ``Rank 2, slice 14``."""
        name = tr_lazy("Query") if self.rank is None else tr_lazy("Rank {rank}", rank=self.rank)
        return name if self.slice is None else join_texts([name, tr_lazy("slice {n}", n=self.slice)])


@dataclass(frozen=True)
class ReportPlot:
    """A figure as PNG and, where there is one, as SVG; ``measured_on`` belongs to every score."""

    caption: str
    png: bytes
    svg: bytes | None = None
    measured_on: str = ""


@dataclass(frozen=True)
class ReportDocument:
    """A search to be reported; ``created`` is ISO 8601, ``findings`` are the library's, in its order, and
    ``finding_colours`` the places of their colours in the palette.

    Unless ``identified``, the constructor names every case "Case 12" and removes patient ids, file names and patient
    ids within texts; :attr:`removed` describes this. So no writer can disclose them.
    """

    title: str
    created: str
    library: str
    metric: str
    query: ReportedQuery
    ranking: tuple[ReportedCase, ...]
    findings: tuple[str, ...] = ()
    finding_colours: tuple[int, ...] = ()
    #: Finding -> its code (RadLex, SNOMED CT, ...), of those that a list of the library gives one.
    finding_codes: Mapping[str, FindingCode] = field(default_factory=dict)
    vote: Vote = field(default_factory=Vote)
    #: The cases are ordered by marks, which do not change who the nearest are.
    marked: bool = False
    card: tuple[LabelledValue, ...] = ()
    measured_on: str = ""
    #: On what, and with which result, the metric was tested, as one sentence.
    tested: str = ""
    hidden: Mapping[str, int] = field(default_factory=dict)
    no_close_match: bool = False
    #: Whether the findings of the similar cases contradict each other.
    unclear: bool = False
    judgements: tuple[JudgementRow, ...] = ()
    plots: tuple[ReportPlot, ...] = ()
    measured: tuple[MeasuredImage, ...] = ()
    #: What :attr:`ranking` is ordered by beside the metric as it was trained: a person's marks, for example.
    order: str = ""
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    identified: bool = False
    #: Whether the facts of the query hold free text; only for :attr:`removed`.
    free_text: bool = False
    #: The areas with burnt-in text that were blacked out in the images; ``None`` if none were looked for.
    blacked_out: int | None = None
    #: Pseudonyms of cases unless ``identified``, shared with other reports; not stored.
    case_names: CaseNames | None = None
    #: Further patient ids that may occur in names or notes; only used to remove them.
    patients: tuple[str, ...] = ()
    #: Letterhead: the clinic's name and its logo as PNG or JPEG.
    clinic: str = ""
    logo: bytes | None = None
    #: Free text of the author.
    comment: str = ""
    #: The search as JSON, with which its library can reopen it; cases are named by keyed digests only.
    embedded_search: Mapping[str, Any] = field(default_factory=dict)
    #: What was removed, as sentences; set by the constructor.
    removed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        patients = {row.patient for row in self.ranking} | {self.query.patient, *self.patients}
        names = self.case_names or CaseNames()
        cases = [self.query.case_id, *(row.case_id for row in self.ranking)]
        cases += [case for one in self.judgements for case in (one.a, one.b, one.c)]
        files = {case: case for case in cases if case}
        files |= {row.path: row.case_id for row in self.ranking if row.path}
        object.__setattr__(self, "patients", ())
        object.__setattr__(self, "case_names", None)
        if not self.identified:
            # In this order: the query is the first case of its report.
            for case in files.values():
                names(case)
            if self.query.image not in (None, str(GIVEN_VECTOR)):
                object.__setattr__(self, "query", replace(self.query, image=QUERY_IMAGE))
        # A library may have very many patients; few of them occur in one report.
        texts = "\n".join(texts_of(self)).casefold()
        named = {patient for patient in patients if patient and patient.casefold() in texts}
        redactor = Redactor(self.identified, named, files, names)
        for name, value in vars(self).copy().items():
            if name not in ("identified", "free_text", "removed", "created", "embedded_search"):
                object.__setattr__(self, name, redactor.redact(value))
        removed = redactor.summary(free_text=self.free_text, blacked_out=self.blacked_out)
        object.__setattr__(self, "removed", removed)

    def compared(self) -> tuple[ReportedCase, ...]:
        """The cases of the first page, by rank; of a table those that are listed there."""
        if not self.has_images():
            return self.ranking[:LISTED_WITHOUT_IMAGES]
        return compared_rows(
            self.ranking,
            [row.judgement for row in self.ranking],
            {place for place, row in enumerate(self.ranking) if row.is_chosen},
        )

    def has_images(self) -> bool:
        """Whether there are images; a library made from a table has none."""
        return any(
            one is not None for one in (self.query.thumbnail, *(row.thumbnail for row in self.ranking))
        )

    def is_explained(self) -> bool:
        """Whether distances have parts to show: a single one is the distance itself."""
        return any(len(row.parts) > 1 for row in self.ranking)

    def marks(self) -> dict[str, FindingMark]:
        """The mark of each finding of the report, in the library's order."""
        shown = [row.finding for row in self.ranking] + [self.query.finding, *self.vote.counts]
        order = tuple(dict.fromkeys([*self.findings, *sorted({f for f in shown if f is not None})]))
        return finding_marks(order, self.finding_colours)

    def vote_text(self) -> str:
        """``10 nearest: 6 malignant, 3 benign, 1 not given``; empty where no neighbour has a finding."""
        counts, without = self.vote.counts, self.vote.n_without_finding
        if not counts:
            return ""
        labels = [count_label(n, finding) for finding, n in counts.items()]
        labels += [tr_lazy("{n:,} not given", n=without)] if without else []
        n, named = sum(counts.values()) + without, join_texts(labels)
        if self.marked:
            return tr_lazy("{n} nearest without marks: {counts}", n=n, counts=named)
        return tr_lazy("{n} nearest: {counts}", n=n, counts=named)

    def estimate_text(self) -> str:
        """The calibrated estimate with its interval, or why there is none."""
        vote = self.vote
        if not vote.counts and not vote.why_not:
            return tr_lazy("None of the nearest has a finding.")
        if not vote.calibrated or vote.probability is None or vote.finding is None:
            why = as_lazy(vote.why_not) if vote.why_not else tr_lazy("Not calibrated on held-out cases.")
            return tr_lazy("No estimate. {why}", why=why)
        source = (
            tr_lazy(", from {measured_on}", measured_on=as_lazy(vote.measured_on)) if vote.measured_on else ""
        )
        caution = tr_lazy("; {caution}", caution=as_lazy(vote.caution)) if vote.caution else ""
        shift = (
            library_share_text(vote.finding, vote.library_share)
            if vote.prevalence is None
            else prevalence_text(vote.prevalence)
        )
        return tr_lazy(
            "Estimate for {finding}: {probability}{shift}{source}{caution}.",
            finding=isolated(vote.finding),
            probability=spread_text(vote.probability, *(vote.interval or (None, None))),
            shift=tr_lazy(" {shift}", shift=shift) if shift else "",
            source=source,
            caution=caution,
        )

    def match_text(self) -> str:
        """That there is no close match, or that the findings of the similar cases contradict each other; else empty."""
        if self.no_close_match:
            return tr_lazy("No close match in this library.")
        if self.unclear:
            return tr_lazy("Unclear: similar cases exist, but their findings contradict each other.")
        return ""

    @property
    def digits(self) -> int:
        """The number of digits of the distances of the ranking."""
        return digits_for([row.distance for row in self.ranking])

    def hidden_text(self) -> str:
        """What the ranking left out; empty where it left out nothing."""
        parts = []
        if same := self.hidden.get("same_patient", 0):
            parts.append(tr_lazy("{n} of the same patient", n=same))
        if copies := self.hidden.get("near_duplicates", 0):
            parts.append(
                tr_lazy_n("{n} of the same lesion or copy", "{n} of the same lesion or copies", copies)
            )
        if not parts:
            return ""
        what = tr_lazy("{first} and {last}", first=parts[0], last=parts[-1]) if len(parts) > 1 else parts[0]
        return tr_lazy("Hidden: {what}.", what=what)


def compared_rows(
    ranking: Sequence[_Row], judgements: Sequence[str], chosen: Collection[int] = ()
) -> tuple[_Row, ...]:
    """The :data:`COMPARED` entries of ``ranking`` that a report shows large, in the order of the ranking: those at the
    places ``chosen``, the :data:`NEAREST`, those with a judgement (empty: none), then the next nearest."""
    places = sorted(
        range(len(ranking)),
        key=lambda place: (place not in chosen, place >= NEAREST and not judgements[place], place),
    )
    return tuple(ranking[place] for place in sorted(places[:COMPARED]))


def finding_marks(findings: Sequence[str], colours: Sequence[int] = ()) -> dict[str, FindingMark]:
    """The mark of each of ``findings``; ``colours``: their places in the palette, by default in order."""
    letters = finding_letters(findings)
    marks = {}
    for place, finding in enumerate(findings):
        chosen = colours[place] if place < len(colours) else place
        colour = FINDING_COLOURS[chosen % len(FINDING_COLOURS)]
        ink = _LIGHT_INK if colour == "#0072B2" else _DARK_INK
        marks[finding] = FindingMark(colour, letters[finding], ink)
    return marks


UNKNOWN_MARK = FindingMark(_GREY, "?", _LIGHT_INK)


def leading_parts(row: ReportedCase, limit: int = PARTS) -> list[tuple[str, float]]:
    """The largest parts of a distance, and all others as one part, including those not in the row. The amounts sum
    to the distance."""
    ordered = sorted(row.parts, key=lambda part: -abs(part[1]))
    if not ordered:
        return []
    missing = row.distance - sum(amount for _, amount in ordered)
    has_rest = abs(missing) > 1e-6 * max(abs(row.distance), 1e-300)
    if len(ordered) + has_rest <= limit:
        return [*ordered, (tr_lazy("others"), missing)] if has_rest else ordered
    rest = ordered[limit - 1 :]
    name = tr_lazy("others") if has_rest else tr_lazy("{n} others", n=len(rest))
    return [*ordered[: limit - 1], (name, sum(amount for _, amount in rest) + (missing if has_rest else 0.0))]


def waterfall(row: ReportedCase, limit: int = PARTS) -> list[tuple[str, float, float, float]]:
    """Each leading part with the start (0..1) and length of its step from 0 to the distance."""
    parts = leading_parts(row, limit)
    edges = [0.0]
    for _, amount in parts:
        edges.append(edges[-1] + amount)
    low, high = min(edges), max(edges)
    span = (high - low) or 1.0
    steps = []
    for (name, amount), (start, end) in zip(parts, itertools.pairwise(edges), strict=True):
        steps.append((name, amount, (min(start, end) - low) / span, abs(end - start) / span))
    return steps


def relative_distance(row: ReportedCase, ranking: Sequence[ReportedCase]) -> float:
    """The distance as a share, 0..1, of the largest in the ranking."""
    farthest = max((other.distance for other in ranking), default=0.0)
    return min(1.0, max(0.0, row.distance / farthest)) if farthest > 0 else 0.0


def with_visible_names(document: ReportDocument) -> ReportDocument:
    """A copy of ``document`` for a person to read. CSV and JSON keep the names as they are."""
    shown = copy.copy(document)
    for name, value in vars(document).items():
        if name not in _NOT_SHOWN:
            object.__setattr__(shown, name, _visible(value, name))
    return shown


def _visible(value: Any, name: str = "") -> Any:
    if isinstance(value, str):
        if isinstance(value, LazyText):
            # Its values were spelled out when it was made.
            return value
        return visible_lines(value) if name in _LINES else visible(value)
    if isinstance(value, tuple):
        return tuple(_visible(entry, name) for entry in value)
    if isinstance(value, Mapping):
        return {_visible(key): _visible(entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Region):
        fields = {
            entry.name: _visible(getattr(value, entry.name), entry.name)
            for entry in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **fields)
    return value
