"""The bars above the similar cases: how they are ordered, with buttons to change it, and problems of the query."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy

from semblance.app.search.feedback import mark_cards
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.icons import icon
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.estimate_caution import TRAINED_ON_QUERY
from semblance.app.widgets.labels import ElidedLabel, IconLabel, WrappedLabel
from semblance.app.widgets.layouts import EDGE, hbox, vbox
from semblance.core.language import count_label, join_texts, tr, tr_n, translate
from semblance.core.reports.formatting import distance_text
from semblance.core.retrieval.match_distance import NEAREST
from semblance.core.searches.search import NO_MATCH_RATE
from semblance.core.workflows.searches.estimate import TRAINED
from semblance.core.workflows.searches.search_result import ENCODER, SearchResult


class RankingBar(QFrame):
    """Follows the ranking, the search and the library. A subclass makes its row and shows it in :meth:`refresh`."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        set_look(self, message="foot")
        self._text = ElidedLabel()
        theme_signals.changed.connect(self._update_height)
        self._update_height()

    def follow_ranking(self) -> None:
        """Refresh now and with every change."""
        changes = Change.RANKING | Change.SEARCH | Change.LIBRARY | Change.SERVER
        self._state.on_change(changes, self, self.refresh)
        self.refresh()

    @property
    def text(self) -> str:
        """Its text; empty while it is hidden."""
        return "" if self.isHidden() else self._text.text()

    def refresh(self) -> None:
        """Show how the cases are ordered, or hide the bar."""
        raise NotImplementedError

    def _update_height(self) -> None:
        self.setFixedHeight(theme().px(30))


class ChangeBar(RankingBar):
    """A text beside an icon, with one button that changes how the cases are ordered."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.change = QPushButton()
        self.change.clicked.connect(self._change)
        set_look(self.change, quiet=True)
        row = hbox(self, spacing=8, margins=(EDGE, 0, EDGE, 0))
        row.addWidget(IconLabel("info"))
        row.addWidget(self._text, 1)
        row.addWidget(self.change)
        self.follow_ranking()

    def _change(self) -> None:
        """The button was pressed."""
        raise NotImplementedError


class MarksBar(RankingBar):
    """Visible while the current query has marks."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.before = QPushButton(tr("Order before"))
        self.before.setCheckable(True)
        self.before.setToolTip(tr("Show the order without the marks. They are kept."))
        self.undo = QPushButton(icon("undo"), "")
        self.undo.setAccessibleName(tr("Undo"))
        self.start_again = QPushButton(tr("Start again"))
        self.before.clicked.connect(self._show_order)
        self.undo.clicked.connect(lambda: mark_cards.undo(context))
        self.start_again.clicked.connect(lambda: mark_cards.clear_marks(context))
        row = QHBoxLayout(self)
        row.setContentsMargins(EDGE, 0, EDGE, 0)
        row.setSpacing(12)
        row.addWidget(self._text, 1)
        for button in (self.before, self.undo, self.start_again):
            set_look(button, quiet=True)
            row.addWidget(button)
        self.follow_ranking()

    def refresh(self) -> None:
        marks, search = self._state.marks, self._state.search
        is_before = search is not None and search.strength == 0.0
        if is_before:
            text = tr_n("Order before {n} mark", "Order before {n} marks", len(marks))
        else:
            text = tr_n("Ordered by {n} mark", "Ordered by {n} marks", len(marks))
        self._text.setText(text)
        self._text.set_short_text(tr_n("{n} mark", "{n} marks", len(marks)))
        self._text.set_tip(
            tr(
                "{more} more like this, {less} less like this",
                more=len(marks.liked),
                less=len(marks.disliked),
            )
        )
        self.before.setChecked(is_before)
        for button, tip in (
            (
                self.undo,
                self._context.actions.text_with_key(tr("Undo the last mark"), "undo_judgement"),
            ),
            (self.start_again, tr("Undo all marks of this query")),
        ):
            button.setEnabled(self._state.can_write)
            button.setToolTip(self._state.why_not_written or tip)
        self.setVisible(bool(marks))

    def _show_order(self, before: bool) -> None:
        mark_cards.set_strength(self._context, 0.0 if before else 1.0)


class OtherMarksBar(ChangeBar):
    """Visible while marks on other cases refine the metric, and while marks on this image are not used."""

    def _change(self) -> None:
        if self._state.refining_count:
            mark_cards.use_other_marks(self._context, on=False)
        else:
            mark_cards.use_marks_set_aside(self._context)

    def refresh(self) -> None:
        refining, aside = self._state.refining_count, len(self._state.marks_set_aside)
        query = self._state.query
        if refining:
            self._text.setText(
                tr_n("Refined by {n} mark on other cases", "Refined by {n} marks on other cases", refining)
            )
            self._text.set_tip(tr("The metric follows these marks, and there is no estimate."))
            self.change.setText(tr("Use the plain metric"))
            self.change.setToolTip(tr("Rank without the marks on other cases. They are kept."))
        elif aside and query is not None:
            self._text.setText(
                tr_n(
                    "{n} mark on this image is set aside for the region",
                    "{n} marks on this image are set aside for the region",
                    aside,
                )
                if query.region is not None
                else tr_n(
                    "{n} mark on a region is set aside for the whole image",
                    "{n} marks on a region are set aside for the whole image",
                    aside,
                )
            )
            self._text.set_short_text(tr_n("{n} mark set aside", "{n} marks set aside", aside))
            self._text.set_tip("")
            self.change.setText(tr("Use them"))
            self.change.setToolTip(self._state.why_not_written or tr("Mark the same cases for this search"))
        self.change.setEnabled(bool(refining) or self._state.can_write)
        self.setVisible(bool(refining or aside))


class TrainingBar(ChangeBar):
    """Visible while the metric was trained on the query or its patient, and while these are left out."""

    def _change(self) -> None:
        ranking = self._state.ranking
        without = ranking is not None and not ranking.without_patient
        job = search_operations.rank_without_patient(self._context, on=without)
        if job is not None:
            self.change.setEnabled(False)
            job.ended.connect(self.refresh)

    def refresh(self) -> None:
        ranking = self._state.ranking
        if ranking is None:
            self.hide()
            return
        has_patient = self._has_patient(ranking.query.case)
        self.change.setEnabled(True)
        if ranking.without_patient:
            self._text.setText(
                tr("Ranked by {metric}, trained again without this patient", metric=ranking.metric)
                if has_patient
                else tr("Ranked by {metric}, trained again without this case", metric=ranking.metric)
            )
            self._text.set_tip(tr("The scores of the metric were measured before it was trained again."))
            self.change.setText(tr("Rank as trained"))
            self.change.setToolTip(tr("Rank by the metric as it was trained"))
        else:
            self._text.setText(translate(TRAINED))
            self._text.set_tip(TRAINED_ON_QUERY)
            self.change.setText(
                tr("Rank without this patient") if has_patient else tr("Rank without this case")
            )
            self.change.setToolTip(
                tr(
                    "Train the metric again without the query, its patient and its copies, and rank by it. It gives "
                    "an estimate as for a new patient."
                )
            )
        self.setVisible(ranking.without_patient or ranking.vote.trained)

    def _has_patient(self, case: str | None) -> bool:
        """Whether the query is a case of a known patient."""
        columns = self._state.columns
        index = -1 if case is None else columns.index_of_id(case)
        return index >= 0 and columns.patient[index] >= 0


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
        row = hbox(self, spacing=8, margins=(EDGE - 3, 6, EDGE, 6))
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
