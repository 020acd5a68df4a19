"""Findings: which names are one, their order by severity or as a person set it, and their colours and letters."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semblance.core.language import tr_lazy_n
from semblance.core.library.natural_key import natural_key
from semblance.core.normal_text import is_missing_finding, normal_text

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue


#: "1.0" is the finding "1" that a program wrote as a number, and of "01" it drops the zero. "1.10" and "1.000" may be
#: something else.
_WHOLE_NUMBER = re.compile(r"([+-]?)0*(\d+)(?:[.,]0{1,2})?")
#: Findings that a note names.
_NAMED = 5


def finding_key(name: str) -> str:
    """Equal for names of one finding: capitals and blanks do not count, nor do full stops at the end, ``.0``
    behind a whole number and zeros before it.

    The capitals of single letters do: "a" and "A" are often codes.
    """
    name = normal_text(name)
    before = name.rstrip(".")
    if len(before) > 1 and before == before.rstrip():
        name = before
    number = _WHOLE_NUMBER.fullmatch(name)
    if number:
        return number[1] + number[2]
    return normal_text(" ".join(word if len(word) == 1 else word.casefold() for word in name.split()))


class FindingNames:
    """Gives each finding of an import one name: that of the library, or the one it was first written with.

    ``exact``: findings that are written differently stay different, and every text is one.
    """

    def __init__(self, known: Collection[str] = (), *, exact: bool = False) -> None:
        self._exact = exact
        self._by_key: dict[str, str] = {}
        self._names: dict[str, str | None] = {}
        self._merged: dict[str, dict[str, None]] = {}
        self._missing: dict[str, int] = {}
        self._known = frozenset(known)
        for name in known:
            self._by_key.setdefault(finding_key(name), name)

    def name(self, written: str | None) -> str | None:
        """The name of the finding that ``written`` means; ``None`` where it means none."""
        if not written:
            return None
        if written not in self._names:
            self._names[written] = self._name(written)
        name = self._names[written]
        if name is None and written.strip():
            self._missing[written] = self._missing.get(written, 0) + 1
        return name

    def _name(self, written: str) -> str | None:
        text = normal_text(written)
        if self._exact:
            return text or None
        if text in self._known:
            return text
        if is_missing_finding(text):
            return None
        name = self._by_key.setdefault(finding_key(text), text)
        if name != text:
            self._merged.setdefault(name, {})[text] = None
        return name

    @property
    def notes(self) -> list[str]:
        """Sentences about findings that were taken for one, and texts that were taken for no finding."""
        found = []
        if self._merged:
            groups = [
                ", ".join(f"'{one}'" for one in (name, *others))
                for name, others in list(self._merged.items())[:_NAMED]
            ]
            found.append(
                tr_lazy_n(
                    "Findings that differ only in spelling (capitals, blanks, full stops, zeros) were taken for one: "
                    "{groups}. To keep them apart, import with --set findings=exact.",
                    "{n} findings are written in several ways that differ only in spelling (capitals, blanks, full "
                    "stops, zeros) and were taken for one each: {groups}. To keep them apart, import with --set "
                    "findings=exact.",
                    len(self._merged),
                    groups="; ".join(groups),
                )
            )
        if self._missing:
            texts = ", ".join(f"'{text}'" for text in list(self._missing)[:_NAMED])
            found.append(
                tr_lazy_n(
                    "{n} case has no finding: {texts} was read as missing. To take it for a finding, import with --set "
                    "findings=exact.",
                    "{n} cases have no finding: {texts} was read as missing. To take it for a finding, import with "
                    "--set findings=exact.",
                    sum(self._missing.values()),
                    texts=texts,
                )
            )
        return found


#: Name -> colour of Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), in the order findings take them.
PALETTE = {
    "vermillion": "#D55E00",
    "sky blue": "#56B4E9",
    "bluish green": "#009E73",
    "orange": "#E69F00",
    "reddish purple": "#CC79A7",
    "blue": "#0072B2",
    "yellow": "#F0E442",
}
#: Key of the stored value: [{"name", "colour"}, ...] in the order that was set.
FINDINGS_KEY = "findings"
#: Key of the stored value: source -> the rule by which its cases with several findings have one.
RULES_KEY = "finding_rules"
#: Findings that come first in every library, so that the most common ones always have the same colours.
_MOST_SEVERE_FIRST = ("malignant", "cancer", "carcinoma", "benign", "normal")


@dataclass(frozen=True)
class FindingStyle:
    """A finding and its colour, a place in :data:`PALETTE`."""

    name: str
    colour: int


def stored_styles(catalogue: Catalogue) -> tuple[FindingStyle, ...]:
    """The findings in the order set by the user, with their colours; empty if none was set."""
    from semblance.core.library.stored_values import stored_value

    return parse_styles(stored_value(catalogue, FINDINGS_KEY))


def parse_styles(value: Any) -> tuple[FindingStyle, ...]:
    """The styles of a stored value; none where it is not a list of them."""
    try:
        return tuple(FindingStyle(str(one["name"]), int(one["colour"]) % len(PALETTE)) for one in value or ())
    except (KeyError, TypeError, ValueError):
        return ()


def all_styles(stored: Sequence[FindingStyle], names: Collection[str]) -> tuple[FindingStyle, ...]:
    """``stored``, then the other findings ``names``, most severe first, each with the colour of its place."""
    known = {style.name for style in stored}
    rest = by_severity(name for name in set(names) if name not in known)
    return (
        *stored,
        *(FindingStyle(name, place % len(PALETTE)) for place, name in enumerate(rest, start=len(stored))),
    )


def by_severity(names: Iterable[str]) -> list[str]:
    """Most severe first, then by name: libraries of the same findings show them in the same colours and letters,
    whatever the order of their cases."""

    def sort_key(name: str) -> tuple[int, str, str]:
        ranks = {finding: rank for rank, finding in enumerate(_MOST_SEVERE_FIRST)}
        return ranks.get(name.casefold(), len(ranks)), natural_key(name), name

    return sorted(names, key=sort_key)


def finding_letters(findings: Sequence[str]) -> dict[str, str]:
    """A letter for each of ``findings``, all different: a letter of its name where one is free.

    Earlier findings choose first. When every letter and digit is used, two characters follow.
    """
    used: set[str] = set()
    letters: dict[str, str] = {}
    for finding in findings:
        if finding not in letters:
            letters[finding] = next(letter for letter in _candidates(finding) if letter not in used)
            used.add(letters[finding])
    return letters


def _candidates(finding: str) -> Iterator[str]:
    characters = [letter.upper()[0] for letter in finding if letter.isalnum()]
    initials = [word.upper()[0] for word in finding.split() if word[0].isalnum()]
    yield from initials
    yield from (letter for letter in characters if letter.isalpha())
    yield from characters
    yield from string.ascii_uppercase
    yield from string.digits[1:]
    yield from _pairs(characters[:1] or ["X"])


def _pairs(first: Iterable[str]) -> Iterator[str]:
    for start in first:
        number = 2
        while True:
            yield f"{start}{number}"
            number += 1
