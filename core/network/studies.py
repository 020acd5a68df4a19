"""Queries to a PACS and their answers: studies with their series, and the filter of the answers.

Servers ignore keys they do not index and match texts in their own ways, so answers are filtered again here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any, Final, Protocol

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.normal_text import without_accents

#: Studies that one query gives at most.
MAX_STUDIES: Final = 500

_DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}")
_UID = re.compile(r"[0-9]+(\.[0-9]+)*")


class StudyAnswer(Protocol):
    """What is read of an answer: a data set, or one in JSON."""

    def get(self, key: str, /) -> Any:
        """The value or values of the element with this keyword."""


@dataclass(frozen=True)
class StudyQuery:
    """A query for studies; an empty field matches everything. ``*`` and ``?`` are wildcards.

    ``name`` is matched from its start, ``description`` anywhere, where they have no ``*`` or ``?``. ``dates`` is
    ``YYYYMMDD``, ``FROM-TO``, ``FROM-`` or ``-TO`` (:func:`date_range`).
    """

    name: str = ""
    patient_id: str = ""
    dates: str = ""
    modality: str = ""
    description: str = ""
    accession: str = ""
    study: str = ""

    @property
    def name_pattern(self) -> str:
        """The pattern of the name; one ``?`` for what may stand between its parts."""
        pattern = re.sub(r"[\s,^=]+", "?", self.name.strip())
        return pattern if not self.name.strip() or _has_wildcard(self.name) else f"{pattern}*"

    @property
    def description_pattern(self) -> str:
        """The pattern of the description."""
        text = self.description.strip()
        return text if not text or _has_wildcard(text) else f"*{text}*"

    def fits(self, keyword: str, text: str) -> bool:
        """Whether ``text`` of the element ``keyword`` fits what is asked for, and something is."""
        if keyword == "PatientName":
            return bool(self.name) and _matches(self.name_pattern, _plain_name(text))
        if keyword == "StudyDescription":
            return bool(self.description) and _matches(self.description_pattern, text)
        return keyword == "PatientID" and bool(self.patient_id) and _matches(self.patient_id, text)

    def matches(self, study: Study, *, is_certain: bool = True) -> bool:
        """Whether ``study`` matches the query. A missing attribute matches.

        ``is_certain``: its texts are in a character set that the server states. Others were compared by the server, and
        are not compared again where they may be misread (PS3.4, C.2.2.2).
        """

        def fits(pattern: str, text: str) -> bool:
            return _matches(pattern, text) or not (is_certain or text.isascii())

        start, _, end = self.dates.rpartition("-")
        if "-" not in self.dates:
            start = end
        return (
            fits(self.name_pattern, _plain_name(study.patient_name))
            and fits(self.patient_id, study.patient_id)
            and fits(self.accession, study.accession)
            and fits(self.description_pattern, study.description)
            and (not self.study or self.study == study.study_instance_uid)
            and (not self.modality or not study.modalities or self.modality.upper() in study.modalities)
            and (not study.date or not start or start <= study.date)
            and (not study.date or not end or study.date <= end)
        )


@dataclass(frozen=True)
class Series:
    """One series of a study. ``instances`` is ``None`` if the server does not report it."""

    series_instance_uid: str
    modality: str = ""
    description: str = ""
    number: int | None = None
    body_part: str = ""
    instances: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Study:
    """One study of a patient. ``series`` and ``instances`` are numbers, ``None`` if the server does not report
    them."""

    study_instance_uid: str
    patient_name: str = ""
    patient_id: str = ""
    date: str = ""
    modalities: tuple[str, ...] = ()
    description: str = ""
    series: int | None = None
    instances: int | None = None
    accession: str = ""
    series_list: tuple[Series, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values; ``series_list`` only if it was requested."""
        document = asdict(self) | {"modalities": list(self.modalities)}
        if self.series_list:
            document["series_list"] = [series.to_json() for series in self.series_list]
        else:
            del document["series_list"]
        return document


class FoundStudies(list[Study]):
    """Studies that a query found. ``is_cut``: the server has more that fit."""

    def __init__(self, studies: Iterable[Study] = (), *, is_cut: bool = False) -> None:
        super().__init__(studies)
        self.is_cut = is_cut

    @property
    def notes(self) -> list[str]:
        """A sentence that says so if the list is cut."""
        if not self.is_cut:
            return []
        return [
            tr_lazy(
                "{n} of more than {n} studies are listed. Narrow the query, for example by a patient or a date.",
                n=len(self),
            )
        ]


@dataclass(frozen=True)
class Instance:
    """One object of a series, and its SOP class if the server reports it."""

    series_instance_uid: str
    sop_instance_uid: str
    sop_class_uid: str = ""


def queries_for_patient(query: StudyQuery, patient: str) -> list[StudyQuery]:
    """Queries for a patient by name or id, because no single query can match either."""
    text = patient.strip()
    if not text:
        return [query]
    return [replace(query, name=text), replace(query, patient_id=text)]


def in_all_cases(query: StudyQuery) -> list[StudyQuery]:
    """``query`` with the description in the usual kinds of capitals, because most servers are case-sensitive."""
    text = query.description
    return [
        replace(query, description=one)
        for one in dict.fromkeys((text, text.lower(), text.upper(), text.capitalize(), text.title()))
    ]


