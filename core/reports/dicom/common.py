"""What the DICOM objects of a report share: their source, codes, identity of the program, bytes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.purpose import PURPOSE

if TYPE_CHECKING:
    from pydicom import Dataset

#: The coding scheme of what DICOM has no codes for (declared in (0008,0110)).
SCHEME = "99SEMBLANCE"
MANUFACTURER = "Semblance"
_EXTRA = 'pip install "semblance-retrieval[pacs]"'
#: Attributes of patient and study (without its UID) that every object written here has, empty where unknown.
PATIENT_AND_STUDY = (
    "PatientID",
    "PatientName",
    "PatientBirthDate",
    "PatientSex",
    "AccessionNumber",
    "StudyID",
    "StudyDate",
    "StudyTime",
    "ReferringPhysicianName",
)


@dataclass(frozen=True)
class SourceObject:
    """The headers of a case's instances as they are referred to; ``frames``: of each the frames that are meant, from 1,
    none for all. Without images (``is_image``) the header has only a patient and a study."""

    instances: tuple[Dataset, ...]
    frames: tuple[tuple[int, ...], ...] = ()
    is_image: bool = True

    @property
    def header(self) -> Dataset:
        """The header of the first instance."""
        return self.instances[0]


def complete_header(header: Dataset) -> Dataset:
    """``header`` with empty values where it lacks attributes of patient and study, and with those of them that its
    source wrote against the standard written as it says: no needless delimiters in names, one line of one value."""
    for keyword in PATIENT_AND_STUDY:
        if keyword not in header:
            setattr(header, keyword, "")
    for keyword in ("StudyDescription", "StudyID", "AccessionNumber"):
        if keyword in header:
            setattr(header, keyword, _one_line(header[keyword].value))
    # As text, so that it is encoded in the character set of the new object.
    name = _without_empty_ends(str(header.PatientName))
    # The caret marks that a code used as a name has one component only.
    header.PatientName = f"{name}^" if name and "^" not in name else name
    header.ReferringPhysicianName = _without_empty_ends(str(header.ReferringPhysicianName))
    return header


def _without_empty_ends(name: str) -> str:
    """A name without delimiters that nothing follows, which some devices write to a fixed number (PS3.5 6.2.1)."""
    return "=".join(group.rstrip("^ ") for group in name.split("=")).rstrip("= ")


def _one_line(value: object) -> str:
    """A text without control characters; several values as one."""
    values = [value] if isinstance(value, str) else list(value or [])  # type: ignore[call-overload]
    printed = " ".join(map(str, values))
    return " ".join("".join(one if one.isprintable() else " " for one in printed).split())


def equipment(versions: Mapping[str, str]) -> dict[str, Any]:
    """The program as the device that made an object, as keyword arguments of highdicom.

    All are in UTF-8, which the program's own texts need, whatever the source is in.
    """
    version = versions.get("semblance", "") or "unknown"
    return {
        "manufacturer": MANUFACTURER,
        "manufacturer_model_name": MANUFACTURER,
        "software_versions": version[:64],
        "specific_character_set": "ISO_IR 192",
    }


def declare_scheme(dataset: Dataset, version: str) -> None:
    """Declare :data:`SCHEME` in ``dataset`` (PS3.3 C.12.1.1.5)."""
    from pydicom import Dataset

    scheme = Dataset()
    scheme.CodingSchemeDesignator = SCHEME
    scheme.CodingSchemeName = "Semblance"
    scheme.CodingSchemeVersion = version[:16] or "1"
    scheme.CodingSchemeResponsibleOrganization = "Semblance"
    dataset.CodingSchemeIdentificationSequence = [scheme]


def coded(value: str, meaning: str) -> Any:
    """A code of our scheme, for highdicom."""
    from highdicom.sr import CodedConcept

    return CodedConcept(value, SCHEME, meaning)


def purpose_item() -> Any:
    """The intended purpose as a content item of a report."""
    from highdicom.sr import RelationshipTypeValues, TextContentItem

    return TextContentItem(
        coded("purpose", "Intended purpose"), str(PURPOSE), RelationshipTypeValues.CONTAINS
    )


def encoded(dataset: Dataset) -> bytes:
    """The bytes of a file."""
    out = io.BytesIO()
    dataset.save_as(out, enforce_file_format=True)
    return out.getvalue()


@contextlib.contextmanager
def needs_highdicom() -> Iterator[None]:
    """Name the package where it is missing.

    Raises:
        SemblanceError: highdicom is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "highdicom":
            raise
        raise SemblanceError(
            "Structured reports, key objects and segmentations need the package highdicom.",
            tr_lazy("Run {command}", command=_EXTRA),
        ) from None
