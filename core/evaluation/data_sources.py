"""Read the data of an evaluation from a library's feature set, a CSV file or a built-in table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.splits import linked, numbered, split_units
from semblance.core.features.registry import stored_extractor
from semblance.core.language import tr_lazy
from semblance.core.library.importers.table import read_table
from semblance.core.library.importers.table_file import Table, TableFormat
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from sqlalchemy import Row

    from semblance.core.library.lesion_group_rows import GroupMember
    from semblance.core.library.library import Library
    from semblance.core.library.records import FeatureSet


PREFIX = "builtin:"
NAMES = ("breast_cancer", "digits", "iris", "wine")


def builtin_table(name: str) -> EvaluationData:
    """The table called ``name``, with or without the prefix ``builtin:``; patients are unknown.

    Raises:
        BadArguments: no such table.
    """
    name = name.removeprefix(PREFIX)
    if name not in NAMES:
        raise BadArguments(
            tr_lazy("There is no built-in table '{name}'.", name=name),
            tr_lazy("The tables are: {names}.", names=", ".join(NAMES)),
        )
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    findings = np.array([str(finding) for finding in bunch.target_names])
    return EvaluationData(
        X=np.asarray(bunch.data, dtype=np.float64),
        y=findings[bunch.target],
        feature_names=tuple(str(column) for column in bunch.feature_names),
        source=PREFIX + name,
        case_ids=np.array([f"row{row + 1}" for row in range(len(bunch.target))]),
    )


@dataclass(frozen=True)
class CaseSource:
    """Where cases come from: a ``library``, or a ``table`` (a CSV file or ``builtin:NAME``).

    ``features`` names the feature set, if the library has several; ``table_format``: the format of the CSV file, if
    it is not recognised.
    """

    library: LibraryLocation | None = None
    table: str | None = None
    features: str | None = None
    table_format: TableFormat | None = None


def read_source(
    source: CaseSource, attributes: Sequence[str] = ()
) -> tuple[EvaluationData, str, list[dict[str, str]]]:
    """The cases, the extractor whose default steps suit them, and the rows that could not be used.

    Raises:
        BadArguments: no such built-in table or feature set.
        BadInput: a library or file that cannot be read.
    """
    if source.library is not None:
        with open_library(source.library) as opened:
            feature_set = opened.features.get(source.features)
            data = library_data(opened, feature_set, attributes)
            if not stored_extractor(feature_set.extractor).local:
                # Experiments name their results by a digest of the features, in double precision.
                data = replace(data, X=data.X.astype(np.float64))
            return data, feature_set.extractor, []
    table = source.table or ""
    if table.startswith(PREFIX):
        return builtin_table(table), "raw", []
    read = read_table(Path(table), form=source.table_format)
    return (
        table_data(read, table, attributes),
        "raw",
        [{"row": str(row.line), "reason": row.reason} for row in read.failed],
    )


def library_data(
    library: Library, feature_set: FeatureSet, attributes: Sequence[str] = (), *, with_sealed: bool = False
) -> EvaluationData:
    """Stored features, findings, patients and ``attributes`` of the cases that have the features, without those in
    the sealed test vault unless ``with_sealed``.

    Cases of one lesion, copies of an image, and regions of one image are one unit, so that they are on the same
    side of a split.
    """
    rows, numbers = library.features.read(feature_set)
    if not with_sealed:
        rows, numbers = _unsealed(library, rows, numbers)
    made_by = {"version": feature_set.version, **feature_set.extractor_settings}
    return read_case_data(library, rows, numbers, feature_set.columns, attributes, made_by)


def sealed_rows(library: Library) -> npt.NDArray[np.int64]:
    """(s,) ids of the cases in the sealed test vault, ascending: those that were sealed, and all others of their
    patients, lesions and images.

    Raises:
        BadInput: the record of the vault is damaged.
    """
    from semblance.core.library.vault import read_vault

    vault = read_vault(library.catalogue)
    if vault is None:
        return np.empty(0, dtype=np.int64)
    rows, units = case_units(library)
    sealed = np.isin(rows, list(library.catalogue.rows_of(sorted(vault.case_ids)).values()))
    found: npt.NDArray[np.int64] = rows[np.isin(units, units[sealed])]
    return found


def cases_not_evaluated(library: LibraryLocation) -> dict[str, str]:
    """Every case of a library, and why it may not be evaluated: splits that name such a case are no mistake."""
    with open_library(library) as opened:
        sealed = set(sealed_rows(opened).tolist())
        reasons = {
            True: tr_lazy("they are sealed for the final test"),
            False: tr_lazy("they have no features of this set"),
        }
        return {str(case.case_id): reasons[case.id in sealed] for case in opened.catalogue.all_cases()}


def case_units(
    library: Library, reporter: Reporter = SILENT
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """(n,) ids of all cases of ``library``, ascending, and a number for each, equal for cases of one patient, one
    same-lesion group or one image.
    """
    from semblance.core.library.lesion_groups import read_groups

    groups = read_groups(library.catalogue)
    known: tuple[dict[object, int], ...] = ({}, {}, {}, {})
    rows: list[int] = []
    kinds: list[list[npt.NDArray[np.intp]]] = [[] for _ in known]
    for ids, patients, *shown in library.catalogue.identities():
        reporter.check_cancelled()
        rows += ids
        lesions = (
            [groups[row].group if row in groups else None for row in ids] if groups else [None] * len(ids)
        )
        for parts, values, numbers in zip(kinds, (patients, lesions, *shown), known, strict=True):
            parts.append(numbered(values, numbers))
    if not rows:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.intp)
    first = linked(*map(np.concatenate, kinds))
    # The first case of a unit, counted on where there is one.
    units = np.cumsum(first == np.arange(len(rows))) - 1
    return np.array(rows, dtype=np.int64), units[first]


def _unsealed(
    library: Library, rows: npt.NDArray[np.int64], numbers: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    sealed = np.isin(rows, sealed_rows(library))
    return (rows[~sealed], numbers[~sealed]) if sealed.any() else (rows, numbers)


def read_case_data(
    library: Library,
    rows: npt.NDArray[np.int64],
    X: npt.NDArray[Any],
    columns: Sequence[tuple[str, str]] = (),
    attributes: Sequence[str] = (),
    made_by: Mapping[str, Any] | None = None,
) -> EvaluationData:
    """The cases ``rows`` (n,) with the numbers ``X`` (n, d), whose ``columns`` are (name, group); else as
    :func:`library_data`."""
    # Tables are evaluated without a database.
    from semblance.core.library.lesion_groups import lesion_codes, read_groups

    by_row = {int(r.id): r for r in library.catalogue.all_cases()}
    # Cases may be removed while a job reads them.
    present = np.array([row in by_row for row in rows.tolist()], dtype=np.bool_)
    if not present.all():
        rows, X = rows[present], X[present]
    cases = [by_row[row] for row in rows.tolist()]
    patients = [r.patient or "" for r in cases]
    groups = read_groups(library.catalogue)
    codes = lesion_codes(groups, cases)
    lesions = np.array([codes[row] for row in rows.tolist()], dtype=np.int64)
    kinds = {source.kind for source in library.catalogue.sources()}
    attribute_values = library.catalogue.attributes(attributes) if attributes else {}
    return EvaluationData(
        X,
        np.array([r.finding or "" for r in cases], dtype=np.str_),
        np.array(patients, dtype=np.str_) if any(patients) else None,
        tuple(name for name, _ in columns),
        tuple(group for _, group in columns),
        str(library.location),
        masses=bool(kinds & {"mammograms", "ultrasound"}),
        case_rows=rows,
        case_ids=np.array([r.case_id for r in cases], dtype=np.str_),
        units=unit_names(library, cases, groups),
        lesions=lesions,
        attributes={
            name: np.array([attribute_values.get(int(row), {}).get(name, "") for row in rows], dtype=np.str_)
            for name in attributes
        },
        made_by=made_by or {},
    )


def unit_names(
    library: Library, cases: Sequence[Row[Any]], groups: Mapping[int, GroupMember] | None = None
) -> npt.NDArray[np.str_] | None:
    """See :func:`semblance.core.evaluation.splits.split_units`: the units of ``cases`` (n,), as
    ``Catalogue.all_cases`` gives them: of one patient, one of the same-lesion ``groups``, or one image.

    Without ``groups`` they are read from the library.
    """
    from semblance.core.library.lesion_groups import read_groups

    images = library.catalogue.shown_images()
    groups = read_groups(library.catalogue) if groups is None else groups
    return split_units(
        [r.patient for r in cases],
        [groups[r.id].group if r.id in groups else None for r in cases],
        [r.content if r.id in images else None for r in cases],
        [images.get(r.id) for r in cases],
    )


def table_data(table: Table, source: str, attributes: Sequence[str] = ()) -> EvaluationData:
    """Numbers, findings and patients of a table's rows; columns named in ``attributes`` are no features."""
    patients = table.patient_ids
    feature_columns = [place for place, column in enumerate(table.columns) if column not in attributes]
    return EvaluationData(
        table.X[:, feature_columns],
        np.array([finding or "" for finding in table.findings], dtype=np.str_),
        None if patients is None else np.array([p or "" for p in patients], dtype=np.str_),
        tuple(table.columns[place] for place in feature_columns),
        source=source,
        case_ids=np.array(table.case_ids, dtype=np.str_),
        attributes=_attributes(table, attributes),
        notes=tuple(table.notes),
    )


def _attributes(table: Table, names: Sequence[str]) -> dict[str, npt.NDArray[np.str_]]:
    """The attributes that are columns of the table, as texts."""
    found = {name: table.attributes[name] for name in names if name in table.attributes}
    for name in names:
        if name in table.columns:
            numbers = table.X[:, table.columns.index(name)].tolist()
            found[name] = ["" if number != number else repr(number) for number in numbers]  # noqa: PLR0124
    return {name: np.array(values, dtype=np.str_) for name, values in found.items()}
