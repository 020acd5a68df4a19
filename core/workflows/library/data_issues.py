"""Doubtful cases of a library: the kinds of issues, and the checks of labels and measured images that find them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.label_errors import MIN_CASES, OUTLIER_Z, DoubtfulFinding, outlier_scores
from semblance.core.imaging.region import Region, box_overlap
from semblance.core.language import tr_lazy, tr_lazy_n

#: Findings of fewer patients are listed; of fewer than the second as serious.
FEW_PATIENTS, VERY_FEW_PATIENTS = 10, 5
#: Regions that overlap at least this much (intersection by union) are one.
_SAME_REGION = 0.5
#: A mammogram whose chest wall is less clear than this is not checked; from so many clear ones of a side, most show
#: where it is in this library, if so large a share of them agree.
_CLEAR_SIDE, _MIN_SIDES, _AGREEING_SIDES = 0.3, 8, 0.8
_NORMAL = "normal"
#: A likely label error is serious if another finding is more probable by this difference.
CLEAR_MARGIN = 0.8


class IssueKind(StrEnum):
    """The checks, by their names in files."""

    LABEL_CONFLICT = "label_conflict"
    CONTRADICTION = "contradictory_rows"
    LABEL_ERROR = "likely_label_error"
    WRONG_SIDE = "wrong_side"
    BLANK = "blank_image"
    CUT = "cut_image"
    TEXT = "burnt_in_text"
    MARKS = "burnt_in_marks"
    OUTLIER = "outlier"
    FEW_PATIENTS = "few_patients"
    TELLING_COLUMN = "telling_column"


class Severity(IntEnum):
    """How much an issue can harm scores or privacy."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3


@dataclass(frozen=True)
class CheckedCase:
    """A case as the checks see it. ``image``: equal for cases that show one image, ``None`` for a table's row;
    ``lesion``: equal for cases of one lesion."""

    row: int
    case_id: str
    finding: str | None
    patient: str | None
    content: str
    lesion: int
    image: object = None
    region: Region | None = None
    kind: str = ""
    attributes: Mapping[str, str] | None = None

    def attribute(self, name: str) -> str:
        """The attribute ``name``, "" where it is not known."""
        return (self.attributes or {}).get(name, "")

    @property
    def side(self) -> str:
        """ "left" or "right"; "" where it is not known."""
        written = (self.attribute("breast") or self.attribute("laterality")).strip().casefold()
        return {"l": "left", "r": "right", "left": "left", "right": "right"}.get(written, "")


