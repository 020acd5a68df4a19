"""The section *Learn from*: findings, visual neighbours and judgements with their numbers of pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QWidget

from semblance.app.shell.state import State
from semblance.app.shell.theme import set_look
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.core.errors import BadInput
from semblance.core.language import tr, tr_n
from semblance.core.metrics.declarations import LearnerDeclaration
from semblance.core.parameters import Value
from semblance.core.workflows.metrics.supervision import check_accepts_judgements

VISUAL = "visual_neighbours"


class TrainingDataSection(QWidget):
    """Check boxes of three sources. ``changed`` is emitted when one is ticked or unticked."""

    changed = Signal()

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state
        self.findings = QCheckBox(tr("findings"))
        self.visual = QCheckBox(tr("visual neighbours"))
        self.judgements = QCheckBox(tr("judgements"))
        self._counts = {box: QLabel() for box in (self.findings, self.visual, self.judgements)}
        tips = (
            tr("Cases of one finding are similar, of two dissimilar"),
            tr("The nearest neighbours of each case are similar, whatever their finding"),
            tr("The judgements of this search. They count more than findings of the same pair"),
        )
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        for row, ((box, count), tip) in enumerate(zip(self._counts.items(), tips, strict=True)):
            box.setToolTip(tip)
            set_look(count, role="second")
            grid.addWidget(box, row, 0)
            grid.addWidget(count, row, 1)
        self.findings.setChecked(True)
        self.visual.setChecked(True)
        column = vbox(self, spacing=6)
        column.addWidget(SectionHeader(tr("Learn from")))
        column.addLayout(grid)
        for box in self._counts:
            box.toggled.connect(self.changed)

    def update_counts(
        self,
        learners: Sequence[type[LearnerDeclaration]],
        settings: Sequence[dict[str, Value]],
        held_out: float,
    ) -> None:
        """Show the numbers of pairs for ``learners`` and their ``settings``."""
        counts = self._state.columns.finding_counts[:-1]
        training = np.round(counts * (1.0 - held_out)).astype(np.int64)
        cases = int(training.sum())
        self._show_count(self.findings, cases * (cases - 1) // 2, is_estimate=True)
        neighbours = [
            int(str(values.get(VISUAL, next(p.default for p in learner.parameters if p.name == VISUAL))))
            for learner, values in zip(learners, settings, strict=True)
            if any(parameter.name == VISUAL for parameter in learner.parameters)
        ]
        self.visual.setVisible(bool(neighbours))
        self._counts[self.visual].setVisible(bool(neighbours))
        self._show_count(self.visual, max(neighbours, default=0) * cases, is_estimate=True)
        judgements = self._judgement_count()
        if not judgements and self.judgements.isChecked():
            self.judgements.setChecked(False)
        self.judgements.setEnabled(bool(judgements))
        self._show_count(self.judgements, judgements)
        if not judgements:
            self._counts[self.judgements].setText(tr("none in this search"))

    @property
    def ledger(self) -> str:
        """The ledger whose judgements are learnt from, or an empty text."""
        return self._state.ledger if self.judgements.isChecked() else ""

    def settings_in_use(
        self, learner: type[LearnerDeclaration], settings: dict[str, Value]
    ) -> dict[str, Value]:
        """``settings``, without visual neighbours if those are not ticked."""
        has_visual = any(parameter.name == VISUAL for parameter in learner.parameters)
        return settings if self.visual.isChecked() or not has_visual else {**settings, VISUAL: 0}

    def problem(self, learners: Sequence[type[LearnerDeclaration]]) -> str:
        """Why the learners cannot be trained with the ticked sources, or an empty text."""
        if self.judgements.isChecked():
            for learner in learners:
                try:
                    check_accepts_judgements(learner)
                except BadInput as error:
                    return str(error)
        elif not self.findings.isChecked() and any(learner.accepts for learner in learners):
            return tr("Nothing to learn from is ticked. Tick findings, judgements or both.")
        return ""

    def _judgement_count(self) -> int:
        """The number of different pairs and comparisons that were not undone."""
        ranked_search = self._state.ranked_search
        if ranked_search is None:
            return 0
        judgements_in_force = (entry.judgement for entry in ranked_search.entries if entry.undone is None)
        return len(
            {(judgement.query_key, judgement.case, judgement.other) for judgement in judgements_in_force}
        )

    def _show_count(self, box: QCheckBox, pairs: int, *, is_estimate: bool = False) -> None:
        text = tr_n("{n} pair", "{n} pairs", pairs)
        if is_estimate:
            text = tr("about {pairs}", pairs=text)
        self._counts[box].setText(text)
        box.setAccessibleName(tr("Learn from {source}, {pairs}", source=box.text(), pairs=text))
