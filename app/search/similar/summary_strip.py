"""The strip above the ranking: what the nearest cases turned out to be, and how far to trust it."""

from __future__ import annotations

import html

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from semblance.app.search.similar.estimate_view import EstimateView, Pole
from semblance.app.shell.measured_on import measured_text
from semblance.app.shell.theme import plain_tip, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.estimate_caution import TRAINED, estimate_caution
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.nearest_chips import NearestChips, chip_of
from semblance.app.widgets.warning_line import WarningLine
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.language import count_label, format_number, localise_number, tr, tr_name
from semblance.core.library.case_columns import CaseColumns
from semblance.core.workflows.searches.estimate import (
    FEWER,
    NO_FINDINGS,
    NOT_CALIBRATED,
    NOT_SCORED,
    OWN_PATIENT,
    PART_ASKED,
    REFINED,
    SCORE_AGAIN,
    WHOLE_ASKED,
    Vote,
)
from semblance.core.workflows.searches.search_result import SearchResult

STRIP = 56
#: What a line below takes beside its own height.
BELOW = 4
#: Below this width words are left out.
NARROW = 460
#: And below this one that it is of the nearest.
HEAD_FROM = 400
QUIET_SHORT = tr("Support only")
#: Qt's own limit: none.
WIDEST = 16_777_215
#: Why there are counts only, in a word or two.
_SHORT = {
    NOT_CALIBRATED: tr("not calibrated"),
    NOT_SCORED: tr("not tested"),
    SCORE_AGAIN: tr("evaluate the metric again"),
    REFINED: tr("refined search"),
    FEWER: tr("without some features"),
    OWN_PATIENT: tr("own patient shown"),
    NO_FINDINGS: tr("other findings"),
    PART_ASKED: tr("the query is a region"),
    WHOLE_ASKED: tr("the query is a whole image"),
}
_WHAT = tr(
    "The share of held-out cases with such counts that had this finding, with the 95 % "
    "interval for this query."
)


