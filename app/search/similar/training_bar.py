"""The bar above the similar cases of a query that the metric was trained on: its order is partly remembered."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QPushButton

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.estimate_caution import TRAINED_ON_QUERY
from semblance.app.widgets.icon_label import IconLabel
from semblance.app.widgets.layouts import hbox
from semblance.core.language import tr, translate
from semblance.core.workflows.searches.estimate import TRAINED


class TrainingBar(QFrame):
    """Visible while the metric was trained on the query or its patient, and while these are left out."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        set_look(self, message="foot")
        self._text = ElidedLabel()
        self.change = QPushButton()
        self.change.clicked.connect(self._rank)
        set_look(self.change, quiet=True)
        row = hbox(self, spacing=8, margins=(12, 0, 8, 0))
        row.addWidget(IconLabel("info"))
        row.addWidget(self._text, 1)
        row.addWidget(self.change)
        theme_signals.changed.connect(self._update_height)
        self._state.on_change(Change.RANKING | Change.SEARCH | Change.LIBRARY, self, self._refresh)
        self._update_height()
        self._refresh()

    @property
    def text(self) -> str:
        """Its text; empty while it is hidden."""
        return "" if self.isHidden() else self._text.text()

    def _rank(self) -> None:
        ranking = self._state.ranking
        without = ranking is not None and not ranking.without_patient
        job = search_operations.rank_without_patient(self._context, on=without)
        if job is not None:
            self.change.setEnabled(False)
            job.ended.connect(self._refresh)

    def _refresh(self) -> None:
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

    def _update_height(self) -> None:
        self.setFixedHeight(theme().px(30))
