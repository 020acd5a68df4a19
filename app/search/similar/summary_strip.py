"""The strip above the similar cases: their findings, the estimate from them, and the prevalences it uses."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.theme import colour, plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.estimate_caution import estimate_caution
from semblance.app.widgets.fields import NumberField
from semblance.app.widgets.finding_chips import SIDE, NearestChips, chip_pixmap, finding_code
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import EDGE, hbox, vbox
from semblance.app.widgets.message_lines import WarningLine
from semblance.core.errors import BadArguments
from semblance.core.evaluation.chance import is_at_chance
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.language import (
    count_label,
    format_number,
    isolated,
    join_texts,
    localise_number,
    tr,
    tr_name,
    translate,
    visible,
)
from semblance.core.library.case_columns import CaseColumns
from semblance.core.parameters import Parameter
from semblance.core.purpose import NOT_FOR_PATIENTS, PURPOSE
from semblance.core.reports.formatting import library_share_text
from semblance.core.retrieval.match_distance import NEAREST
from semblance.core.searches.search import NO_MATCH_RATE
from semblance.core.searches.similar_cases import Vote
from semblance.core.workflows.searches.estimate import (
    BY_BOTH,
    BY_PLACE,
    BY_TEXT,
    FEWER,
    NO_FINDINGS,
    NO_MATCH,
    NOT_CALIBRATED,
    NOT_READABLE,
    NOT_SCORED,
    ONE_FINDING,
    OWN_LESION,
    OWN_PATIENT,
    REFINED,
    REGION_QUERY,
    SAME_LESION,
    SHIFTED,
    TRAINED,
    WHOLE_IMAGE_QUERY,
    prevalences,
    set_prevalences,
)
from semblance.core.workflows.searches.search_result import SearchResult

#: The two lines of the estimate, and the line below it for a warning, a caution or an act.
HEIGHT, REMARK_HEIGHT = 56, 20
#: Acts of the button in the remark.
THRESHOLD, PATIENT = "threshold", "patient"
#: How much is shortened where the strip is narrow: the purpose, then the library's share stands on a line of its own,
#: then the estimate and its badge are shortened too.
SHORT_PURPOSE, SHARE_BELOW = 1, 2
PURPOSE_SHORT = tr("Not for decisions")
#: Qt's own limit (QWIDGETSIZE_MAX).
MAX_WIDTH = 16_777_215
#: Short reasons why there is no estimate.
SHORT_REASONS = {
    TRAINED: tr("this case trained the ranking"),
    NOT_CALIBRATED: tr("not calibrated"),
    NOT_SCORED: tr("not tested"),
    REFINED: tr("refined search"),
    FEWER: tr("without some features"),
    SHIFTED: tr("moved by concepts"),
    OWN_PATIENT: tr("own patient shown"),
    OWN_LESION: tr("own lesion shown"),
    SAME_LESION: tr("copies shown"),
    ONE_FINDING: tr("not calibrated"),
    NOT_READABLE: tr("evaluate the metric again"),
    NO_FINDINGS: tr("other findings"),
    BY_PLACE: tr("compared by place"),
    BY_TEXT: tr("words changed the order"),
    BY_BOTH: tr("compared by place too"),
    REGION_QUERY: tr("the query is a region"),
    WHOLE_IMAGE_QUERY: tr("the query is a whole image"),
}
_ESTIMATE_TIP = tr(
    "The share of held-out cases with such counts that had this finding, with the 95 % "
    "interval for this query."
)

#: Code and letter of a finding's chip; ``None``: all other findings, without a chip.
ScaleEnd = tuple[int, str] | None
_WIDE, _GAP, _TICK = 132, 8, 3
#: px between the label of the counts and the counts.
_LABEL_GAP = 6


class SummaryStrip(QFrame):
    """The findings of the nearest cases as text and chips, the estimate, with what it is not for, and a line for what
    one has to know of both. Its height never depends on them. ``act_requested(act)``: the button was pressed."""

    act_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("strip")
        self._count_label = ElidedLabel(role="second")
        # Long names of findings are shortened, so that the panel does not become wider.
        self._counts = ElidedLabel(role="outcome")
        self._chips = NearestChips()
        self.estimate = QLabel()
        self.estimate.setTextFormat(Qt.TextFormat.RichText)
        self.scale = EstimateView()
        self.badge = Badge("held-out")
        self._note = ElidedLabel(role="second")
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._purpose = ElidedLabel(translate(NOT_FOR_PATIENTS), role="small")
        self._purpose.set_short_text(PURPOSE_SHORT)
        self._purpose.set_tip(translate(PURPOSE))
        self._purpose.setAlignment(Qt.AlignmentFlag.AlignRight)

        counts = hbox(spacing=_LABEL_GAP)
        counts.addWidget(self._count_label)
        counts.addWidget(self._counts, 1)
        left = _column(counts, self._chips)
        self._middle = QWidget()
        middle = _column(self.estimate, self.scale)
        middle.setContentsMargins(0, 0, 0, 0)
        self._middle.setLayout(middle)
        right = _column()
        right.addWidget(self.badge, 0, Qt.AlignmentFlag.AlignRight)
        right.addWidget(self._note)
        # With an alignment its maximum width does not depend on the widgets above.
        right.addWidget(self._purpose, 0, Qt.AlignmentFlag.AlignRight)
        around = vbox(self, spacing=0, margins=(EDGE, 6, EDGE, 0))
        row = self._row = hbox(spacing=12)
        around.addLayout(row, 1)
        #: Warnings of the ranking, that it was trained again, or what to know of the estimate.
        self.remark = WarningLine()
        self.act = QPushButton()
        set_look(self.act, link=True)
        self._act = ""
        self.act.clicked.connect(lambda: self.act_requested.emit(self._act))
        #: Where the strip is narrow, the share of the finding in the library.
        self._share = ElidedLabel(role="small")
        #: See :data:`SHORT_PURPOSE`; the widths below which one more is shortened.
        self._level, self._needed, self._least_width = 0, list[int](), 0
        #: px beside the counts with each level.
        self._beside: list[int] = []
        self._share.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._remark_row = QWidget()
        remark = hbox(self._remark_row, spacing=12)
        remark.addWidget(self.remark, 1)
        remark.addStretch()
        remark.addWidget(self.act)
        remark.addWidget(self._share)
        around.addWidget(self._remark_row)
        row.addLayout(left, 1)
        row.addWidget(self._middle)
        row.addLayout(right)
        #: The label before the counts, and a shorter form.
        self._count_labels = ("", "")
        self._shown: tuple[SearchResult, CaseColumns, bool, float] | None = None
        theme_signals.changed.connect(self._refresh)
        theme_signals.changed.connect(self._update_height)
        self._update_height()

    def _update_height(self) -> None:
        self._remark_row.setFixedHeight(theme().px(REMARK_HEIGHT))
        self.setFixedHeight(theme().px(HEIGHT + REMARK_HEIGHT))

    def show_ranking(
        self,
        ranking: SearchResult,
        columns: CaseColumns,
        *,
        stale: bool = False,
        no_match_rate: float = NO_MATCH_RATE,
    ) -> None:
        """``stale``: the library has cases that the estimate was not tested on. ``no_match_rate``: with which it was
        ranked."""
        self._shown = (ranking, columns, stale, no_match_rate)
        vote = ranking.vote
        is_withheld = vote.why_not == REGION_QUERY
        voters = vote.voters or tuple(case.finding for case in ranking.ranked[:10])
        # Marks must not confirm the opinion of the person who made them: they do not change what is counted.
        self._count_labels = (
            (tr("{n} nearest without marks:", n=len(voters)), tr("without marks:"))
            if ranking.marks
            else (tr("{n} nearest:", n=len(voters)), f"{len(voters)}:")
        )
        has_findings = bool(columns.findings)
        if not has_findings:
            text = tr("{n} nearest. No case of the library has a finding.", n=len(voters))
            self._count_labels = (text, text)
        elif is_withheld:
            self._count_labels = (tr("A region is compared with whole images"), "")
            voters = ()
        self._chips.setVisible(has_findings and not is_withheld)
        texts = [count_label(n, finding) for finding, n in ranking.counts.items()]
        missing = len(voters) - sum(ranking.counts.values())
        if missing and has_findings:
            texts.append(tr("{n:,} not given", n=missing))
        letters = [count_label(n, columns.letters.get(name, name)) for name, n in ranking.counts.items()]
        self._counts.set_short_text(", ".join([*letters, *texts[len(letters) :]][:4]))
        counts = join_texts(texts[:4])
        hidden = len(texts) - 4
        self._counts.setText(counts if hidden < 1 else tr("{counts} and {n} more", counts=counts, n=hidden))
        self._chips.show_findings(columns, voters)
        estimated = vote.calibrated and not ranking.no_close_match
        # Without an estimate the counts must not be taken for one.
        set_look(self._counts, role="outcome" if estimated else "second")
        self._middle.setVisible(estimated)
        self.badge.setVisible(estimated)
        self._show_remark(ranking, columns, no_match_rate, vote if estimated else Vote())
        self._note.setVisible(not estimated and has_findings)
        self._needed, self._beside, self._least_width = [], [], 0
        if estimated:
            self._measure(vote, columns, stale=stale)
            self._show_estimate(vote, columns)
        elif ranking.no_close_match:
            self._note.setText(tr("No close match, no estimate"))
            self._note.set_short_text(tr("No close match in this library"))
            self._note.set_tip(tr_name(NO_MATCH))
        else:
            why = SHORT_REASONS.get(vote.why_not, tr("no calibrated estimate"))
            if is_at_chance(vote.why_not):
                why = tr("findings not told apart")
            self._note.setText(tr("No estimate: {why}", why=why))
            self._note.set_short_text(why)
            self._note.set_tip(tr_name(vote.why_not))
        self._fit_level()
        self._show_level()
        self._fit_counts()

    def _show_level(self) -> None:
        """Show what depends on the width: the estimate, and the share in the library where it stands by itself."""
        share = ""
        if self._shown is not None and self._needed:
            ranking, columns, stale, _ = self._shown
            vote = ranking.vote
            self._show_numbers(vote, columns, self._level, stale=stale)
            if vote.finding is not None and vote.prevalence is None and self._level > SHORT_PURPOSE:
                share = translate(library_share_text(vote.finding, vote.library_share))
        self._share.setText(share)
        self._share.setVisible(bool(share))

    def _show_remark(
        self, ranking: SearchResult, columns: CaseColumns, no_match_rate: float, estimate: Vote
    ) -> None:
        """Show the most serious of what there is to know, and the act that changes it."""
        warnings = [translate(warning) for warning in ranking.warnings]
        act = act_text = tip = ""
        if ranking.no_close_match:
            text, details = tr("No close match in this library"), [_far_text(no_match_rate), *warnings]
            act, act_text = THRESHOLD, tr("Change…")
            tip = tr("Choose how far a query must be to have no close match")
        elif ranking.is_unclear:
            text = tr("Unclear: the findings of the similar cases contradict each other")
            details = [_unclear_text(ranking), *warnings]
        elif warnings:
            text, details = tr("Check the query"), warnings
        else:
            text, caution_tip = estimate_caution(estimate)
            details = [caution_tip] if caution_tip else []
        if ranking.without_patient or ranking.vote.trained:
            index = columns.index_of_id(ranking.query.case)
            has_patient = index >= 0 and bool(columns.patient[index] >= 0)
            act = PATIENT
            if ranking.without_patient:
                act_text, tip = tr("Rank as trained"), tr("Rank by the metric as it was trained")
                if not text:
                    text = (
                        tr("Ranked by {metric}, trained again without this patient", metric=ranking.metric)
                        if has_patient
                        else tr("Ranked by {metric}, trained again without this case", metric=ranking.metric)
                    )
                    details = [tr("The scores of the metric were measured before it was trained again.")]
            else:
                act_text = tr("Rank without this patient") if has_patient else tr("Rank without this case")
                tip = tr(
                    "Train the metric again without the query, its patient and its copies, and rank by it. It gives "
                    "an estimate as for a new patient."
                )
        is_warning = ranking.no_close_match or ranking.is_unclear or bool(warnings)
        shown = f"{text}. {' '.join(details)}" if is_warning else text
        self.remark.show_message(shown, "\n".join([text, *details]) if text else "")
        self._act = act
        self.act.setText(act_text)
        self.act.setToolTip(tip)
        self.act.setEnabled(True)
        self.act.setVisible(bool(act))

    def _fit_counts(self) -> None:
        """Shorten the label, or leave it out, before the counts themselves are shortened."""
        full, short = self._count_labels
        texts = [full, short, ""]
        if self._beside:
            # The layout may not yet know how much the estimate takes.
            room = self.width() - self._beside[self._level]
            needed = self._counts.sizeHint().width() + _LABEL_GAP
            advance = self._count_label.fontMetrics().horizontalAdvance
            texts = [text for text in texts[:-1] if advance(text) + needed <= room][:1] or [""]
        for text in texts:
            self._count_label.setText(text)
            self._count_label.setVisible(bool(text))
            self._row.activate()
            if all(label.shown_text() == label.text() for label in (self._count_label, self._counts)):
                break
        self._count_label.set_tip(full)

    def _measure(self, vote: Vote, columns: CaseColumns, *, stale: bool) -> None:
        """Set below which widths of the strip the purpose, the share and the estimate are shortened."""
        bold, second = (self._counts.fontMetrics(), self._count_label.fontMetrics())
        labels = [second.horizontalAdvance(label) for label in self._count_labels]
        counts, gap = bold.horizontalAdvance(self._counts.text()) + 2, _LABEL_GAP
        chips, small = self._chips.sizeHint().width(), self._purpose.fontMetrics()
        purposes = [small.horizontalAdvance(text) + 2 for text in (self._purpose.text(), PURPOSE_SHORT)]
        sides = 2 * self._row.spacing() + 2 * EDGE
        needed, self._beside = [], []
        for level, (label, purpose) in enumerate(((0, 0), (0, 1), (1, 1), (1, 1))):
            if level != SHORT_PURPOSE:
                # There the estimate is as it is without.
                self._show_numbers(vote, columns, level, stale=stale)
                estimate = self.estimate.sizeHint().width()
            right = max(self.badge.sizeHint().width(), purposes[purpose]) + estimate
            needed.append(max(labels[label] + gap + counts, chips) + right + sides)
            self._beside.append(right + sides)
        self._needed = needed[:-1]
        self._least_width = max(labels[1] + gap + min(counts, chips), chips) + right + sides
        self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        """As wide as the shorter texts need: those shown now would keep the panel wide."""
        return QSize(
            self._least_width or super().minimumSizeHint().width(), super().minimumSizeHint().height()
        )

    def _fit_level(self) -> bool:
        """Shorten as much as the width needs; returns whether that is more or less than before."""
        before = self._level
        self._level = sum(self.width() < needed for needed in self._needed)
        self._purpose.setMaximumWidth(
            self._purpose.fontMetrics().horizontalAdvance(PURPOSE_SHORT) + 2 if self._level else MAX_WIDTH
        )
        return self._level != before

    def _show_numbers(self, vote: Vote, columns: CaseColumns, level: int, *, stale: bool) -> None:
        """Show the estimate and its badge, as short as ``level`` says."""
        assert vote.probability is not None and vote.interval is not None and vote.finding is not None
        low, high = vote.interval
        second, narrow = theme().second, level > SHARE_BELOW
        # The finding's letter, or its name if no single case has it.
        letter = columns.letters.get(vote.finding, vote.finding)
        label_text = letter if narrow else tr("estimate {finding}", finding=letter)
        if letter[:1].isdigit():
            # Two numbers side by side would read as one.
            label_text += ":"
        has_share = vote.library_share is not None and vote.prevalence is None
        has_share = has_share and level <= SHORT_PURPOSE
        of_library = tr(" at {share:.0%} in this library", share=vote.library_share) if has_share else ""
        self.estimate.setText(
            f'<span style="color:{second}">{html.escape(visible(label_text))}</span> '
            f'<b>{format_number(vote.probability, ".2f")}</b> <span style="color:{second}">'
            f"({localise_number(f'{low:.2f}–{high:.2f}')}){html.escape(of_library)}</span>"
        )
        if stale:
            self.badge.set_kind("stale")
        else:
            is_held_out = vote.measured_on == HELD_OUT_PATIENTS
            short = (tr("held-out") if is_held_out else tr("unknown")) if narrow else ""
            self.badge.set_kind("held-out" if is_held_out else "unknown", short)

    def _show_estimate(self, vote: Vote, columns: CaseColumns) -> None:
        assert vote.probability is not None and vote.interval is not None and vote.finding is not None
        low, high = vote.interval
        several = len(vote.findings) > 2
        share, interval = vote.probability, (low, high)
        ends: tuple[ScaleEnd, ScaleEnd] = (None, finding_code(vote.finding, columns))
        if not several:
            first, second_finding = vote.findings
            ends = (finding_code(first, columns), finding_code(second_finding, columns))
            if vote.finding == first:
                share, interval = 1.0 - share, (1.0 - high, 1.0 - low)
        self.scale.set_estimate(share, interval, ends)
        text = tr(
            "Estimate for {finding}: {share:.2f}, 95 % interval {low:.2f} to {high:.2f}",
            finding=isolated(vote.finding),
            share=vote.probability,
            low=low,
            high=high,
        )
        if in_words := translate(library_share_text(vote.finding, vote.library_share)):
            text = f"{text}, {in_words}"
        for widget in (self.estimate, self.scale):
            tested_on = tr_name(vote.measured_on or "")
            widget.setAccessibleName(tr("{estimate}, tested on {what}", estimate=text, what=tested_on))
            widget.setToolTip(plain_tip(f"{text}.\n{_ESTIMATE_TIP}"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._fit_level():
            self._show_level()
        self._fit_counts()

    def _refresh(self) -> None:
        if self._shown is not None and not self.isHidden():
            ranking, columns, stale, rate = self._shown
            self.show_ranking(ranking, columns, stale=stale, no_match_rate=rate)


def _far_text(no_match_rate: float) -> str:
    return tr(
        "The {n} nearest cases are farther from the query than for {share:g} % of cases like those of this library. "
        "The cases below may not be similar.",
        n=NEAREST,
        share=100 * (1 - no_match_rate),
    )


def _unclear_text(ranking: SearchResult) -> str:
    counts = join_texts(count_label(n, finding) for finding, n in ranking.counts.items())
    return tr(
        "This library has similar cases, but no finding has two thirds of the nearest: {counts}.",
        counts=counts,
    )


def _column(*parts: QWidget | QHBoxLayout) -> QVBoxLayout:
    column = vbox(spacing=4)
    for part in parts:
        if isinstance(part, QWidget):
            column.addWidget(part)
        else:
            column.addLayout(part)
    return column


class EstimateView(QWidget):
    """``set_estimate(share, interval, ends)``: the position between the left end (0) and the right one (1)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._share, self._interval = 0.5, (0.0, 1.0)
        self._ends: tuple[ScaleEnd, ScaleEnd] = (None, None)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    @property
    def share(self) -> float:
        return self._share

    @property
    def interval(self) -> tuple[float, float]:
        return self._interval

    @property
    def ends(self) -> tuple[ScaleEnd, ScaleEnd]:
        return self._ends

    def set_estimate(
        self, share: float, interval: tuple[float, float], ends: tuple[ScaleEnd, ScaleEnd]
    ) -> None:
        self._share, self._interval, self._ends = share, interval, ends
        low, high = interval
        self.setAccessibleName(
            tr("Estimate {share:.2f}, {low:.2f} to {high:.2f}", share=share, low=low, high=high)
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(_WIDE), theme().px(SIDE) + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(_WIDE) // 2, theme().px(SIDE) + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side, ratio = tokens.px(SIDE), self.devicePixelRatioF()
        top, middle = (self.height() - side) // 2, self.height() / 2
        left, right = 0.0, float(self.width())
        if self._ends[0] is not None:
            painter.drawPixmap(0, top, chip_pixmap(*self._ends[0], ratio))
            left += side + _GAP
        if self._ends[1] is not None:
            painter.drawPixmap(self.width() - side, top, chip_pixmap(*self._ends[1], ratio))
            right -= side + _GAP

        def x_of(share: float) -> float:
            return left + share * (right - left)

        painter.setPen(QPen(colour(tokens.strong_line), 1))
        painter.drawLine(QPointF(left, middle), QPointF(right, middle))
        for tick_x in (left, right):
            painter.drawLine(QPointF(tick_x, middle - _TICK), QPointF(tick_x, middle + _TICK))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(tokens.bar_fill))
        low, high = (x_of(tick_x) for tick_x in self._interval)
        painter.drawRoundedRect(QRectF(low, middle - 2, max(2.0, high - low), 4), 2, 2)
        painter.setBrush(colour(tokens.text))
        painter.setPen(QPen(colour(tokens.panel), 1.5))
        painter.drawEllipse(QPointF(x_of(self._share), middle), 4.5, 4.5)
        painter.end()


