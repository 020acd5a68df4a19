"""The cases of a library with the labels by which searches hide and count them, as columns. They are stored in the
folder of derived data, because reading a million cases from the catalogue takes seconds."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.library.lesion_groups import read_groups
from semblance.core.library.packed_texts import PackedTexts
from semblance.core.library.schema import cases
from semblance.core.workflows.searches.derived_arrays import CASES_FILE, load_arrays, save_arrays

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue
    from semblance.core.library.library import Library

#: Fewer cases are read as fast from the catalogue.
_FEWEST = 20_000


class _Columns(NamedTuple):
    """Of n cases, ascending: row ids, findings and patients as places among the names, -1 for none, and lesions."""

    rows: npt.NDArray[np.int64]
    findings: npt.NDArray[np.int32]
    patients: npt.NDArray[np.int32]
    lesions: npt.NDArray[np.int64]
    ids: PackedTexts
    finding_names: PackedTexts
    patient_names: PackedTexts


class CaseTable:
    """All catalogued cases by their row ids, with features or without."""

    def __init__(self, library: Library) -> None:
        self._catalogue = library.catalogue
        columns = _stored(library) or _read(library)
        #: (n,) row ids, ascending.
        self.rows = columns.rows
        #: (n,) a number for each finding, patient and lesion; -1 where there is none.
        self.finding_codes, self.patient_codes, self.lesions = columns[1:4]
        self._ids, self._finding_names, self._patient_names = columns[4:]
        #: The rows of the cases looked up so far, ``None`` where there is no such case.
        self._looked_up: dict[str, int | None] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row: object) -> bool:
        return isinstance(row, int) and self._place(row) is not None

    def places(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """(m,) where the cases ``rows`` (m,) stand here, -1 for those that are not here."""
        if not len(self.rows):
            return np.full(len(rows), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[places] == rows, places, -1)

    def id_of(self, row: int) -> str:
        """Its case id."""
        return self._ids[self._known_place(row)]

    def row_of(self, case_id: str) -> int:
        """Row id of a case.

        Raises:
            BadInput: the library has no such case.
        """
        if case_id not in self._looked_up:
            self.look_up([case_id])
        row = self._looked_up[case_id]
        if row is None:
            raise self._catalogue.no_such_case(case_id)
        return row

    def look_up(self, case_ids: Iterable[str]) -> None:
        """Find the rows of many cases by few queries, before :meth:`row_of` is called for each of them."""
        new = sorted(set(case_ids) - self._looked_up.keys())
        found = self._catalogue.rows_of(new)
        self._looked_up |= {case_id: found.get(case_id) for case_id in new}

    @cached_property
    def finding_names(self) -> tuple[str, ...]:
        """The findings that :attr:`finding_codes` number."""
        return tuple(self._finding_names)

    @cached_property
    def patient_names(self) -> tuple[str, ...]:
        """The patients that :attr:`patient_codes` number."""
        return tuple(self._patient_names)

    def finding_of(self, row: int) -> str | None:
        """The finding of a case; ``None`` if it has none."""
        code = int(self.finding_codes[self._known_place(row)])
        return None if code < 0 else self.finding_names[code]

    def patient_of(self, row: int) -> str | None:
        """The patient of a case; ``None`` if unknown."""
        code = int(self.patient_codes[self._known_place(row)])
        return None if code < 0 else self._patient_names[code]

    def lesion_of(self, row: int) -> int:
        """The number of the lesion of a case, equal within a same-lesion group and for equal content."""
        return int(self.lesions[self._known_place(row)])

    def rows_of_patients(self, patients: Collection[str]) -> set[int]:
        """Row ids of all cases of ``patients``; "" is no patient."""
        codes = [self._code_of_patient[name] for name in patients if name in self._code_of_patient]
        return set(self.rows[np.isin(self.patient_codes, codes)].tolist()) if codes else set()

    def rows_of_contents(self, contents: Collection[str]) -> set[int]:
        """Row ids of all cases that show one of ``contents``."""
        return self._catalogue.rows_of_contents(contents) if contents else set()

    @cached_property
    def _code_of_patient(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.patient_names)}

    def _place(self, row: int) -> int | None:
        place = int(np.searchsorted(self.rows, row))
        return place if place < len(self.rows) and self.rows[place] == row else None

    def _known_place(self, row: int) -> int:
        """
        Raises:
            KeyError: there is no such case.
        """
        place = self._place(row)
        if place is None:
            raise KeyError(row)
        return place


def _read(library: Library) -> _Columns:
    """The columns, read from the catalogue and stored."""
    catalogue = library.catalogue
    stamp = settled_stamp(catalogue)
    query = sa.select(cases.c.id, cases.c.case_id, cases.c.finding, cases.c.patient, cases.c.content)
    rows, ids, findings, patients, contents = catalogue.read_columns(query.order_by(cases.c.id))
    finding_codes, finding_names = _codes(findings)
    # "" is no patient.
    patient_codes, patient_names = _codes([patient or None for patient in patients])
    columns = _Columns(
        np.array(rows, dtype=np.int64),
        finding_codes,
        patient_codes,
        _lesions(catalogue, rows, contents),
        PackedTexts.of(ids),
        PackedTexts.of(finding_names),
        PackedTexts.of(patient_names),
    )
    if stamp and library.can_store_derived and len(rows) >= _FEWEST:
        arrays: dict[str, npt.NDArray[Any]] = dict(zip(_Columns._fields[:4], columns[:4], strict=True))
        for name, texts in zip(_Columns._fields[4:], columns[4:], strict=True):
            arrays |= {name: np.frombuffer(texts.data, dtype=np.uint8), f"{name}_ends": texts.ends}
        save_arrays(library.derived / CASES_FILE, arrays, stamp)
    return columns


def _stored(library: Library) -> _Columns | None:
    """The columns that :func:`_read` stored, unless any program wrote to the catalogue since then."""
    stamp = settled_stamp(library.catalogue)
    arrays = load_arrays(library.derived / CASES_FILE, stamp) if stamp else None
    if arrays is None:
        return None
    try:
        numbers = [arrays[name] for name in _Columns._fields[:4]]
        texts = [PackedTexts(arrays[name].tobytes(), arrays[f"{name}_ends"]) for name in _Columns._fields[4:]]
    except KeyError:
        return None
    kinds = (np.int64, np.int32, np.int32, np.int64)
    n = len(numbers[0])
    fits = all(one.dtype == kind and one.shape == (n,) for one, kind in zip(numbers, kinds, strict=True))
    fits = fits and all(one.ends.dtype == np.int64 and one.ends.ndim == 1 for one in texts)
    fits = fits and len(texts[0]) == n
    if not fits:
        return None
    return _Columns(numbers[0], numbers[1], numbers[2], numbers[3], texts[0], texts[1], texts[2])


def settled_stamp(catalogue: Catalogue) -> str:
    """What changes whenever any program wrote to the catalogue what searches are computed from; "" where the next write
    may not change it."""
    stamp = catalogue.stamp()
    if not catalogue.is_settled(stamp):
        return ""
    made_of = catalogue.identity(), catalogue.cases_stamp(stamp)
    return hashlib.blake2b(repr(made_of).encode(), digest_size=12).hexdigest()


def _codes(names: list[str | None]) -> tuple[npt.NDArray[np.int32], list[str]]:
    """(n,) a number for each of ``names``, -1 for ``None``, and the names in the order of their numbers."""
    numbers: dict[str | None, int] = {None: -1}
    codes = [numbers.setdefault(name, len(numbers) - 1) for name in names]
    return np.array(codes, dtype=np.int32), [name for name in numbers if name is not None]


def _lesions(catalogue: Catalogue, rows: list[int], contents: list[str]) -> npt.NDArray[np.int64]:
    """(n,) a number for each case, equal where they are of one lesion; cases in no group by their content."""
    numbers: dict[str, int] = {}
    lesions = np.array([numbers.setdefault(content, len(numbers)) for content in contents], dtype=np.int64)
    groups = read_groups(catalogue)
    if groups:
        grouped = np.array(sorted(groups), dtype=np.int64)
        listed = np.array(rows, dtype=np.int64)
        grouped = grouped[np.isin(grouped, listed)]
        lesions[np.searchsorted(listed, grouped)] = [
            len(numbers) + groups[row].group for row in grouped.tolist()
        ]
    return lesions
