"""Whether text may be burnt into an image's pixels, from which it cannot be removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semblance.core.imaging.dicom.attributes import text

if TYPE_CHECKING:
    from pydicom import Dataset

#: The tags :func:`burnt_in_text` reads.
TAGS = ("BurnedInAnnotation", "ConversionType", "ImageType")

_SECONDARY = "1.2.840.10008.5.1.4.1.1.7"
_ULTRASOUND = ("1.2.840.10008.5.1.4.1.1.6", "1.2.840.10008.5.1.4.1.1.3")
#: Scanned documents and films, films and screens taken as an image or a video.
_CONVERSIONS = frozenset(("DF", "DV", "SD", "SI", "DI", "WSD"))
_SCREENS = ("SCREEN", "CAPTURE", "REPORT")


def burnt_in_text(dataset: Dataset) -> str:
    """ "yes" where the file states it, "possible" for ultrasound, secondary capture, scans and screens that do
    not state that there is none, else ""."""
    stated = text(dataset, "BurnedInAnnotation").upper()
    if stated == "YES":
        return "yes"
    if stated == "NO":
        return ""
    sop_class, kinds = text(dataset, "SOPClassUID"), text(dataset, "ImageType").upper()
    suspicious = (
        text(dataset, "Modality").upper() in ("US", "OT", "SC")
        or _is_in_family(sop_class, _SECONDARY)
        or any(_is_in_family(sop_class, one) for one in _ULTRASOUND)
        or text(dataset, "ConversionType").upper() in _CONVERSIONS
        or any(word in kinds for word in _SCREENS)
    )
    return "possible" if suspicious else ""


def _is_in_family(sop_class: str, family: str) -> bool:
    return sop_class == family or sop_class.startswith(f"{family}.")
