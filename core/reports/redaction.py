"""De-identify a report: cases become "Case 12", and patients' ids are removed from texts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from semblance.core.language import LazyText, tr_lazy, tr_lazy_n

#: Shorter ids and numbers occur in too many sentences to be treated as a patient's id.
_MIN_LENGTH, _MIN_NUMBER_LENGTH = 3, 5
_ABSOLUTE = re.compile(r"(?:^|(?<=[\s'\"(]))(?:/(?=\S)|[A-Za-z]:[\\/]|\\\\|~/)[^\n'\"]*[\\/](?=[^\\/\s])")
_FILE_LIKE = re.compile(r"[\\/.].*\w")
#: A UID of a study, series or instance, with which the patient can be found in the archive.
_UID = re.compile(r"(?<![\w.])[0-2](?:\.[0-9]+){5,}(?![\w.])")
#: Fields with the id of a case, and fields with a patient or file.
_CASES = frozenset({"case_id", "a", "b", "c"})
_IDENTITIES = frozenset({"patient", "path"})
_CASE = "Case {n}"


class CaseNames:
    """Names of cases in de-identified reports: "Case 1", "Case 2", ... in the order of their first use.

    Reports that share one object use the same names.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __call__(self, case: str) -> str:
        """The name of the case with the id ``case``; a name given by this object is returned unchanged."""
        if isinstance(case, LazyText) and case.msgid == _CASE:
            return case
        return self._names.setdefault(case, tr_lazy("Case {n}", n=len(self._names) + 1))


class Redactor:
    """Redacts the parts of a report.

    ``identified`` keeps everything; unprintable characters are spelled out. ``patients`` are the ids to be removed.
    ``files`` maps paths of files, and ids of cases, to ids of cases: in a text they are replaced by the name that
    ``names`` gives the case.
    """

    def __init__(
        self,
        identified: bool,
        patients: Collection[str],
        files: Mapping[str, str] | None = None,
        names: CaseNames | None = None,
    ) -> None:
        self._identified = identified
        self._names = names or CaseNames()
        self._numbers: dict[str, int] = {}
        ordered = sorted(patients, key=lambda patient: (-len(patient), patient))
        self._patients = _any_pattern(
            [
                _id_pattern(p)
                for p in ordered
                if len(p) >= (_MIN_NUMBER_LENGTH if p.isdigit() else _MIN_LENGTH)
            ]
        )
        # Only names with the form of a file are searched in texts, because an id may be a common word or number.
        self._files = {
            key.casefold(): case
            for file, case in (files or {}).items()
            for key in (_last_part(file), file)
            if _FILE_LIKE.search(key)
        }
        self._known_files = _any_pattern(
            [_name_pattern(name) for name in sorted(self._files, key=len, reverse=True)]
        )

    def redact(self, value: Any, name: str = "") -> Any:
        """``value`` without identifying data; dataclasses, tuples and mappings are redacted recursively."""
        if isinstance(value, str):
            return self._redact_text(value, name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return dataclasses.replace(value, **self._fields(value))
        if isinstance(value, tuple):
            return tuple(self.redact(entry, name) for entry in value)
        if isinstance(value, Mapping):
            return {self.redact(key): self.redact(entry) for key, entry in value.items()}
        return value

    def summary(self, *, free_text: bool = False, blacked_out: int | None = None) -> tuple[str, ...]:
        """What was removed, as sentences; ``free_text``: the free text of the cases was kept; ``blacked_out``: the
        number of areas of the images that were blacked out, ``None`` if no text was looked for."""
        hidden = (
            tr_lazy("Burnt-in text is not removed from images.")
            if blacked_out is None
            else tr_lazy_n(
                "The images were searched for burnt-in text: {n} area is blacked out.",
                "The images were searched for burnt-in text: {n} areas are blacked out.",
                blacked_out,
            )
        )
        if self._identified:
            sentences = [tr_lazy("Identified: patient ids and file paths are included.")]
            sentences += [tr_lazy("Free text of cases is included.")] if free_text else []
            return (*sentences, hidden) if blacked_out is not None else tuple(sentences)
        sentences = [
            tr_lazy("De-identified: cases are numbered; patient ids and file names are left out."),
            tr_lazy("Free text of cases is included: it may name the patient.")
            if free_text
            else tr_lazy("Free text of cases is left out."),
        ]
        if self._numbers:
            sentences.append(tr_lazy("Patient ids inside texts are replaced by numbers in brackets."))
        return (*sentences, hidden)

    def _fields(self, value: Any) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for entry in dataclasses.fields(value):
            if not entry.init:
                continue
            inner = getattr(value, entry.name)
            if entry.name in _IDENTITIES and not self._identified:
                fields[entry.name] = None
            else:
                fields[entry.name] = self.redact(inner, entry.name)
        return fields

    def _redact_text(self, text: str, name: str) -> str:
        if name in _CASES and not self._identified:
            return self._names(text)
        if not isinstance(text, LazyText):
            return printable(text) if self._identified else self._without_names(printable(text))
        if text.msgid == _CASE:
            return text
        inner = text.with_values({key: self.redact(entry) for key, entry in text.values.items()})
        # An id may extend over two placeholders; then only the redacted text without placeholders is kept.
        redacted = self._redact_text(str(text), name)
        return inner if str(inner) == redacted else redacted

    def _without_names(self, text: str) -> str:
        text = _UID.sub("(DICOM id)", text)
        if self._known_files is not None:
            text = self._known_files.sub(
                lambda found: str(self._names(self._files[found.group().casefold()])), text
            )
        text = _ABSOLUTE.sub("", text)
        return text if self._patients is None else self._patients.sub(self._number_of, text)

    def _number_of(self, found: re.Match[str]) -> str:
        """Patients get numbers in the order of their first use, so that they can still be distinguished."""
        number = self._numbers.setdefault(found.group().casefold(), len(self._numbers) + 1)
        return f"[{number}]"


def texts_of(value: Any) -> Iterator[str]:
    """Every text in the parts of a report."""
    if isinstance(value, str):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for entry in dataclasses.fields(value):
            yield from texts_of(getattr(value, entry.name))
    elif isinstance(value, tuple):
        for entry in value:
            yield from texts_of(entry)
    elif isinstance(value, Mapping):
        yield from (str(key) for key in value)
        yield from texts_of(tuple(value.values()))


def printable(text: str) -> str:
    """``text`` without lone surrogates, and with control characters other than line ends and tabs spelled out."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return re.sub(
        r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]", lambda found: ascii(found.group())[1:-1], text
    )


def _last_part(name: str) -> str:
    return re.split(r"[\\/]", name.rstrip("\\/"))[-1]


def _name_pattern(name: str) -> str:
    """A pattern that finds a name, but not within a longer one."""
    return rf"(?<!\w){re.escape(name)}(?!\w)"


def _id_pattern(patient: str) -> str:
    """A pattern that finds an id, but not within a longer number."""
    before = r"(?<!\d)" if patient[0].isdigit() else ""
    after = r"(?!\d)" if patient[-1].isdigit() else ""
    return f"{before}{re.escape(patient)}{after}"


def _any_pattern(patterns: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None
