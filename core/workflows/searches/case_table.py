"""The cases of a library with the labels by which searches hide and count them, in memory."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from semblance.core.library.lesion_groups import lesion_codes, read_groups

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue


class CaseTable:
    """All catalogued cases by their row ids, with features or without."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        cases = catalogue.all_cases()
        #: Row id -> case id.
        self.ids = {int(r.id): str(r.case_id) for r in cases}
        self._row_of = {case_id: row for row, case_id in self.ids.items()}
        self._facts: dict[int, tuple[str | None, str | None, str]] = {
            int(r.id): (r.finding, r.patient, r.content) for r in cases
        }
        self._lesions = lesion_codes(read_groups(catalogue), cases)

    def __len__(self) -> int:
        return len(self._facts)

    def __contains__(self, row: object) -> bool:
        return row in self._facts

    def row_of(self, case_id: str) -> int:
        """Row id of a case.

        Raises:
            BadInput: the library has no such case.
        """
        row = self._row_of.get(case_id)
        return self._catalogue.row_of(case_id) if row is None else row

    def finding_of(self, row: int) -> str | None:
        """The finding of a case; ``None`` if it has none."""
        return self._facts[row][0]

    def patient_of(self, row: int) -> str | None:
        """The patient of a case; ``None`` if unknown."""
        return self._facts[row][1]

    def lesion_of(self, row: int) -> int:
        """The number of the lesion of a case, equal within a same-lesion group and for equal content."""
        return self._lesions[row]

    def rows_of_patients(self, patients: Collection[str]) -> set[int]:
        """Row ids of all cases of ``patients``; "" is not a patient."""
        known = {patient for patient in patients if patient}
        return {row for row, facts in self._facts.items() if facts[1] in known} if known else set()

    def rows_of_contents(self, contents: Collection[str]) -> set[int]:
        """Row ids of all cases that show one of ``contents``."""
        known = set(contents)
        return {row for row, facts in self._facts.items() if facts[2] in known} if known else set()
