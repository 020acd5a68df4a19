"""The bar above the similar cases while marks order them: before and after, undo, start again."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QPushButton

from semblance.app.search.feedback import refine_metric
from semblance.app.search.similar.ranking_bar import RankingBar
from semblance.app.shell.context import Context
from semblance.app.shell.icons import icon
from semblance.app.shell.theme import set_look
from semblance.core.language import tr, tr_n


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
        self.undo.clicked.connect(lambda: refine_metric.undo(context))
        self.start_again.clicked.connect(lambda: refine_metric.clear_marks(context))
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
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
        refine_metric.set_strength(self._context, 0.0 if before else 1.0)
