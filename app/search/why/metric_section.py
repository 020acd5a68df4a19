"""Facts of the current metric, with the badge that says on what it was tested."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from semblance.app.shell.state import Change, State
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.copy_details_button import CopyDetailsButton
from semblance.app.widgets.fact_list import FactList
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.core.errors import BadInput
from semblance.core.language import tr, tr_n, tr_name
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.registry import learner_title
from semblance.core.reports.curves import interval_text
from semblance.core.workflows.evaluation import scored_metrics
from semblance.core.workflows.library.library_snapshot import MetricFacts

_LEARNER, _TRAINED, _ACCURACY, _SPLIT = tr("Learner"), tr("Trained on"), tr("Accuracy @10"), tr("Split")


class MetricSection(QWidget):
    """Shows the metric of the state."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state
        self.badge = Badge("held-out", tr("held-out"))
        self.facts = FactList((_LEARNER, _TRAINED, _ACCURACY, _SPLIT))
        header_row = SectionHeader(tr("Metric"))
        header_row.add(self.badge)
        column = vbox(self, spacing=4)
        column.addWidget(header_row)
        column.addWidget(self.facts)
        self.copy_details = CopyDetailsButton()
        column.addWidget(self.copy_details)
        state.on_change(Change.METRIC | Change.CASES, self, self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the facts of the current metric."""
        metric = self._state.metric
        self.badge.setVisible(False)
        self.copy_details.set_error(None)
        if metric is None:
            for name in (_LEARNER, _TRAINED, _ACCURACY, _SPLIT):
                self.facts.set_fact(name, None)
            return
        self._show_card(metric)
        self._show_accuracy(metric)

    def _show_card(self, metric: MetricFacts) -> None:
        try:
            card = MetricCard.from_json(metric.card)
        except BadInput as error:
            self.facts.set_fact(_LEARNER, error.message)
            self.copy_details.set_error(error)
            return
        learner = tr_name(learner_title(card.learner))
        if card.rounds is not None:
            learner = tr_n("{learner}, {n} round", "{learner}, {n} rounds", card.rounds, learner=learner)
        self.facts.set_fact(_LEARNER, learner, metric.name)
        cases = tr_n("{n} case", "{n} cases", card.n_cases)
        if card.n_patients is not None:
            cases = tr("{cases}, {n:,} patients", cases=cases, n=card.n_patients)
        self.facts.set_fact(_TRAINED, cases)
        self.facts.set_fact(_SPLIT, _split(card) or None)

    def _show_accuracy(self, metric: MetricFacts) -> None:
        library = self._state.library
        metrics = scored_metrics.scored_metrics(library) if library is not None else ()
        scored = next((one for one in metrics if one.name == metric.name), None)
        mean, low, high = scored.accuracy(10) if scored is not None else (None, None, None)
        if scored is None or scored.scores is None or mean is None:
            self.facts.set_fact(_ACCURACY, tr("not measured"))
            return
        self.facts.set_fact(
            _ACCURACY,
            interval_text(mean, low, high),
            tr("Tested on {what}", what=tr_name(scored.scores.measured_on)),
        )
        kind = scored.measured
        self.badge.set_kind(kind, tr("held-out") if kind == scored_metrics.HELD_OUT else "")
        self.badge.setVisible(True)


def _split(card: MetricCard) -> str:
    if card.split is None:
        return ""
    by = tr("by patient") if card.split.by_patient else tr("patients unknown")
    return tr(
        "{share:.0%} held out, {by}, seed {seed}", share=card.split.fraction, by=by, seed=card.split.seed
    )
