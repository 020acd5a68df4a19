"""Names of DICOM cases as people name them: "Chest CT, 2.0 lung, 14 Mar 2019"."""

from __future__ import annotations

import datetime
import re

from semblance.core.language import tr, tr_lazy, translate, visible

#: Modality -> what people call such an image.
_MODALITIES = {
    "CR": tr_lazy("radiograph"),
    "DX": tr_lazy("radiograph"),
    "RG": tr_lazy("radiograph"),
    "MG": tr_lazy("mammogram"),
    "US": tr_lazy("ultrasound"),
    "PT": tr_lazy("PET"),
    "MR": tr_lazy("MRI"),
    "NM": tr_lazy("scintigram"),
    "XA": tr_lazy("angiogram"),
    "RF": tr_lazy("fluoroscopy"),
    "OT": tr_lazy("image"),
    "SC": tr_lazy("image"),
    "SEG": tr_lazy("segment"),
    "RTSTRUCT": tr_lazy("structure"),
}
#: BodyPartExamined -> its name in a sentence.
_BODY_PARTS = {
    "ABDOMEN": tr_lazy("abdomen"),
    "BRAIN": tr_lazy("brain"),
    "BREAST": tr_lazy("breast"),
    "CHEST": tr_lazy("chest"),
    "EXTREMITY": tr_lazy("extremity"),
    "FOOT": tr_lazy("foot"),
    "HAND": tr_lazy("hand"),
    "HEAD": tr_lazy("head"),
    "HEART": tr_lazy("heart"),
    "HIP": tr_lazy("hip"),
    "KNEE": tr_lazy("knee"),
    "LUNG": tr_lazy("lung"),
    "NECK": tr_lazy("neck"),
    "PELVIS": tr_lazy("pelvis"),
    "SHOULDER": tr_lazy("shoulder"),
    "SPINE": tr_lazy("spine"),
    "WHOLEBODY": tr_lazy("whole body"),
}
_MONTHS = (
    tr("Jan"), tr("Feb"), tr("Mar"), tr("Apr"), tr("May"), tr("Jun"),
    tr("Jul"), tr("Aug"), tr("Sep"), tr("Oct"), tr("Nov"), tr("Dec"),
)  # fmt: skip
_MAMMOGRAM = "MG"
#: Stands behind a date that de-identification moved, which is no day of the patient's life.
SHIFTED = "~"


def modality_name(modality: str) -> str:
    """What people call an image of a DICOM modality: "CT", "ultrasound"."""
    return translate(_MODALITIES.get(modality, modality))


def body_part_name(body_part: str) -> str:
    """``CHEST`` and ``WHOLE BODY`` as words: "chest", "whole body"."""
    known = _BODY_PARTS.get(re.sub(r"[\W_]", "", body_part.upper()))
    return translate(known) if known else re.sub(r"[\W_]+", " ", body_part).strip().lower()


def date_name(date: str) -> str:
    """``14 Mar 2019`` from ``2019-03-14``, ``Mar 2019, date shifted`` with :data:`SHIFTED` behind it; other text is
    kept."""
    try:
        found = datetime.date.fromisoformat(date.removesuffix(SHIFTED))
    except ValueError:
        return date
    if date.endswith(SHIFTED):
        return tr("{month} {year}, date shifted", month=_MONTHS[found.month - 1], year=str(found.year))
    return tr(
        "{day} {month} {year}", day=str(found.day), month=_MONTHS[found.month - 1], year=str(found.year)
    )


def kind_name(modality: str, body_part: str, laterality: str, view: str) -> str:
    """What an image is of: "Chest CT", "Mammogram R CC"; "" where nothing is known."""
    name, part = modality_name(modality), body_part_name(body_part)
    if modality == _MAMMOGRAM:
        part = ""
    what = tr("{part} {modality}", part=part, modality=name) if part and name else part or name
    return " ".join(filter(None, (what[:1].upper() + what[1:], laterality, view)))


def series_name(kind: str, description: str, thickness: str, kernel: str) -> str:
    """What a series is called in its study: its description, else thickness and kernel; "" where it has neither.

    A description that only repeats ``kind`` is left out.
    """
    if not description:
        return " ".join(filter(None, (tr("{mm} mm", mm=thickness) if thickness else "", kernel)))
    words = set(re.findall(r"\w+", description.casefold()))
    return "" if words <= set(re.findall(r"\w+", kind.casefold())) else description


def case_name(kind: str, series: str = "", segment: str = "", date: str = "") -> str:
    """The name of a case from its parts, of which each may be ""."""
    return visible(", ".join(filter(None, dict.fromkeys((kind, series, segment, date_name(date))))))