@dataclass(frozen=True)
class DataIssue:
    """Cases that are doubtful for one reason. ``findings``: the choices for all of them.

    ``doubt`` orders the issues of one check and severity."""

    check: IssueKind
    severity: Severity
    rows: tuple[int, ...]
    case_ids: tuple[str, ...]
    text: str
    findings: tuple[str, ...] = ()
    doubt: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The issue as the command prints it with ``--json``."""
        return {
            "check": self.check.value,
            "severity": self.severity.name.lower(),
            "cases": list(self.case_ids),
            "findings": list(self.findings),
            "text": self.text,
        }


@dataclass(frozen=True)
class ImageMeasures:
    """The measures of an image. ``chest_wall``: -1 left to +1 right, ``None`` if it is no mammogram.
    ``burnt_in_marks``: how many."""

    is_blank: bool
    missing_share: float
    lines_of_text: int
    chest_wall: float | None = None
    burnt_in_marks: int = 0


def _issue(
    check: IssueKind,
    severity: Severity,
    found: Iterable[CheckedCase],
    text: str,
    findings: Iterable[str] = (),
) -> DataIssue:
    cases = sorted(found, key=lambda case: case.row)
    rows, ids = tuple(case.row for case in cases), tuple(case.case_id for case in cases)
    return DataIssue(check, severity, rows, ids, text, tuple(findings))


def _named(cases: Iterable[CheckedCase]) -> list[str]:
    return sorted({case.finding for case in cases if case.finding})


def label_conflicts(cases: Sequence[CheckedCase]) -> list[DataIssue]:
    """Cases of one lesion, near-duplicates and equal images among them, with different findings."""
    out = []
    for members in _grouped(cases, lambda case: case.lesion):
        findings = _named(members)
        if len(findings) < 2:
            continue
        names = ", ".join(findings)
        is_equal = len({case.content for case in members}) == 1
        if members[0].image is None:
            text = tr_lazy("Equal rows of the table have different findings: {names}.", names=names)
            severity = Severity.LOW
        elif is_equal:
            text = tr_lazy("Equal images have different findings: {names}.", names=names)
            severity = Severity.HIGH
        else:
            text = tr_lazy("Images of one lesion have different findings: {names}.", names=names)
            severity = Severity.HIGH
        out.append(_issue(IssueKind.LABEL_CONFLICT, severity, members, text, findings))
    return out


def contradictory_rows(cases: Sequence[CheckedCase]) -> list[DataIssue]:
    """Cases of one image and region, or of one patient's same side and view, with different findings.

    Different lesions of one image do not contradict each other. Cases of one lesion are left to
    :func:`label_conflicts`.
    """
    out = []
    images = [case for case in cases if case.finding and case.image is not None]
    for members in _grouped(images, lambda case: case.image):
        pairs = [pair for pair in combinations(members, 2) if _contradict_on_image(*pair)]
        if pairs:
            doubtful = {case for pair in pairs for case in pair}
            text = tr_lazy(
                "One image has contradictory findings for the same region: {names}.",
                names=", ".join(_named(doubtful)),
            )
            out.append(_issue(IssueKind.CONTRADICTION, Severity.HIGH, doubtful, text, _named(doubtful)))
    whole = [case for case in images if case.patient and case.side and case.region is None]
    for members in _grouped(
        whole, lambda case: (case.patient, case.side, case.attribute("view"), case.attribute("study"))
    ):
        findings = _named(members)
        if len(findings) > 1 and len({case.image for case in members}) == len(members):
            text = tr_lazy(
                "One patient's images of the {side} side have different findings: {names}.",
                side=tr_lazy("left") if members[0].side == "left" else tr_lazy("right"),
                names=", ".join(findings),
            )
            if len({case.lesion for case in members}) > 1:
                out.append(_issue(IssueKind.CONTRADICTION, Severity.MEDIUM, members, text, findings))
    return out


def _contradict_on_image(one: CheckedCase, other: CheckedCase) -> bool:
    if one.finding == other.finding or one.lesion == other.lesion:
        return False
    if one.region is not None and other.region is not None:
        on_one_slice = one.region.z == other.region.z
        return on_one_slice and box_overlap(one.region.box, other.region.box) >= _SAME_REGION
    without = [case for case in (one, other) if case.region is None]
    return len(without) == 2 or str(without[0].finding).casefold() == _NORMAL


def few_patients(cases: Sequence[CheckedCase]) -> list[DataIssue]:
    """Findings of fewer than :data:`FEW_PATIENTS` patients, or cases where patients are not known."""
    out = []
    with_finding = [case for case in cases if case.finding]
    for members in _grouped(with_finding, lambda case: case.finding):
        patients = {case.patient or ("lesion", case.lesion) for case in members}
        if len(patients) >= FEW_PATIENTS:
            continue
        what = (
            tr_lazy_n("{n} patient", "{n} patients", len(patients))
            if all(case.patient for case in members)
            else tr_lazy_n("{n} case", "{n} cases", len(patients))
        )
        text = tr_lazy(
            "The finding '{finding}' has only {what}. Its scores and estimates are uncertain.",
            finding=members[0].finding,
            what=what,
        )
        severity = Severity.MEDIUM if len(patients) < VERY_FEW_PATIENTS else Severity.LOW
        out.append(_issue(IssueKind.FEW_PATIENTS, severity, members, text))
    return out


def telling_column(cases: Sequence[CheckedCase], sentences: Iterable[str]) -> list[DataIssue]:
    """The ``sentences`` about columns that alone tell the finding, each with one case of every finding."""
    first = [
        members[0]
        for members in _grouped([case for case in cases if case.finding], lambda case: case.finding)
    ]
    return [_issue(IssueKind.TELLING_COLUMN, Severity.HIGH, first, sentence) for sentence in sentences]


def outliers(cases: Sequence[CheckedCase], distances: npt.NDArray[np.float64]) -> list[DataIssue]:
    """Cases whose ``distances`` (n,) to their neighbours are much larger than is usual for their finding."""
    if len(cases) < MIN_CASES:
        return []
    scores = outlier_scores(distances, np.array([case.finding or "" for case in cases]))
    return [
        replace(
            _issue(
                IssueKind.OUTLIER,
                Severity.MEDIUM if scores[place] > 2 * OUTLIER_Z else Severity.LOW,
                [cases[place]],
                tr_lazy(
                    "Far from all other cases: {z:.1f} standard deviations beyond what is usual for its finding.",
                    z=float(scores[place]),
                ),
            ),
            doubt=float(scores[place]),
        )
        for place in np.flatnonzero(scores > OUTLIER_Z).tolist()
    ]


def label_errors(cases: Sequence[CheckedCase], doubtful: Iterable[DoubtfulFinding]) -> list[DataIssue]:
    """Cases whose finding a model of the other patients' cases contradicts, or of the other cases where no patient is
    known."""
    by_patient = any(case.patient for case in cases)
    return [_label_error(cases[one.place], one, by_patient=by_patient) for one in doubtful]


def _label_error(case: CheckedCase, doubtful: DoubtfulFinding, *, by_patient: bool) -> DataIssue:
    values = {
        "suggested": doubtful.suggested,
        "other": doubtful.other,
        "finding": case.finding,
        "own": doubtful.own,
    }
    text = (
        tr_lazy(
            "By the cases of other patients {suggested} has a probability of {other:.2f}, {finding} of {own:.2f}.",
            **values,
        )
        if by_patient
        else tr_lazy(
            "By its appearance, compared with the other cases, {suggested} has a probability of {other:.2f}, {finding} "
            "of {own:.2f}. Patients are not known, so other cases may be of the same patient.",
            **values,
        )
    )
    severity = Severity.HIGH if doubtful.margin >= CLEAR_MARGIN else Severity.MEDIUM
    issue = _issue(IssueKind.LABEL_ERROR, severity, [case], text, (doubtful.suggested,))
    return replace(issue, doubt=doubtful.margin)


def image_issues(measured: Sequence[tuple[CheckedCase, ImageMeasures]]) -> list[DataIssue]:
    """Blank and cut images, text in images, drawn or stated by a DICOM file, and burnt-in marks."""
    out = []
    for members in _grouped(measured, lambda pair: pair[0].image):
        cases, measures = [case for case, _ in members], members[0][1]
        if measures.is_blank:
            out.append(
                _issue(IssueKind.BLANK, Severity.HIGH, cases, tr_lazy("The image has one grey all over."))
            )
        elif measures.missing_share:
            share = round(100 * measures.missing_share)
            text = tr_lazy("At one side {share} % of the image are one grey: a part is missing.", share=share)
            out.append(_issue(IssueKind.CUT, Severity.MEDIUM, cases, text))
        if measures.lines_of_text:
            lines = tr_lazy_n("{n} line of text", "{n} lines of text", measures.lines_of_text)
            text = tr_lazy("{lines} in the image, which may name the patient.", lines=lines)
            out.append(_issue(IssueKind.TEXT, Severity.MEDIUM, cases, text))
        elif any(case.attribute("burnt_in_text") == "yes" for case in cases):
            text = tr_lazy("The DICOM file states that text is burnt into the image.")
            out.append(_issue(IssueKind.TEXT, Severity.MEDIUM, cases, text))
        if measures.burnt_in_marks:
            what = tr_lazy_n("{n} burnt-in annotation", "{n} burnt-in annotations", measures.burnt_in_marks)
            text = tr_lazy("{what}, such as calipers, arrows or letters in the pixels.", what=what)
            out.append(_issue(IssueKind.MARKS, Severity.LOW, cases, text))
    return out


def wrong_sides(measured: Sequence[tuple[CheckedCase, ImageMeasures]]) -> tuple[list[DataIssue], str]:
    """Mammograms that do not show the stated side, and why that could not be checked, or "".

    The chest wall of a left breast is at the left of the image, as mammograms are hung, unless most images of the
    library show the opposite.
    """
    clear: dict[str, list[tuple[CheckedCase, bool]]] = {"left": [], "right": []}
    for members in _grouped(measured, lambda pair: pair[0].image):
        case, measures = members[0]
        if measures.chest_wall is not None and abs(measures.chest_wall) >= _CLEAR_SIDE:
            clear[case.side].append((case, measures.chest_wall < 0))
    lies_left = {"left": True, "right": False}
    for side, found in clear.items():
        if len(found) >= _MIN_SIDES:
            share = float(np.mean([is_left for _, is_left in found]))
            if max(share, 1.0 - share) < _AGREEING_SIDES:
                return [], tr_lazy("The images do not show the breasts of one side alike.")
            lies_left[side] = share > 0.5
    if lies_left["left"] == lies_left["right"]:
        return [], tr_lazy("The images show both breasts on the same side: they were mirrored.")
    doubtful = {
        case.image: side
        for side, found in clear.items()
        for case, is_left in found
        if is_left != lies_left[side]
    }
    texts = {
        "left": tr_lazy("The file states a left breast, but the image shows a right one, or is mirrored."),
        "right": tr_lazy("The file states a right breast, but the image shows a left one, or is mirrored."),
    }
    return [
        _issue(IssueKind.WRONG_SIDE, Severity.HIGH, members, texts[doubtful[members[0].image]])
        for members in _grouped([case for case, _ in measured if case.image in doubtful], lambda c: c.image)
    ], ""


def _grouped(items: Iterable[Any], key: Any) -> list[list[Any]]:
    """Lists of the items with equal keys, in the order in which the keys come."""
    groups: dict[Any, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())
