"""Takes out of a report what tells who a patient is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from semblance.core.language import LazyText, tr_lazy

#: Ids this short are only taken for ids where no letter or digit touches them.
_SHORT = 3
#: Shorter numbers stand in too many sentences to be taken for a patient there.
_SHORT_NUMBER = 5
_ABSOLUTE = re.compile(r"(?:^|(?<=[\s'\"(]))(?:/(?=\S)|[A-Za-z]:[\\/]|\\\\|~/)[^\n'\"]*[\\/](?=[^\\/\s])")
#: A study, series or instance as DICOM numbers them: whoever has the archive finds the patient by it.
_UID = re.compile(r"(?<![\w.])[0-2](?:\.[0-9]+){5,}(?![\w.])")
#: Fields that hold one name of a file or case, and so may be cut at any slash.
_NAMES = frozenset({"case_id", "image", "a", "b", "c"})
_IDENTITIES = frozenset({"patient", "path"})


class Eraser:
    """Walks the parts of a report and gives them back cleaned.

    ``identified`` keeps everything that can be written at all. ``patients`` are the ids that may not be told,
    ``names`` the full names of cases and files, whose folders may not be told either.
    """

    def __init__(self, identified: bool, patients: Collection[str], names: Collection[str] = ()) -> None:
        self._identified = identified
        self._numbers: dict[str, int] = {}
        ordered = sorted(patients, key=lambda patient: (-len(patient), patient))
        anywhere = [_whole(p) for p in ordered if len(p) >= _SHORT]
        alone = [rf"(?<![^\W_]){re.escape(p)}(?![^\W_])" for p in ordered if 0 < len(p) < _SHORT]
        prose = [_whole(p) for p in ordered if len(p) >= (_SHORT_NUMBER if p.isdigit() else _SHORT)]
        self._in_names, self._in_text = _any_of(anywhere + alone), _any_of(prose)
        self._known = {name: _last_part(name) for name in names if _last_part(name) != name}
        self._known_in_text = _any_of(
            [re.escape(name) for name in sorted(self._known, key=len, reverse=True)]
        )

    def cleaned(self, value: Any, name: str = "") -> Any:
        """``value`` without what may not be told; dataclasses, tuples and mappings are walked through."""
        if isinstance(value, LazyText):
            inner = value.with_values({key: self.cleaned(entry) for key, entry in value.values.items()})
            # What is told across two places is seen in the whole only; then no form of it is kept.
            whole = self.cleaned(str(value), name)
            return inner if str(inner) == whole else whole
        if isinstance(value, str):
            text = printable(value)
            if self._identified:
                return text
            text = _UID.sub("(DICOM id)", text)
            return self._name(text) if name in _NAMES else self._text(text)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return dataclasses.replace(value, **self._fields(value))
        if isinstance(value, tuple):
            return tuple(self.cleaned(entry, name) for entry in value)
        if isinstance(value, Mapping):
            return {self.cleaned(key): self.cleaned(entry) for key, entry in value.items()}
        return value

    def told(self) -> tuple[str, ...]:
        """What was taken out, in sentences."""
        if self._identified:
            return (tr_lazy("Identified: patient ids and file paths are included."),)
        told = [tr_lazy("De-identified: patient ids and the folders of files were left out.")]
        if self._numbers:
            told.append(tr_lazy("Patient ids inside names and notes are numbers in brackets."))
        told.append(tr_lazy("Text burnt into images is not taken out."))
        return tuple(told)

    def _fields(self, value: Any) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for entry in dataclasses.fields(value):
            if not entry.init:
                continue
            inner = getattr(value, entry.name)
            if entry.name in _IDENTITIES and not self._identified:
                fields[entry.name] = None
            else:
                fields[entry.name] = self.cleaned(inner, entry.name)
        return fields

    def _name(self, text: str) -> str:
        return self._erased(_last_part(text), self._in_names)

    def _text(self, text: str) -> str:
        if self._known_in_text is not None:
            text = self._known_in_text.sub(lambda found: self._known[found.group()], text)
        return self._erased(_ABSOLUTE.sub("", text), self._in_text)

    def _erased(self, text: str, pattern: re.Pattern[str] | None) -> str:
        if pattern is None:
            return text
        return pattern.sub(self._numbered, text)

    def _numbered(self, found: re.Match[str]) -> str:
        """Patients get numbers as they come up, so that cases can still be told apart."""
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
    """``text`` that every writer can take: without lone surrogates and without control characters other than
    line ends and tabs."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", whole)


def _last_part(name: str) -> str:
    return re.split(r"[\\/]", name.rstrip("\\/"))[-1]


def _whole(patient: str) -> str:
    """A pattern that finds an id, but not within a longer number."""
    before = r"(?<!\d)" if patient[0].isdigit() else ""
    after = r"(?!\d)" if patient[-1].isdigit() else ""
    return f"{before}{re.escape(patient)}{after}"


def _any_of(patterns: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None
