"""Check the data of a library for contradictory, doubtful and unusable cases, and settle the issues."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.engine import run_parts
from semblance.core.errors import SemblanceError
from semblance.core.evaluation.data_sources import library_data
from semblance.core.evaluation.label_errors import (
    FOLDS,
    MIN_CASES,
    distances_to_other_units,
    doubtful_findings,
    judged_findings,
)
from semblance.core.evaluation.splits import patient_codes
from semblance.core.imaging.burnt_in_marks import mark_boxes
from semblance.core.imaging.drawn_text import drawn_text
from semblance.core.imaging.image_faults import chest_wall_side, is_blank, missing_share
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.column_checks import WRITTEN_DOWN, telling_columns, telling_notes
from semblance.core.library.data_reviews import DataReview, add_review, read_reviews, undo_review
from semblance.core.library.lesion_groups import lesion_codes, read_groups
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.steps.sequence import chosen_steps, fit_steps
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.open_volumes import CaseImage
from semblance.core.workflows.library import data_issues
from semblance.core.workflows.library.data_issues import CheckedCase, DataIssue, ImageMeasures, IssueKind

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import CaseDetails, FeatureSet

#: Images that a worker measures together.
_PART = 64
_ENCODER = "encoder"
_FEATURE_CHECKS = (IssueKind.LABEL_ERROR, IssueKind.OUTLIER)


@dataclass(frozen=True)
class DataCheck(JsonDocument):
    """The issues in ``cases`` cases of ``library``, the worst first.

    ``decisions``: how many decisions can be undone. ``reviewed``: issues left out because a person accepted their
    cases as they are. ``not_checked``: (check, reason); ``unreadable``: (case id, reason) of the images that no check
    could read. ``features``: the feature set whose neighbours were used, "" without one.
    """

    JSON_KEYS: ClassVar[JsonKeys] = (
        "library",
        "cases",
        ("feature_set", "features"),
        "issues",
        "decisions",
        "reviewed",
        "not_checked",
        "unreadable",
        "seconds",
    )
    JSON_NULL: ClassVar[tuple[str, ...]] = ("feature_set",)
    JSON_PAIRS: ClassVar[Mapping[str, tuple[str, str]]] = {
        "not_checked": ("check", "reason"),
        "unreadable": ("case_id", "reason"),
    }

    library: str
    cases: int
    features: str
    issues: tuple[DataIssue, ...]
    decisions: int
    reviewed: int
    not_checked: tuple[tuple[IssueKind, str], ...]
    unreadable: tuple[tuple[str, str], ...]
    seconds: float


def check_data(
    library: LibraryLocation, features: str | None = None, *, reporter: Reporter = SILENT
) -> DataCheck:
    """Check the labels and images of all cases of ``library``, and their neighbours in a feature set.

    ``features`` names the feature set; else it is the encoder's, the current metric's, or the first. Its plain
    distance is used and no trained metric, because a trained metric has also learned the wrong findings and would
    agree with them.

    Raises:
        BadArguments: no such feature set.
        BadInput: the library cannot be read.
    """
    start = time.monotonic()
    with open_library(library) as opened:
        details = opened.catalogue.details([int(r.id) for r in opened.catalogue.all_cases()])
        cases = _checked_cases(opened, details)
        reviews = read_reviews(opened.catalogue)
        not_checked: list[tuple[IssueKind, str]] = []
        if waiting := opened.thumbnails.count_without_outline():
            reason = tr_lazy_n(
                "{n} image was not compared with the others yet. Choose Research > Detect same-lesion groups, or run "
                "`semblance lesions LIB --detect`.",
                "{n} images were not compared with the others yet. Choose Research > Detect same-lesion groups, or run "
                "`semblance lesions LIB --detect`.",
                waiting,
            )
            not_checked.append((IssueKind.LABEL_CONFLICT, reason))
        issues = [
            *data_issues.label_conflicts(cases),
            *data_issues.contradictory_rows(cases),
            *data_issues.few_patients(cases),
        ]
        feature_set = _feature_set(opened, features)
        if feature_set is None:
            reason = tr_lazy("The library has no features yet. Extract some first.")
            not_checked += [(check, reason) for check in _FEATURE_CHECKS]
        else:
            reporter.progress(0, None, tr_lazy("Comparing cases"))
            found, missed = _neighbour_issues(opened, feature_set, cases)
            issues += found
            not_checked += missed
        path, name = opened.location, "" if feature_set is None else feature_set.name
    measured, unreadable = _measure_images(cases, details, reporter)
    sides, reason = data_issues.wrong_sides([pair for pair in measured if pair[0].side])
    not_checked += [(IssueKind.WRONG_SIDE, reason)] if reason else []
    images = data_issues.image_issues(measured)
    blank = {row for issue in images if issue.check == IssueKind.BLANK for row in issue.rows}
    # The neighbours of a blank image mean nothing.
    issues = [one for one in issues if not (one.check in _FEATURE_CHECKS and blank.issuperset(one.rows))]
    issues += [*sides, *images]
    kept = {(review.check, frozenset(review.case_ids)) for review in reviews if review.finding is None}
    shown = [issue for issue in issues if (issue.check.value, frozenset(issue.case_ids)) not in kept]
    order = {check: place for place, check in enumerate(IssueKind)}
    shown.sort(key=lambda issue: (-issue.severity, order[issue.check], -issue.doubt, issue.rows))
    return DataCheck(
        str(path),
        len(cases),
        name,
        tuple(shown),
        len(reviews),
        len(issues) - len(shown),
        tuple(not_checked),
        tuple(unreadable),
        time.monotonic() - start,
    )


def record_decision(
    library: LibraryLocation, issue: DataIssue, finding: str | None, *, reporter: Reporter = SILENT
) -> DataReview:
    """Give all cases of ``issue`` the ``finding``, or accept them as they are (``None``), so that they are not listed
    again.

    Raises:
        BadInput: the library no longer has one of the cases.
        SemblanceError: it cannot be written to.
    """
    with open_library(library, writable=True) as opened:
        return add_review(opened, issue.check.value, issue.case_ids, finding)


def undo_decision(library: LibraryLocation, *, reporter: Reporter = SILENT) -> DataReview | None:
    """Undo the last :func:`record_decision`; ``None`` where there is none."""
    with open_library(library, writable=True) as opened:
        return undo_review(opened)


def _checked_cases(library: Library, details: Mapping[int, CaseDetails]) -> list[CheckedCase]:
    images = library.catalogue.shown_images()
    lesions = lesion_codes(read_groups(library.catalogue), library.catalogue.all_cases())
    return [
        CheckedCase(
            row,
            case.case_id,
            case.finding,
            case.patient,
            case.content,
            lesions[row],
            images.get(row),
            case.region,
            case.kind,
            case.attributes,
        )
        for row, case in sorted(details.items())
    ]


def _feature_set(library: Library, name: str | None) -> FeatureSet | None:
    if name is not None:
        return library.features.get(name)
    found = library.features.all()
    metric = library.current_metric()
    wanted = [s for s in found if s.extractor == _ENCODER]
    wanted += [s for s in found if metric is not None and s.id == metric.feature_set]
    return next(iter([*wanted, *found]), None)


def _neighbour_issues(
    library: Library, feature_set: FeatureSet, cases: Collection[CheckedCase]
) -> tuple[list[DataIssue], list[tuple[IssueKind, str]]]:
    data = library_data(library, feature_set)
    assert data.case_rows is not None
    by_row = {case.row: case for case in cases}
    measured = [by_row[row] for row in data.case_rows.tolist()]
    telling: list[DataIssue] = []
    if feature_set.extractor in WRITTEN_DOWN:
        told = telling_columns(data.X, data.y.tolist())
        notes = telling_notes(data.feature_names, told, feature_set.name)
        telling = data_issues.telling_column(measured, notes)
    if len(measured) < MIN_CASES:
        reason = tr_lazy("Fewer than {n} cases have features.", n=MIN_CASES)
        return telling, [(check, reason) for check in _FEATURE_CHECKS]
    steps = chosen_steps("", feature_set.extractor, feature_set.settings, labelled=False)
    _, X = fit_steps(steps, data.X)
    units = patient_codes(data.units, len(measured))
    codes = np.arange(len(measured)) if units is None else units
    # The components describe how the cases of the library differ, not how an image from elsewhere differs from them.
    _, all_numbers = fit_steps([step for step in steps if not isinstance(step, PCA)], data.X)
    issues = [*telling, *data_issues.outliers(measured, distances_to_other_units(all_numbers, codes))]
    if len(judged_findings(data.y, codes)) < 2:
        reason = tr_lazy("Fewer than two findings have cases of {n} patients.", n=FOLDS)
        return issues, [(IssueKind.LABEL_ERROR, reason)]
    return [*issues, *data_issues.label_errors(measured, doubtful_findings(X, data.y, codes))], []


@dataclass(frozen=True)
class _ImageToMeasure:
    image: CaseImage
    is_mammogram: bool


def _measure_images(
    cases: Collection[CheckedCase], details: Mapping[int, CaseDetails], reporter: Reporter
) -> tuple[list[tuple[CheckedCase, ImageMeasures]], list[tuple[str, str]]]:
    """The measures of every case with an image, and (case id, reason) of images that cannot be read."""
    first: dict[object, CheckedCase] = {}
    for case in cases:
        if case.image is not None and details[case.row].address is not None:
            first.setdefault(case.image, case)
    to_measure = [_to_measure(case, details[case.row]) for case in first.values()]
    parts = [to_measure[start : start + _PART] for start in range(0, len(to_measure), _PART)]
    measures: dict[int, ImageMeasures] = {}
    failed: dict[int, str] = {}
    for seen, refused in run_parts(
        measure_images, parts, title=tr_lazy("Checking images"), reporter=reporter
    ):
        measures |= seen
        failed |= refused
    measured = [
        (case, measures[first[case.image].row])
        for case in cases
        if case.image in first and first[case.image].row in measures
    ]
    return measured, [(details[row].case_id, reason) for row, reason in sorted(failed.items())]


def _to_measure(case: CheckedCase, details: CaseDetails) -> _ImageToMeasure:
    assert details.address is not None
    is_mammogram = bool(case.side) and (case.kind == "mammograms" or case.attribute("modality") == "MG")
    image = CaseImage(case.row, details.content, details.address, details.region, details.slice_hashes)
    return _ImageToMeasure(image, is_mammogram)


def measure_images(
    images: list[_ImageToMeasure], *, reporter: Reporter
) -> tuple[dict[int, ImageMeasures], dict[int, str]]:
    """Row id -> measures of its image, and row id -> why it cannot be read; runs in a worker."""
    measures: dict[int, ImageMeasures] = {}
    failed: dict[int, str] = {}
    with ImageReader() as reader:
        for one in images:
            reporter.check_cancelled()
            try:
                opened = reader.open(one.image.address, one.image.region)
            except SemblanceError as error:
                failed[one.image.row] = error.message
                continue
            grey: npt.NDArray[np.float32] = np.nan_to_num(opened.grey())
            measures[one.image.row] = ImageMeasures(
                is_blank(grey),
                missing_share(grey),
                len(drawn_text(grey)),
                chest_wall_side(grey) if one.is_mammogram else None,
                len(mark_boxes(opened)),
            )
    return measures, failed
