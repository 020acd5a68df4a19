"""The card of a metric as a document independent of its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from semblance.core.language import tr_lazy
from semblance.core.reports.document import Fact

NOT_MEASURED = tr_lazy("no score may be claimed for it")


@dataclass(frozen=True)
class Table:
    """Rows of text below a header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A part of the card; ``measured_on`` belongs to every score in it."""

    title: str
    facts: tuple[Fact, ...] = ()
    table: Table | None = None
    measured_on: str = ""


@dataclass(frozen=True)
class CardDocument:
    """A whole card; ``values`` is the same as JSON values."""

    name: str
    sections: tuple[Section, ...]
    values: Mapping[str, Any]

    def lines(self) -> list[tuple[str, str]]:
        """(label, value) of every fact, in order."""
        return [(fact.label, fact.value) for section in self.sections for fact in section.facts]


def compare_cards(a: CardDocument, b: CardDocument) -> Table:
    """Every line of two cards side by side; the last column says whether they differ."""
    left, right = dict(a.lines()), dict(b.lines())
    labels = list(dict.fromkeys([*left, *right]))
    rows = tuple(
        (label, left.get(label, "–"), right.get(label, "–"), _differ(left, right, label)) for label in labels
    )
    return Table(("", a.name, b.name, ""), rows)


def _differ(left: Mapping[str, str], right: Mapping[str, str], label: str) -> str:
    return "" if left.get(label) == right.get(label) else "differs"
