"""The texts of a header by which a patient can be recognised, to find them in other attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from semblance.core.imaging.dicom.attributes import MAX_DEPTH

if TYPE_CHECKING:
    from pydicom import Dataset
    from pydicom.dataelem import DataElement

_IDS = (
    "PatientID",
    "OtherPatientIDs",
    "AccessionNumber",
    "AdmissionID",
    "PatientTelephoneNumbers",
    "PatientAddress",
    "MilitaryRank",
    "PatientInsurancePlanCodeSequence",
    "MedicalRecordLocator",
    "ServiceEpisodeID",
    "PatientBirthDate",
)
#: Shorter parts of names, and shorter numbers, occur in too many words.
_SHORTEST, _SHORTEST_NUMBER, _SHORTEST_INSIDE = 3, 5, 6


def elements(dataset: Dataset, depth: int = 0) -> Iterator[DataElement]:
    """Every element that can be read, those within sequences too."""
    for tag in sorted(dataset.keys()):
        try:
            element = dataset[tag]
        except Exception:  # noqa: BLE001 - a damaged value is parsed here, and may fail in any way
            continue
        yield element
        if element.VR == "SQ" and depth < MAX_DEPTH:
            for item in element.value or ():
                yield from elements(item, depth + 1)


class Identity:
    """Names of persons and ids of one object, to be found in texts."""

    def __init__(self, dataset: Dataset) -> None:
        words: set[str] = set()
        for element in elements(dataset):
            if element.VR == "PN" or element.keyword in _IDS:
                words.update(_words(element))
        long = [re.escape(word) for word in words if len(word) >= _SHORTEST_INSIDE]
        short = [re.escape(word) for word in words if len(word) < _SHORTEST_INSIDE]
        patterns = [rf"(?:{'|'.join(sorted(long, reverse=True))})"] if long else []
        patterns += [rf"(?<![^\W_])(?:{'|'.join(sorted(short))})(?![^\W_])"] if short else []
        self._pattern = re.compile("|".join(patterns), re.IGNORECASE) if patterns else None

    def is_in(self, text: str) -> bool:
        """Whether ``text`` has a name or an id of the object in it."""
        return self._pattern is not None and self._pattern.search(text) is not None


def _words(element: DataElement) -> Iterator[str]:
    value = element.value
    for one in value if isinstance(value, (list, tuple)) or hasattr(value, "append") else [value]:
        text = str(one or "")
        parts = re.split(r"[\^=,\s]+", text) if element.VR == "PN" else [text]
        for part in parts:
            word = part.strip()
            if len(word) >= (_SHORTEST_NUMBER if word.isdigit() else _SHORTEST):
                yield word
