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
    """Visible while the metric was trained on the query or its patient, and while it is left out."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        set_look(self, message="foot")
        self._text = ElidedLabel()
        self.without = QPushButton(tr("Without this patient"))
        self.without.setCheckable(True)
        self.without.setToolTip(
            tr(
                "Train the metric again without this patient's cases and copies of them, and rank by it. It gives "
                "an estimate as for a new patient."
            )
        )
        self.without.clicked.connect(self._rank)
        set_look(self.without, quiet=True)
        row = hbox(self, spacing=8, margins=(12, 0, 8, 0))
        row.addWidget(IconLabel("info"))
        row.addWidget(self._text, 1)
        row.addWidget(self.without)
        theme_signals.changed.connect(self._update_height)
        self._state.on_change(Change.RANKING | Change.SEARCH | Change.LIBRARY, self, self._refresh)
        self._update_height()
        self._refresh()

    @property
    def text(self) -> str:
        """Its text; empty while it is hidden."""
        return "" if self.isHidden() else self._text.text()

    def _rank(self, without: bool) -> None:
        job = search_operations.rank_without_patient(self._context, on=without)
        if job is not None:
            self.without.setEnabled(False)
            job.ended.connect(self._refresh)

    def _refresh(self) -> None:
        ranking = self._state.ranking
        if ranking is None:
            self.hide()
            return
        if ranking.without_patient:
            self._text.setText(
                tr("Ranked by {metric}, trained again without this patient", metric=ranking.metric)
            )
            self._text.set_tip(
                tr("The scores of the metric were measured on the metric trained with this patient.")
            )
        else:
            self._text.setText(translate(TRAINED))
            self._text.set_tip(TRAINED_ON_QUERY)
        self.without.setEnabled(True)
        self.without.setChecked(ranking.without_patient)
        self.setVisible(ranking.without_patient or ranking.vote.trained)

    def _update_height(self) -> None:
        self.setFixedHeight(theme().px(30))
