"""The effect of the judgements: cases moved, the score on held-out cases, and the strength."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from semblance.app.search.feedback import refine_metric
from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.state import Change
from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.no_wheel import NoWheelSlider
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.language import format_number, localise_number, tr, tr_n
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore
from semblance.core.workflows.searches.rank_cases import RankedSearch

FIRST_RANKS = 20
#: The score is measured when no judgement was made for this long.
MEASURE_AFTER_MS = 400
#: With so few judgements the score rarely changes.
FEW = 10
#: The lines that can contain the badge of the score.
_BESIDE, _BELOW = 2, 3
_WAITING = tr("measuring…")


class RefinementScores(QWidget):
    """Strength, cases moved and accuracy, below the list of judgements."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        #: The search and the judgements in force at the last measurement.
        self._measured: tuple[Search, tuple[int, ...]] | None = None
        self._ranked_search: RankedSearch | None = None
        #: The score and its interval as text.
        self._score_text = ("", "")
        self.moved = QLabel()
        self.accuracy = QLabel()
        self.badge = Badge("held-out", tr("held-out"))
        self.note = WrappedLabel(role="small")
        self.strength = NoWheelSlider(Qt.Orientation.Horizontal)
        self.strength.setRange(0, 100)
        self.strength.setSingleStep(5)
        self.strength.setPageStep(20)
        self.strength.setValue(100)
        self.strength.setAccessibleName(tr("Strength: how much the judgements count, in percent"))
        self._percent = QLabel()
        self._lines: list[QHBoxLayout] = []
        self._lay_out()
        self._measure_timer = one_shot(self, self._measure, MEASURE_AFTER_MS)
        self.strength.valueChanged.connect(self._set_strength)
        self._state.on_change(Change.SEARCH, self, self._show_strength)
        theme_signals.changed.connect(self._update_layout)
        self._update_layout()
        self._show_strength()

    def _lay_out(self) -> None:
        column = vbox(self, spacing=4, margins=(12, 6, 12, 8))
        slider = (self.strength, self._percent)
        for name, widgets in (
            (tr("Strength"), slider),
            (tr("Cases moved"), (self.moved,)),
            (tr("Accuracy @10"), (self.accuracy,)),
            ("", ()),
            ("", (self.note,)),
        ):
            line = QHBoxLayout()
            self._lines.append(line)
            line.setSpacing(6)
            if name:
                label = ElidedLabel(name, role="second")
                line.addWidget(label)
                line.addStretch(0 if widgets is slider else 1)
            for widget in widgets:
                line.addWidget(widget, 1 if widget in (self.strength, self.note) else 0)
            column.addLayout(line)
        self._lines[_BELOW].addStretch(1)
        self._place_badge(beside=True)
        self._percent.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def follow(self, ranked_search: RankedSearch) -> None:
        """Show the effect of the judgements of ``ranked_search``."""
        self._ranked_search = ranked_search
        judged = sum(entry.undone is None for entry in ranked_search.entries)
        self.setVisible(judged > 0 and ranked_search.refused is None and self._state.refusal is None)
        shifts = ranked_search.shifts[:FIRST_RANKS]
        self.moved.setText(tr("{k} of the first {n}", k=sum(map(bool, shifts)), n=FIRST_RANKS))
        share = f"{100 * ranked_search.trust:.0f} %"
        self.strength.setToolTip(
            tr(
                "At full strength {n:,} judgements count by {share}, because a few may be wrong.",
                n=judged,
                share=share,
            )
        )
        if self._current_key() != self._measured:
            self._measure_timer.start()

    def resume(self) -> None:
        """Measure what was not measured while the panel was hidden."""
        if self._ranked_search is not None and self._current_key() != self._measured:
            self._measure_timer.start()

    def _current_key(self) -> tuple[Search, tuple[int, ...]] | None:
        ranked_search = self._ranked_search
        if ranked_search is None:
            return None
        return ranked_search.search, tuple(
            entry.id for entry in ranked_search.entries if entry.undone is None
        )

    def _measure(self) -> None:
        key = self._current_key()
        if key is None or not key[1] or not self.isVisible() or key[0] != self._state.search:
            return
        if not self.accuracy.text():
            self.accuracy.setText(_WAITING)

        def show(score: HeldOutScore | None) -> None:
            if self._current_key() == key:
                self._measured = key
                self._show_score(score, len(key[1]))

        refine_metric.fetch_score(self._context, show)

    def _show_score(self, score: HeldOutScore | None, judged: int) -> None:
        self.badge.setVisible(score is not None)
        few_note = ""
        if judged <= FEW:
            few_note = " " + tr_n(
                "{n} mark rarely changes this score. Twenty often do.",
                "{n} marks rarely change this score. Twenty often do.",
                judged,
            )
        if score is None:
            self._score_text = ("", "")
            self.accuracy.setText(tr("not measured"))
            self.note.setText(tr("Every case was judged or used for training.") + few_note)
            return
        low, high = score.interval
        self._score_text = (format_number(score.accuracy, ".2f"), localise_number(f" ({low:.2f}–{high:.2f})"))
        if score.measured_on == HELD_OUT_PATIENTS:
            self.badge.set_kind("held-out", tr("held-out"))
        else:
            self.badge.set_kind("unknown")
        # The width beside the badge is known once it has its text.
        self._update_layout()
        self.note.setText(
            tr(
                "{before:.2f} without judgements. Tested on {n:,} cases neither judged nor used for "
                "training.",
                before=score.before,
                n=score.cases,
            )
            + few_note
        )

    def _set_strength(self, value: int) -> None:
        self._percent.setText(f"{value} %")
        refine_metric.set_strength(self._context, value / 100)

    def _show_strength(self) -> None:
        search = self._state.search
        value = round(100 * search.strength) if search is not None else 100
        if value != self.strength.value():
            self.strength.blockSignals(True)
            self.strength.setValue(value)
            self.strength.blockSignals(False)
        self._percent.setText(f"{value} %")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_layout()

    def _update_layout(self) -> None:
        mean, interval = self._score_text
        if mean:
            text = self.fontMetrics().horizontalAdvance
            needed = text(tr("Accuracy @10")) + self.badge.sizeHint().width() + text(mean + interval)
            self._place_badge(beside=needed + 40 <= self.width())
            self.accuracy.setText(mean + interval)
            self.accuracy.setToolTip(tr("{score}, with its 95 % interval", score=mean + interval))
        self._percent.setMinimumWidth(theme().px(40))

    def _place_badge(self, *, beside: bool) -> None:
        """Put the badge beside the score, or below it in a narrow panel."""
        target, previous = (
            self._lines[_BESIDE if beside else _BELOW],
            self._lines[_BELOW if beside else _BESIDE],
        )
        if target.indexOf(self.badge) < 0:
            previous.removeWidget(self.badge)
            # Before the number, or at the right end of the line below.
            target.insertWidget(target.count() - 1 if beside else target.count(), self.badge)
