"""The card of a metric as a document, and its Markdown and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.files import write_file
from semblance.core.language import as_lazy, isolated, join_texts, tr, tr_lazy, tr_lazy_n, translate, visible
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.score_titles import search_score_title
from semblance.core.reports.document import LabelledValue
from semblance.core.reports.formatting import spread_text, time_text

NOT_MEASURED = tr_lazy("no score may be claimed for it")

_CONSTRAINTS = {
    "similar": tr_lazy("similar"),
    "dissimilar": tr_lazy("dissimilar"),
    "visual": tr_lazy("visual"),
    "triplets": tr_lazy("triplets"),
    "judgements": tr_lazy("marks"),
    "judged triplets": tr_lazy("marked triplets"),
}
#: About a metric from a file that may have been edited.
UNVERIFIED = tr_lazy(
    "This metric came from a file that was changed after its export, or that an earlier version or Python wrote. Its "
    "scores were left out, and what this card says about its training may be wrong."
)
#: Names of columns that are listed; the others are counted.
_MAX_LISTED = 8


@dataclass(frozen=True)
class CardTable:
    """Rows of text below a header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class CardSection:
    """A part of the card; ``measured_on`` belongs to every score in it."""

    title: str
    facts: tuple[LabelledValue, ...] = ()
    table: CardTable | None = None
    measured_on: str = ""


@dataclass(frozen=True)
class CardDocument:
    """A whole card; ``values`` is the same as JSON values."""

    name: str
    sections: tuple[CardSection, ...]
    values: Mapping[str, Any]

    def lines(self) -> list[tuple[str, str]]:
        """(label, value) of every fact, in order."""
        return [(fact.label, fact.value) for section in self.sections for fact in section.facts]


def compare_cards(a: CardDocument, b: CardDocument) -> CardTable:
    """Every line of two cards side by side; the last column says whether they differ."""
    left, right = dict(a.lines()), dict(b.lines())
    labels = list(dict.fromkeys([*left, *right]))
    rows = tuple(
        (label, left.get(label, "–"), right.get(label, "–"), _differ(left, right, label)) for label in labels
    )
    return CardTable(("", a.name, b.name, ""), rows)


def _differ(left: Mapping[str, str], right: Mapping[str, str], label: str) -> str:
    return "" if left.get(label) == right.get(label) else "differs"


def card_facts(card: MetricCard, learner_title: str = "") -> tuple[LabelledValue, ...]:
    """Learner, parameters, training data and scores of the metric; empty lines are left out."""
    lines = [
        (tr_lazy("Unverified"), UNVERIFIED if card.unverified else ""),
        (tr_lazy("Learner"), learner_text(card, learner_title)),
        (tr_lazy("Parameters"), parameters_text(card)),
        (tr_lazy("Features"), card.feature_set),
        (tr_lazy("Steps"), join_texts(map(as_lazy, card.steps), "; ")),
        (tr_lazy("Trained on"), trained_on(card)),
        (tr_lazy("Constraints"), constraints_text(card)),
        (tr_lazy("Split"), split_text(card)),
        *((search_score_title(name), score_text(value)) for name, value in card.scores.items()),
        *column_lines(card),
        (tr_lazy("Training"), join_texts(map(as_lazy, card.notes), " ")),
        (tr_lazy("Trained at"), time_text(card.created)),
        (tr_lazy("Content hash"), card.content_hash),
    ]
    return tuple(LabelledValue(label, value) for label, value in lines if value)


def score_text(value: Any) -> str:
    """A number, or one with its interval: ``0.83 (0.78–0.87)``; empty for no value."""
    if isinstance(value, Mapping):
        return spread_text(value.get("mean", value.get("value")), *(value.get("ci95") or (None, None)))
    return spread_text(value) if isinstance(value, (int, float)) and not math.isnan(value) else ""


def trained_on(card: MetricCard) -> str:
    """``372 cases, 213 patients: 98 benign, ...``; empty where it was not counted."""
    if not card.n_cases:
        return ""
    known_patients = card.n_patients is not None
    patients = tr_lazy_n("{n} patient", "{n} patients", card.n_patients or 0)
    text = join_texts(
        [
            tr_lazy_n("{n} case", "{n} cases", card.n_cases),
            patients if known_patients else tr_lazy("patients unknown"),
        ]
    )
    findings = [
        isolated(tr_lazy("{n:,} {finding}", n=number, finding=finding))
        for finding, number in card.findings.items()
    ]
    return join_texts([text, join_texts(findings)], ": ") if findings else text


def split_text(card: MetricCard) -> str:
    """``30 % held out, by patient, seed 7``; empty where it was not split."""
    if card.split is None:
        return ""
    by = tr_lazy("by patient") if card.split.by_patient else tr_lazy("patients unknown")
    return tr_lazy(
        "{share:.0%} held out, {by}, seed {seed}", share=card.split.fraction, by=by, seed=card.split.seed
    )


def learner_text(card: MetricCard, title: str = "") -> str:
    """``BDM, 200 rounds``; ``title``: what the learner is called on screen."""
    name = as_lazy(title or card.learner)
    if card.plugin:
        package, version = (card.plugin.get(key, "") for key in ("package", "version"))
        name = tr_lazy(
            "{learner} (package {package} {version})", learner=name, package=package, version=version
        )
    return (
        name if card.rounds is None else join_texts([name, tr_lazy_n("{n} round", "{n} rounds", card.rounds)])
    )


def parameters_text(card: MetricCard) -> str:
    """``step = paper, rounds = 200``"""
    return ", ".join(f"{name} = {value}" for name, value in card.parameters.items())


def constraints_text(card: MetricCard) -> str:
    """``1,200 similar, 3,400 dissimilar``; empty where it was not counted."""
    text = card.constraints.items()
    return join_texts(
        tr_lazy("{n:,} {kind}", n=number, kind=_CONSTRAINTS.get(kind, kind))
        for kind, number in text
        if number
    )


def column_lines(card: MetricCard) -> list[tuple[str, str]]:
    """(label, text) for missing values, constant, selected and clinical columns; empty texts where there are none."""
    return [
        (
            tr_lazy("Missing values"),
            tr_lazy("{n:,} filled with training medians", n=card.imputed) if card.imputed else "",
        ),
        (tr_lazy("Constant columns"), _column_text(card.dropped_columns)),
        (tr_lazy("Selected columns"), _column_text(card.selected_columns)),
        (tr_lazy("Clinical columns"), _column_text(card.clinical_columns)),
    ]


def _column_text(columns: tuple[str, ...]) -> str:
    named = ", ".join(columns[:_MAX_LISTED])
    left = len(columns) - _MAX_LISTED
    return tr_lazy("{named} and {n:,} more", named=named, n=left) if left > 0 else named


def card_markdown(document: CardDocument) -> str:
    """Headings, lists and tables that read well as plain text too."""
    parts = [tr("# Metric card: {name}", name=_escape(document.name)), *map(_section, document.sections)]
    return "\n\n".join(parts) + "\n"


def comparison_markdown(table: CardTable) -> str:
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


def _section(section: CardSection) -> str:
    badge = f" ({translate(as_lazy(section.measured_on))})" if section.measured_on else ""
    lines = [f"## {translate(section.title)}{badge}", ""]
    lines += [f"- **{_escape(fact.label)}:** {_escape(fact.value)}" for fact in section.facts]
    if section.table is not None:
        lines += ["", *_table(section.table)]
    return "\n".join(lines)


def _table(table: CardTable) -> list[str]:
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
