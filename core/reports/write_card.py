"""A metric's card as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from semblance.core.errors import BadArguments
from semblance.core.files import write_file
from semblance.core.language import as_lazy, tr, tr_lazy, translate, visible
from semblance.core.reports.card_document import CardDocument, Section, Table


def card_markdown(document: CardDocument) -> str:
    """Headings, lists and tables that read well as plain text too."""
    parts = [tr("# Metric card: {name}", name=_escape(document.name)), *map(_section, document.sections)]
    return "\n\n".join(parts) + "\n"


def comparison_markdown(table: Table) -> str:
    """Two cards side by side."""
    return "\n".join(_table(table)) + "\n"


def card_json(document: CardDocument) -> str:
    """``{"name", "card", "scores"}``: the card's own fields, and its held-out scores; NaN becomes null."""
    return json.dumps(document.values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


WRITERS: dict[str, Callable[[CardDocument], str]] = {".md": card_markdown, ".json": card_json}


def write_card(document: CardDocument, path: Path) -> None:
    """Write it as .md or .json.

    Raises:
        BadArguments: another ending of the name.
        SemblanceError: the file cannot be written.
    """
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        raise BadArguments(
            tr_lazy("A metric's card cannot be a file like {path}.", path=path.name),
            "Use a name that ends in .md or .json.",
        )
    write_file(path, write(document).encode(), private=False)


def _section(section: Section) -> str:
    badge = f" ({translate(as_lazy(section.measured_on))})" if section.measured_on else ""
    lines = [f"## {translate(section.title)}{badge}", ""]
    lines += [f"- **{_escape(fact.label)}:** {_escape(fact.value)}" for fact in section.facts]
    if section.table is not None:
        lines += ["", *_table(section.table)]
    return "\n".join(lines)


def _table(table: Table) -> list[str]:
    rows = [table.header, ("---",) * len(table.header), *table.rows]
    return [f"| {' | '.join(_escape(cell, cell=True) for cell in row)} |" for row in rows]


def _escape(text: str, *, cell: bool = False) -> str:
    """``text`` with Markdown's special characters escaped: names of findings and columns come from files."""
    if cell and text == "---":
        return text
    flat = visible(" ".join(translate(text).split()))
    for mark in "\\`*[]<>|#":
        flat = flat.replace(mark, f"\\{mark}")
    return flat
