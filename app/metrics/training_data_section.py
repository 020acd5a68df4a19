"""What learners learn from: findings, visual neighbours and judgements, each with its number of pairs."""

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
from semblance.core.metrics.learner import Learner
from semblance.core.parameters import Value
from semblance.core.workflows.metrics.supervision import check_accepts_judgements

VISUAL = "visual_neighbours"


class TrainingDataSection(QWidget):
    """Three sources to tick; ``changed`` when one is."""

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
        for place, ((box, count), tip) in enumerate(zip(self._counts.items(), tips, strict=True)):
            box.setToolTip(tip)
            set_look(count, role="second")
            grid.addWidget(box, place, 0)
            grid.addWidget(count, place, 1)
        self.findings.setChecked(True)
        self.visual.setChecked(True)
        column = vbox(self, spacing=6)
        column.addWidget(SectionHeader(tr("Learn from")))
        column.addLayout(grid)
        for box in self._counts:
            box.toggled.connect(self.changed)

    def tell(
        self, learners: Sequence[type[Learner]], settings: Sequence[dict[str, Value]], held_out: float
    ) -> None:
        """Count the pairs for the chosen ``learners`` and their ``settings``."""
        counts = self._state.columns.finding_counts[:-1]
        training = np.round(counts * (1.0 - held_out)).astype(np.int64)
        cases = int(training.sum())
        self._say(self.findings, cases * (cases - 1) // 2, about=True)
        neighbours = [
            int(str(values.get(VISUAL, next(p.default for p in learner.parameters if p.name == VISUAL))))
            for learner, values in zip(learners, settings, strict=True)
            if any(parameter.name == VISUAL for parameter in learner.parameters)
        ]
        self.visual.setVisible(bool(neighbours))
        self._counts[self.visual].setVisible(bool(neighbours))
        self._say(self.visual, max(neighbours, default=0) * cases, about=True)
        judged = self._judged()
        if not judged and self.judgements.isChecked():
            self.judgements.setChecked(False)
        self.judgements.setEnabled(bool(judged))
        self._say(self.judgements, judged)
        if not judged:
            self._counts[self.judgements].setText(tr("none in this search"))

    @property
    def ledger(self) -> str:
        """Whose judgements to learn from; empty for none."""
        return self._state.ledger if self.judgements.isChecked() else ""

    def without_looks(self, learner: type[Learner], settings: dict[str, Value]) -> dict[str, Value]:
        """``settings`` as they are, or without visual neighbours where those are not ticked."""
        has = any(parameter.name == VISUAL for parameter in learner.parameters)
        return settings if self.visual.isChecked() or not has else {**settings, VISUAL: 0}

    def problem(self, learners: Sequence[type[Learner]]) -> str:
        """Why nothing can be trained with what is ticked; empty where it can."""
        if self.judgements.isChecked():
            for learner in learners:
                try:
                    check_accepts_judgements(learner)
                except BadInput as error:
                    return str(error)
        elif not self.findings.isChecked() and any(learner.accepts for learner in learners):
            return tr("Nothing to learn from is ticked. Tick findings, judgements or both.")
        return ""

    def _judged(self) -> int:
        """Pairs and comparisons in force."""
        asked = self._state.ranked_search
        if asked is None:
            return 0
        said = (entry.judgement for entry in asked.entries if entry.undone is None)
        return len({(one.asked, one.case, one.other) for one in said})

    def _say(self, box: QCheckBox, pairs: int, *, about: bool = False) -> None:
        text = tr_n("{n} pair", "{n} pairs", pairs)
        if about:
            text = tr("about {pairs}", pairs=text)
        self._counts[box].setText(text)
        box.setAccessibleName(tr("Learn from {source}, {pairs}", source=box.text(), pairs=text))
