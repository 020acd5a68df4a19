"""Choose the clinical columns of a library, and measure them: none that identifies a case or contains its finding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data_sources import sealed_rows
from semblance.core.features.clinical import Clinical, ClinicalColumn, as_number, clinical_settings
from semblance.core.features.fusion import Fusion, fused_sets
from semblance.core.language import join_texts, tr_lazy
from semblance.core.library.column_checks import MOST_CODES, TELLING, ordered_codes, own_findings, separation
from semblance.core.library.records import CHUNK, FeatureSet
from semblance.core.normal_text import is_missing
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.library.library import Library

Columns = npt.NDArray[np.float64]
Names = npt.NDArray[np.str_]

#: Columns that identify cases, are files, findings or free texts, or say how a library was made; and words in names of
#: such columns.
_NEVER = frozenset(
    [
        "patient",
        "subject",
        "case",
        "image",
        "picture",
        "study",
        "series",
        "instance",
        "issuer",
        "order",
        "number",
        "split",
        "part",
        "boxes",
        "codes",
        "fold",
        "of",
        "segment",
        "type",
        "regions",
        "geometry",
        "station",
        "institution",
        "burnt_in_text",
        "burnt_in_marks",
        "class",
        "target",
        "outcome",
        "report",
    ]
)
_NEVER_WORDS = frozenset(
    [
        "id",
        "ids",
        "uid",
        "uuid",
        "identifier",
        "name",
        "mrn",
        "accession",
        "date",
        "birth",
        "dob",
        "path",
        "file",
        "filename",
        "mask",
        "masks",
        "url",
        "hash",
        "note",
        "notes",
        "comment",
        "comments",
        "text",
        "description",
        "label",
        "labels",
        "finding",
        "findings",
        "diagnosis",
        "pathology",
        "histology",
        "physician",
        "doctor",
        "radiologist",
        "operator",
        "reader",
    ]
)


#: If so many cases or patients each have a whole number of their own in a column, the column is an identifier.
_MANY = 50


@dataclass(frozen=True)
class ChosenColumns:
    """``columns`` to use, and (name, reason) of those ``left_out``."""

    columns: tuple[ClinicalColumn, ...]
    left_out: tuple[tuple[str, str], ...]


def has_clinical_columns(attributes: Sequence[Mapping[str, str]]) -> bool:
    """Whether a column of the cases may be used at all."""
    return any(not _is_never_used(name) for case in attributes for name in case)


def configured_columns(library: Library, extractor: Clinical, name: str) -> tuple[Clinical, ChosenColumns]:
    """The extractor for the feature set ``name`` with its columns: those of the set if it exists, else columns chosen
    now.

    Raises:
        BadArguments: a named column is not there or cannot be used.
        BadInput: no column can be used.
    """
    for known in library.features.all():
        if known.name == name and known.extractor == Clinical.name:
            stored = Clinical(**known.settings)
            if extractor.requested in ((), stored.requested):
                return stored, ChosenColumns(stored.columns, ())
    if extractor.columns:
        return extractor, ChosenColumns(extractor.columns, ())
    chosen = choose_columns(library, extractor.requested)
    return Clinical(**clinical_settings(chosen.columns)), chosen


def choose_columns(library: Library, requested: Sequence[str] = ()) -> ChosenColumns:
    """The columns of the cases that can be used, or those of ``requested``.

    Raises:
        BadArguments: a requested column is not there or cannot be used.
        BadInput: no column can be used.
    """
    # The columns are part of what a metric learns from.
    sealed = frozenset(sealed_rows(library).tolist())
    rows = [row for row in library.catalogue.all_cases() if row.id not in sealed]
    attributes = library.catalogue.attributes()
    cases = [attributes.get(row.id, {}) for row in rows]
    findings = np.array([row.finding or "" for row in rows], dtype=np.str_)
    patients = [row.patient or "" for row in rows]
    names = sorted({name for case in cases for name in case})
    for name in requested:
        if name not in names:
            raise BadArguments(
                tr_lazy("No case has a column '{name}'.", name=name),
                tr_lazy("Columns: {names}.", names=", ".join(names) or "–"),
            )
    columns, left_out = [], []
    for name in requested or names:
        found = _column(name, [case.get(name, "") for case in cases], findings, patients)
        if isinstance(found, ClinicalColumn):
            columns.append(found)
        elif requested:
            raise BadArguments(
                tr_lazy("The column '{name}' cannot be used: {reason}.", name=name, reason=found),
                "Name other columns.",
            )
        else:
            left_out.append((name, found))
    if not columns:
        reasons = [tr_lazy("{name}: {reason}", name=name, reason=reason) for name, reason in left_out]
        raise BadInput(
            tr_lazy("{library} has no clinical columns that can be used.", library=library.location.name),
            join_texts(reasons, "; ") if reasons else "Add columns such as age and sex to labels.csv.",
        )
    return ChosenColumns(tuple(columns), tuple(left_out))


def write_clinical(
    library: Library,
    feature_set: FeatureSet,
    extractor: Clinical,
    rows: npt.NDArray[np.int64],
    reporter: Reporter,
) -> int:
    """Write the features of the cases ``rows``; returns how many cases have some."""
    attributes = library.catalogue.attributes()
    written = 0
    for start in range(0, len(rows), CHUNK):
        reporter.check_cancelled()
        part = rows[start : start + CHUNK]
        values = np.stack([extractor.with_attributes(np.empty(0), attributes[row]) for row in part.tolist()])
        written += library.features.write_chunk(feature_set, part, values)
        reporter.progress(
            start + len(part), len(rows), tr_lazy("Copying {feature_set}", feature_set=feature_set.name)
        )
    return written


def forget_changed_columns(library: Library, reporter: Reporter = SILENT) -> None:
    """Remove the numbers of cases whose columns changed since they were measured, in all sets that hold them."""
    sets = [one for one in library.features.all() if one.extractor == Clinical.name]
    if not sets:
        return
    fused = [one for one in library.features.all() if one.extractor == Fusion.name]
    attributes = library.catalogue.attributes()
    for one in sets:
        reporter.check_cancelled()
        extractor = Clinical(**one.settings)
        rows, values = library.features.read(one)
        changed = [
            row
            for row, stored in zip(rows.tolist(), values, strict=True)
            if not np.array_equal(extractor.with_attributes(stored, attributes[row]), stored, equal_nan=True)
        ]
        holders = [f for f in fused if any(part.name == one.name for part in fused_sets(f.settings))]
        library.features.forget(changed, [one, *holders])


def _column(
    name: str, texts: Sequence[str], findings: Names, patients: Sequence[str]
) -> ClinicalColumn | str:
    """The column in the form that is used, or why it is left out."""
    known = np.array([not is_missing(text) for text in texts])
    if _is_never_used(name):
        return tr_lazy("it identifies cases, is a text, or says how the library was made")
    keys = np.array([text.strip().casefold() if ok else "" for text, ok in zip(texts, known, strict=True)])
    if len(set(keys[known].tolist())) < 2:
        return tr_lazy("it is the same for all cases")
    numbers = [as_number(text) if ok else np.nan for text, ok in zip(texts, known, strict=True)]
    values = None if None in numbers else np.array(numbers, dtype=np.float64)
    if _identifies_patients(keys, known, values, patients):
        return tr_lazy("it identifies patients")
    n_different = len(set(keys[known].tolist()))
    if values is None and n_different > MOST_CODES:
        return tr_lazy(
            "it has {n:,} different texts, and at most {most} are allowed", n=n_different, most=MOST_CODES
        )
    given_away = _finding_given_away(keys, values, findings)
    if given_away:
        return tr_lazy(
            "it separates the finding '{finding}' from all others, so it would reveal it", finding=given_away
        )
    if values is not None:
        return ClinicalColumn(name)
    spellings = Counter(text.strip() for text, ok in zip(texts, known, strict=True) if ok)
    categories: dict[str, str] = {}
    for spelling, _ in spellings.most_common():
        categories.setdefault(spelling.casefold(), spelling)
    return ClinicalColumn(name, tuple(categories[key] for key in sorted(categories)))


def _is_never_used(name: str) -> bool:
    words = re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return not name.strip() or name.strip().lower() in _NEVER or not _NEVER_WORDS.isdisjoint(words)


def _identifies_patients(
    keys: Names, known: npt.NDArray[np.bool_], values: Columns | None, patients: Sequence[str]
) -> bool:
    """Whether the column is the patient's id, or a whole number of its own for each of many patients or cases."""
    named = np.array([patient.strip().casefold() for patient in patients])
    if (keys == named)[known].mean() > 0.5:
        return True
    if values is None or (values[known] % 1).any():
        return False
    n_values = len(set(keys[known].tolist()))
    by_patient = set(zip(named[known].tolist(), keys[known].tolist(), strict=True))
    is_of_cases = n_values == known.sum()
    is_of_patients = "" not in named and n_values == len(by_patient) == len(set(named[known].tolist()))
    return n_values >= _MANY and (is_of_cases or is_of_patients)


def _finding_given_away(keys: Names, values: Columns | None, findings: Names) -> str:
    """A finding that the column separates from all others, "" if none; unknown counts as a value too."""
    names, own = own_findings(findings.tolist())
    labelled = findings != ""
    if not names:
        return ""
    scores = separation(np.unique(keys[labelled], return_inverse=True)[1], own[labelled], are_ordered=False)
    if values is not None:
        few = len(set(keys[labelled].tolist())) <= MOST_CODES
        by_order = separation(ordered_codes(values[labelled]), own[labelled])
        scores = np.maximum(scores, by_order) if few else by_order
    return names[int(scores.argmax())] if scores.max() > TELLING else ""
