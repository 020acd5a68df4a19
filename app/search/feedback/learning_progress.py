"""The panel beside the questions: the number of answers and the learning curve."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QWidget

from semblance.app.search.feedback.learning_curve import LearningCurve
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.language import tr, tr_n
from semblance.core.reports.curves import interval_text
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore

WIDTH, CURVE_HEIGHT = 296, 190
EXPLANATION = tr(
    "Five answers rarely change the score. Twenty often do. More are needed if one answer in "
    "five is wrong. Held-out cases are never used for questions."
)
NOTHING_HELD_OUT = tr("No cases are held out. Every case with a finding was judged or used for training.")


class LearningProgress(QWidget):
    """Shows counts and scores. It reads nothing itself."""

    def __init__(self) -> None:
        super().__init__()
        self.header = SectionHeader()
        self.curve = LearningCurve()
        self.badge = Badge("held-out cases")
        self.value, self.before = QLabel("–"), QLabel()
        label, explanation = QLabel(tr("Accuracy @10")), QLabel(EXPLANATION)
        for text in (label, self.before, explanation):
            text.setWordWrap(text is not label)
            set_look(text, role="second")
        set_look(self.value, role="title")
        accuracy = hbox(spacing=8)
        accuracy.addWidget(label)
        accuracy.addStretch(1)
        accuracy.addWidget(self.badge)
        column = vbox(self, spacing=8, margins=(12, 10, 12, 12))
        column.addWidget(self.header)
        column.addWidget(self.curve)
        column.addLayout(accuracy)
        column.addWidget(self.value)
        column.addWidget(self.before)
        column.addWidget(explanation)
        column.addStretch(1)
        self._max_size = (theme().px(WIDTH), theme().px(CURVE_HEIGHT))
        theme_signals.changed.connect(self._update_size)
        self._update_size()
        self.show_counts(0, 0)
        self.clear()

    def show_counts(self, answered: int, judged: int) -> None:
        """Show how many questions were answered, and how many judgements the search has."""
        self.answered_text = tr("{n} answered", n=answered)
        self.header.set_title(self.answered_text)
        self.header.set_note(tr_n("{n} judgement in force", "{n} judgements in force", judged))

    def clear(self) -> None:
        """Remove all scores, for another search."""
        self.curve.clear()
        self._show_accuracy(None)

    def show_score(self, judged: int, score: HeldOutScore | None) -> None:
        """Add the score after so many judgements; ``None`` if no cases are held out."""
        if score is None:
            self.curve.clear(NOTHING_HELD_OUT)
        else:
            self.curve.add(judged, score)
        self._show_accuracy(score)

    def _show_accuracy(self, score: HeldOutScore | None) -> None:
        self.badge.setVisible(score is not None)
        self.value.setText("–" if score is None else interval_text(score.accuracy, *score.interval))
        self.before.setVisible(score is not None)
        if score is not None:
            patients = score.measured_on == HELD_OUT_PATIENTS
            self.badge.set_kind("held-out" if patients else "unknown")
            text = (
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
            self.before.setText(text)

    def set_max_size(self, width: int, height: int) -> None:
        """Set the maximum width, and the maximum height of the curve, px."""
        self._max_size = (width, height)
        self._update_size()

    def _update_size(self) -> None:
        width, height = self._max_size
        self.setFixedWidth(min(theme().px(WIDTH), width))
        self.curve.setFixedHeight(min(theme().px(CURVE_HEIGHT), height))
