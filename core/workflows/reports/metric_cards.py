"""Show, write and compare the cards of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.library.metric_scores import check_card
from semblance.core.library.open_library import open_library
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.registry import learner_class, learner_title
from semblance.core.metrics.relevance_feedback.refined_metric import LEARNER as CLICKS
from semblance.core.reports.card_document import CardDocument, Table, compare_cards
from semblance.core.reports.write_card import write_card
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.reports.build_card_document import card_document


def document_of(name: str, card: Mapping[str, Any], scores: Mapping[str, Any] | None) -> CardDocument:
    """The document of a metric from its stored ``card`` and ``scores``.

    Raises:
        BadInput: a card or scores that cannot be read, or that were changed after they were written.
    """
    check_card(name, card, scores)
    read = MetricCard.from_json(card)
    paper = "" if read.learner == CLICKS else learner_class(read.learner).paper
    return card_document(name, read, scores, learner_title=learner_title(read.learner), paper=paper)


def metric_card(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> CardDocument:
    """The card of the metric called ``name``.

    Raises:
        BadArguments: no such metric.
        BadInput: not a library, or a card that cannot be read.
    """
    with open_library(library) as opened:
        record = opened.metric(name)
        return document_of(name, record.card, record.scores)


def write_metric_card(library: LibraryLocation, name: str, out: Path, *, reporter: Reporter = SILENT) -> Path:
    """Write the card as .md or .json; returns ``out``.

    Raises:
        BadArguments: no such metric, or another ending.
        SemblanceError: the file cannot be written.
    """
    write_card(metric_card(library, name), out)
    log_export(library, "metric card", out.suffix)
    return out


def compared_cards(library: LibraryLocation, a: str, b: str, *, reporter: Reporter = SILENT) -> Table:
    """Two cards side by side.

    Raises:
        BadArguments: no such metric.
    """
    return compare_cards(metric_card(library, a), metric_card(library, b))