class SummaryStrip(QFrame):
    """The findings of the nearest cases in words and as chips, and the estimate; support, not a diagnosis."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("strip")
        self._head = ElidedLabel(role="second")
        # Long names of findings are shortened: they may not push the other panels together.
        self._counts = ElidedLabel(role="outcome")
        self._chips = NearestChips()
        self.estimate = QLabel()
        self.estimate.setTextFormat(Qt.TextFormat.RichText)
        self.scale = EstimateView()
        self.badge = Badge("held-out")
        self._note = ElidedLabel(role="second")
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._quiet = ElidedLabel(tr("Support, not a diagnosis"), role="small")
        self._quiet.set_short(QUIET_SHORT)
        self._quiet.setAlignment(Qt.AlignmentFlag.AlignRight)

        counts = hbox(spacing=6)
        counts.addWidget(self._head)
        counts.addWidget(self._counts, 1)
        left = _column(counts, self._chips)
        self._middle = QWidget()
        middle = _column(self.estimate, self.scale)
        middle.setContentsMargins(0, 0, 0, 0)
        self._middle.setLayout(middle)
        right = _column()
        right.addWidget(self.badge, 0, Qt.AlignmentFlag.AlignRight)
        right.addWidget(self._note)
        # With an alignment its greatest width is not that of what stands above.
        right.addWidget(self._quiet, 0, Qt.AlignmentFlag.AlignRight)
        self.caution = WarningLine()
        around = vbox(self, spacing=BELOW, margins=(12, 6, 12, 6))
        row = self._row = hbox(spacing=12)
        around.addLayout(row, 1)
        around.addWidget(self.caution, 0, Qt.AlignmentFlag.AlignRight)
        row.addLayout(left, 1)
        row.addWidget(self._middle)
        row.addLayout(right)
        #: What stands before the counts, and a shorter form.
        self._heads = ("", "")
        self._shown: tuple[SearchResult, CaseColumns, bool] | None = None
        theme_signals.changed.connect(self._again)

    def show_ranking(self, ranking: SearchResult, columns: CaseColumns, *, stale: bool = False) -> None:
        """``stale``: the library has cases the estimate was not measured on."""
        self._shown = (ranking, columns, stale)
        vote = ranking.vote
        voters = vote.voters or tuple(case.finding for case in ranking.ranked[:10])
        self._heads = (tr("{n} nearest:", n=len(voters)), f"{len(voters)}:")
        words = [count_label(n, finding) for finding, n in ranking.counts.items()]
        rest = len(voters) - sum(ranking.counts.values())
        if rest:
            words.append(tr("{n} not given", n=rest))
        letters = [count_label(n, columns.letters.get(name, name)) for name, n in ranking.counts.items()]
        self._counts.set_short(", ".join([*letters, *words[len(letters) :]][:4]))
        counts = ", ".join(words[:4])
        more = len(words) - 4
        self._counts.setText(counts if more < 1 else tr("{counts} and {n} more", counts=counts, n=more))
        self._chips.show_findings(columns, voters)
        estimated = vote.calibrated and not ranking.no_good_match
        self._middle.setVisible(estimated)
        self.badge.setVisible(estimated)
        self.caution.say(*estimate_caution(vote if estimated else Vote()))
        below = self.caution.sizeHint().height() + BELOW if estimated and vote.caution else 0
        self.setFixedHeight(theme().px(STRIP) + below)
        self._note.setVisible(not estimated)
        if estimated:
            self._show_estimate(vote, columns, stale=stale)
        elif ranking.no_good_match:
            self._note.setText(tr("No close match, no estimate"))
            self._note.set_short(tr("No close match in this library"))
            self._note.set_tip(
                tr("The nearest case is farther from the query than is usual in this library.")
            )
        else:
            why = _SHORT.get(vote.why_not, tr("no calibrated estimate"))
            self._note.setText(tr("Counts only: {why}", why=why))
            self._note.set_short(why)
            self._note.set_tip(tr_name(vote.why_not))
        self._fit_counts()

    def _fit_counts(self) -> None:
        """What the nearest turned out to be is worth more than the word for them."""
        whole, brief = self._heads
        self._head.setText(whole)
        self._row.activate()
        if self._counts.shown_text() != self._counts.text():
            self._head.setText(brief)
        self._head.set_tip(whole)

    def _show_estimate(self, vote: Vote, columns: CaseColumns, *, stale: bool) -> None:
        assert vote.probability is not None and vote.interval is not None and vote.finding is not None
        low, high = vote.interval
        second, narrow = theme().second, self.width() < theme().px(NARROW)
        several = len(vote.findings) > 2
        # Which finding it is of: by its letter, or its name where no case has it by itself.
        letter = columns.letters.get(vote.finding, vote.finding)
        head = letter if narrow else tr("estimate {finding}", finding=letter)
        if letter[:1].isdigit():
            # Two numbers beside each other would be one.
            head += ":"
        self.estimate.setText(
            f'<span style="color:{second}">{html.escape(head)}</span> '
            f'<b>{format_number(vote.probability, ".2f")}</b> <span style="color:{second}">'
            f"({localise_number(f'{low:.2f}–{high:.2f}')})</span>"
        )
        share, interval = vote.probability, (low, high)
        poles: tuple[Pole, Pole] = (None, chip_of(vote.finding, columns))
        if not several:
            first, second_finding = vote.findings
            poles = (chip_of(first, columns), chip_of(second_finding, columns))
            if vote.finding == first:
                share, interval = 1.0 - share, (1.0 - high, 1.0 - low)
        self.scale.set_estimate(share, interval, poles)
        words = tr(
            "Estimate for {finding}: {share:.2f}, 95 % interval {low:.2f} to {high:.2f}",
            finding=vote.finding,
            share=vote.probability,
            low=low,
            high=high,
        )
        for widget in (self.estimate, self.scale):
            on = measured_text(vote.measured_on or "")
            widget.setAccessibleName(tr("{estimate}, tested on {what}", estimate=words, what=on))
            widget.setToolTip(plain_tip(f"{words}.\n{_WHAT}"))
        if stale:
            self.badge.set_kind("stale")
        elif vote.trained:
            self.badge.set_kind("training", "" if narrow else tr("query in training data"))
            self.badge.setToolTip(plain_tip(TRAINED))
        else:
            known = vote.measured_on == HELD_OUT_PATIENTS
            short = (tr("held-out") if known else tr("unknown")) if narrow else ""
            self.badge.set_kind("held-out" if known else "unknown", short)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # What was counted is worth more than that ten were.
        roomy = self.width() >= theme().px(HEAD_FROM)
        self._head.setVisible(roomy)
        brief = self._quiet.fontMetrics().horizontalAdvance(QUIET_SHORT) + 2
        self._quiet.setMaximumWidth(WIDEST if roomy else brief)
        narrow = theme().px(NARROW)
        if (event.size().width() < narrow) != (event.oldSize().width() < narrow):
            self._again()
        else:
            self._fit_counts()

    def _again(self) -> None:
        if self._shown is not None and not self.isHidden():
            ranking, columns, stale = self._shown
            self.show_ranking(ranking, columns, stale=stale)


def _column(*parts: QWidget | QHBoxLayout) -> QVBoxLayout:
    column = vbox(spacing=4)
    for part in parts:
        if isinstance(part, QWidget):
            column.addWidget(part)
        else:
            column.addLayout(part)
    return column