def date_range(text: str) -> str:
    """``text`` in the form of DICOM: ``YYYYMMDD``, ``FROM-TO``, ``FROM-`` or ``-TO``; dashes inside dates are allowed.

    Raises:
        BadArguments: it is no date and no range.
    """
    text = text.strip()
    found = _DATE.findall(text)
    plain = [day.replace("-", "") for day in found]
    rest = _DATE.sub("D", text).replace(" ", "")
    try:
        for day in plain:
            date(int(day[:4]), int(day[4:6]), int(day[6:]))
        forms = {"": "", "D": "{0}", "D-D": "{0}-{1}", "D-": "{0}-", "-D": "-{0}"}
        return forms[rest].format(*plain)
    except (KeyError, ValueError):
        raise BadArguments(
            tr_lazy("'{text}' is not a date or a range of dates.", text=text),
            "Write 20240131, 20240101-20240131, 20240101- or -20240131.",
        ) from None


def check_uid(uid: str) -> str:
    """``uid`` where it is one.

    Raises:
        BadArguments: it is not a UID (PS3.5, section 9).
    """
    if not is_uid(uid):
        raise BadArguments(
            tr_lazy("'{uid}' is not a UID.", uid=uid), "Copy it from the list of `semblance pacs find`."
        )
    return uid


def is_uid(text: str) -> bool:
    """Whether ``text`` is a UID: numbers with dots between, at most 64 characters."""
    return len(text) <= 64 and _UID.fullmatch(text) is not None


def study_from(dataset: StudyAnswer) -> Study | None:
    """The study that an answer describes; ``None`` where it has no UID."""
    uid = text_of(dataset, "StudyInstanceUID")
    if not is_uid(uid):
        return None
    modalities = texts_of(dataset, "ModalitiesInStudy") or texts_of(dataset, "Modality")
    return Study(
        uid,
        text_of(dataset, "PatientName"),
        text_of(dataset, "PatientID"),
        text_of(dataset, "StudyDate").replace("-", "").replace(".", "")[:8],
        tuple(sorted(set(modalities))),
        text_of(dataset, "StudyDescription"),
        number_of(dataset, "NumberOfStudyRelatedSeries"),
        number_of(dataset, "NumberOfStudyRelatedInstances"),
        text_of(dataset, "AccessionNumber"),
    )


def series_from(dataset: StudyAnswer) -> Series | None:
    """The series that an answer describes; ``None`` where it has no UID."""
    uid = text_of(dataset, "SeriesInstanceUID")
    if not is_uid(uid):
        return None
    return Series(
        uid,
        text_of(dataset, "Modality"),
        text_of(dataset, "SeriesDescription"),
        number_of(dataset, "SeriesNumber"),
        text_of(dataset, "BodyPartExamined"),
        number_of(dataset, "NumberOfSeriesRelatedInstances"),
    )


def instance_from(dataset: StudyAnswer, series: str) -> Instance | None:
    """The object that an answer describes; ``None`` where it has no UID."""
    uid = text_of(dataset, "SOPInstanceUID")
    if not is_uid(uid):
        return None
    sop_class = text_of(dataset, "SOPClassUID")
    return Instance(series, uid, sop_class if is_uid(sop_class) else "")


def in_order(studies: Iterable[Study]) -> list[Study]:
    """Each study once, the newest first."""
    unique = {study.study_instance_uid: study for study in studies}
    return sorted(unique.values(), key=lambda one: (one.date, one.study_instance_uid), reverse=True)


def text_of(dataset: StudyAnswer, keyword: str) -> str:
    """The value as one text, "" where there is none or it cannot be read."""
    return "\\".join(texts_of(dataset, keyword))


def texts_of(dataset: StudyAnswer, keyword: str) -> list[str]:
    """The values as texts, those that are not empty."""
    try:
        value = dataset.get(keyword)
        many = value if isinstance(value, list | tuple) or type(value).__name__ == "MultiValue" else [value]
        return [text for one in many if one is not None and (text := str(one).strip(" \0"))]
    except Exception:  # noqa: BLE001 - pydicom decodes a stranger's value, which may fail in any way
        return []


def number_of(dataset: StudyAnswer, keyword: str) -> int | None:
    """The value as a number, ``None`` where it is none."""
    try:
        return int(text_of(dataset, keyword))
    except ValueError:
        return None


def _has_wildcard(text: str) -> bool:
    return "*" in text or "?" in text


def _plain_name(name: str) -> str:
    """The parts of a person's name with blanks between them."""
    return re.sub(r"[\s,^=]", " ", name)


def _matches(pattern: str, text: str) -> bool:
    """Whether ``text`` fits, capitals and accents aside. An empty pattern or text fits."""
    pattern, text = without_accents(pattern), without_accents(text)
    if not pattern or not text.strip():
        return True
    plain = "".join(
        {"*": ".*", "?": "."}.get(character, re.escape(character)) for character in pattern.strip()
    )
    return re.fullmatch(plain, text.strip(), re.IGNORECASE | re.DOTALL) is not None
