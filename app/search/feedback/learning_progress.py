"""Beside the questions: how many were answered, and the held-out curve that grows with them."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QWidget

from semblance.app.search.feedback.click_curve import LearningCurve
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.language import tr, tr_n
from semblance.core.reports.curves import interval_text
from semblance.core.workflows.searches.refinement_session import HeldOutScore

SIDE, CURVE = 296, 190
PATIENCE = tr(
    "Five answers rarely change the score. Twenty often do. More are needed if one answer in "
    "five is wrong. Held-out cases are never used for questions."
)
NOTHING_HELD_OUT = tr("No cases are held out. Every case with a finding was judged or used for training.")


class LearningProgress(QWidget):
    """Shows what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.head = SectionHeader()
        self.curve = LearningCurve()
        self.badge = Badge("held-out cases")
        self.value, self.before = QLabel("–"), QLabel()
        label, patience = QLabel(tr("Accuracy @10")), QLabel(PATIENCE)
        for text in (label, self.before, patience):
            text.setWordWrap(text is not label)
            set_look(text, role="second")
        set_look(self.value, role="title")
        accuracy = hbox(spacing=8)
        accuracy.addWidget(label)
        accuracy.addStretch(1)
        accuracy.addWidget(self.badge)
        column = vbox(self, spacing=8, margins=(12, 10, 12, 12))
        column.addWidget(self.head)
        column.addWidget(self.curve)
        column.addLayout(accuracy)
        column.addWidget(self.value)
        column.addWidget(self.before)
        column.addWidget(patience)
        column.addStretch(1)
        self._room = (theme().px(SIDE), theme().px(CURVE))
        theme_signals.changed.connect(self._fit)
        self._fit()
        self.tell(0, 0)
        self.clear()

    def tell(self, answered: int, judged: int) -> None:
        """How many questions were answered here, and how many judgements the search has."""
        self.told = tr("{n} answered", n=answered)
        self.head.set_title(self.told)
        self.head.set_note(tr_n("{n} judgement in force", "{n} judgements in force", judged))

    def clear(self) -> None:
        """Another search: nothing is measured yet."""
        self.curve.clear()
        self._say(None)

    def show_score(self, judged: int, score: HeldOutScore | None) -> None:
        """What was measured after so many judgements; ``None`` where nothing was held out."""
        if score is None:
            self.curve.clear(NOTHING_HELD_OUT)
        else:
            self.curve.add(judged, score)
        self._say(score)

    def _say(self, score: HeldOutScore | None) -> None:
        self.badge.setVisible(score is not None)
        self.value.setText("–" if score is None else interval_text(score.accuracy, *score.interval))
        self.before.setVisible(score is not None)
        if score is not None:
            patients = score.measured_on == HELD_OUT_PATIENTS
            self.badge.set_kind("held-out" if patients else "unknown")
            told = (
                tr(
                    "{before:.2f} without judgements. Tested on {n:,} cases of patients not used for "
                    "training.",
                    before=score.before,
                    n=score.cases,
                )
                if patients
                else tr(
                    "{before:.2f} without judgements. Tested on {n:,} held-out cases.",
                    before=score.before,
                    n=score.cases,
                )
            )
            self.before.setText(told)

    def set_room(self, width: int, height: int) -> None:
        """It is at most so wide, and its curve so high, px."""
        self._room = (width, height)
        self._fit()

    def _fit(self) -> None:
        width, height = self._room
        self.setFixedWidth(min(theme().px(SIDE), width))
        self.curve.setFixedHeight(min(theme().px(CURVE), height))
