"""Findings that are written in several ways: which are one, and how it is called."""

from __future__ import annotations

import re
from collections.abc import Collection

from semblance.core.language import tr_lazy_n
from semblance.core.normal_text import is_missing_finding, normal_text

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