#: Findings that have a field; the command line sets others.
MAX_FIELDS = 12
_PARAMETER = Parameter("prevalence", None, "The share of cases with the finding, in percent.")


class PrevalenceDialog(Dialog):
    """A field in percent for each finding. Those with an empty one share the rest as in the library."""

    def __init__(
        self,
        in_library: Sequence[tuple[str, float]],
        shares: Mapping[str, float],
        parent: QWidget | None = None,
    ) -> None:
        """``in_library``: findings with their shares, 0 to 1, of the library's cases; ``shares``: those set."""
        super().__init__(parent)
        self.setWindowTitle(tr("Set prevalence"))
        self._others = dict(shares)
        self.fields: dict[str, NumberField] = {}
        fields = form()
        for finding, share in in_library[:MAX_FIELDS]:
            field = NumberField(_PARAMETER)
            known = self._others.pop(finding, None)
            field.set_value(None if known is None else float(f"{100 * known:.6g}"))
            field.setPlaceholderText(format_number(100 * share, ".3g"))
            field.setAccessibleName(tr("Prevalence of {finding} in percent", finding=finding))
            field.edited.connect(self._check)
            fields.addRow(tr("{finding}, %", finding=finding), field)
            self.fields[finding] = field
        self._problem = WrappedLabel(role="second")
        self.accept_button = accept_button(tr("Set prevalence"))
        self.accept_button.clicked.connect(self.accept)
        layout = dialog_layout(self)
        layout.addWidget(
            WrappedLabel(
                tr(
                    "How many of 100 cases in your practice have each finding? Findings with an empty field share "
                    "the rest as they do in the library, whose shares are shown in grey."
                )
            )
        )
        layout.addLayout(fields)
        layout.addWidget(self._problem)
        layout.addLayout(action_row(self, self.accept_button))
        self.setMinimumWidth(theme().px(420))

    def shares(self) -> dict[str, float]:
        """Finding -> share, 0 to 1, of the fields that are filled, and of findings without a field.

        Raises:
            BadArguments: a field that is no percentage above 0 and below 100, or more than 100 % together.
        """
        found = dict(self._others)
        for finding, field in self.fields.items():
            value = field.value()
            if value is None:
                continue
            if not isinstance(value, int | float) or not 0 < value < 100:
                raise BadArguments(tr("A prevalence is more than 0 % and less than 100 %."))
            found[finding] = value / 100
        if sum(found.values()) > 1.0 + 1e-9:
            raise BadArguments(tr("The prevalences are more than 100 % together."))
        return found

    def _check(self) -> None:
        problem = ""
        try:
            self.shares()
        except BadArguments as refused:
            problem = str(refused)
        self._problem.setText(problem)
        self.accept_button.setEnabled(not problem)


def edit_prevalences(context: Context, parent: QWidget) -> None:
    """Ask for the prevalences of the open library, record them and rank again."""
    library, snapshot = context.state.location, context.state.library
    if library is None or snapshot is None:
        return
    columns = snapshot.columns
    counts = [int((columns.finding == number).sum()) for number in range(len(columns.findings))]
    total = max(1, sum(counts))
    in_library = [(name, n / total) for name, n in zip(columns.findings, counts, strict=True)]

    def ask(shares: Mapping[str, float]) -> None:
        dialog = PrevalenceDialog(in_library, shares, parent)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            job = context.jobs.run(
                "", set_prevalences, library, dialog.shares(), pool=WorkerPool.READ, quiet=True
            )
            context.follow(job, lambda _: search_operations.rank(context), library=library)
        dialog.deleteLater()

    job = context.jobs.run("", prevalences, library, pool=WorkerPool.READ, quiet=True)
    context.follow(job, ask, library=library)
