"""The message above the similar cases: no close match, contradicting findings, or another problem of the query."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy

from semblance.app.shell.theme import plain_tip, set_look
from semblance.app.widgets.icon_label import IconLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.language import count_label, join_texts, tr, translate
from semblance.core.reports.formatting import distance_text
from semblance.core.retrieval.match_distance import NEAREST
from semblance.core.searches.search import NO_MATCH_RATE
from semblance.core.workflows.searches.search_result import ENCODER, SearchResult


class NoMatchNotice(QFrame):
    """Hidden while there is nothing to say. ``change`` opens the menu with the match threshold."""

    def __init__(self, change: Callable[[], None]) -> None:
        super().__init__()
        set_look(self, message="warning")
        self.title, self.detail = WrappedLabel(role="title"), WrappedLabel(role="second")
        self._is_single_line = self._says_all = False
        self.change = QPushButton(tr("Change…"))
        self.change.setToolTip(tr("Choose how far a query must be to have no close match"))
        set_look(self.change, link=True)
        self.change.clicked.connect(change)
        texts = vbox(spacing=2)
        texts.addWidget(self.title)
        texts.addWidget(self.detail)
        row = hbox(self, spacing=8, margins=(10, 6, 8, 6))
        row.addWidget(IconLabel("warning"), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        row.addWidget(self.change, 0, Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.hide()

    def set_single_line(self, single_line: bool) -> None:
        """Whether the detail is only the tooltip, where the panel is low."""
        if single_line != self._is_single_line:
            self._is_single_line = single_line
            self._show_detail()

    def _show_detail(self) -> None:
        # "Check the query" is unclear alone.
        is_tip = self._is_single_line and self._says_all
        self.detail.setVisible(not is_tip)
        self.title.setToolTip(plain_tip(self.detail.text()) if is_tip else "")

    def show_ranking(self, ranking: SearchResult | None, no_match_rate: float = NO_MATCH_RATE) -> None:
        """Show the warnings of ``ranking``, which was made with ``no_match_rate``."""
        messages = [] if ranking is None else [translate(warning) for warning in ranking.warnings]
        title = tr("Check the query")
        no_match = ranking is not None and ranking.no_close_match
        self._says_all = ranking is not None and (ranking.no_close_match or ranking.is_unclear)
        if ranking is not None and ranking.no_close_match:
            title = tr("No close match in this library")
            messages.insert(0, _far_text(ranking, no_match_rate))
        elif ranking is not None and ranking.is_unclear:
            title = tr("Unclear: the findings of the similar cases contradict each other")
            messages.insert(0, _unclear_text(ranking))
        self.title.setText(title)
        self.detail.setText("\n".join(messages))
        self.change.setVisible(no_match)
        self._show_detail()
        self.setAccessibleName(f"{self.title.text()}: {self.detail.text()}" if messages else "")
        self.setVisible(bool(messages))


def _far_text(ranking: SearchResult, no_match_rate: float) -> str:
    doubt = tr("The cases below may not be similar.")
    if ranking.match is None:
        return doubt
    values = {
        "n": NEAREST,
        "distance": distance_text(ranking.match.distance),
        "share": 100 * (1 - no_match_rate),
        "limit": distance_text(ranking.match.limit),
    }
    far = (
        tr(
            "The {n} nearest cases are {distance} away on average, compared by the encoder. For {share:g} % of "
            "cases like those of this library it is at most {limit}.",
            **values,
        )
        if ranking.match.features == ENCODER
        else tr(
            "The {n} nearest cases are {distance} away on average, compared by the metric. For {share:g} % of "
            "cases like those of this library it is at most {limit}.",
            **values,
        )
    )
    return f"{far} {doubt}"


def _unclear_text(ranking: SearchResult) -> str:
    counts = join_texts(count_label(n, finding) for finding, n in ranking.counts.items())
    return tr(
        "This library has similar cases, but no finding has two thirds of the nearest: {counts}.",
        counts=counts,
    )
