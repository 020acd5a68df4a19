"""The facts beside two rankings: what each says of the query, how it scored, and how far they are apart."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QWidget

from semblance.app.shell.theme import SMALL, colour, finding_colour, plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.estimate_caution import TRAINED_ON_QUERY, estimate_caution
from semblance.app.widgets.finding_chip import SIDE, chip_pixmap
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.nearest_chips import NEAREST
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.warning_line import WarningLine
from semblance.core.language import format_number, localise_number, tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns
from semblance.core.reports.curves import interval_text
from semblance.core.workflows.evaluation import scored_metrics
from semblance.core.workflows.evaluation.compare_metrics import ComparedCase, MetricComparison
from semblance.core.workflows.evaluation.scored_metrics import ScoredMetric
from semblance.core.workflows.searches.estimate import Vote

ROW = 22
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class TwoMetricsFacts(QWidget):
    """Two tables and the key of the lines."""

    def __init__(self) -> None:
        super().__init__()
        self._sides = _Table(3)
        self._apart = _Table(2)
        self._badge = Badge("held-out")
        self._trained = Badge("training", tr("query in training data"))
        self.cautions = (WarningLine("small"), WarningLine("small"))
        self._key = _LineKey()
        title = QLabel(tr("Differences"))
        set_look(title, role="title")
        self._apart_title = title
        beside = QHBoxLayout()
        beside.setSpacing(6)
        beside.addWidget(self._badge)
        beside.addWidget(self._trained)
        beside.addStretch(1)
        self._rule = _Rule()
        column = vbox(self, spacing=6, margins=(12, 8, 12, 8))
        column.addWidget(self._sides)
        for caution in self.cautions:
            column.addWidget(caution)
        column.addLayout(beside)
        column.addWidget(self._rule)
        column.addWidget(title)
        column.addWidget(self._apart)
        column.addWidget(self._key)
        column.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)

    def show_facts(
        self,
        columns: CaseColumns,
        names: tuple[str, str],
        compared: MetricComparison | None,
        scored: tuple[ScoredMetric | None, ScoredMetric | None],
        counted: str | None,
        depth: int,
    ) -> None:
        """``counted``: the finding the nearest are counted of; ``depth``: the ranks that are shown."""
        there = compared is not None
        for widget in (self._sides, self._apart, self._apart_title, self._rule, self._key):
            widget.setVisible(there)
        self._tell_badge(scored, shown=there)
        self._tell_votes(names, (Vote(), Vote()) if compared is None else compared.votes)
        if compared is None:
            return
        lines: list[tuple[str, ...]] = [("", *names)]
        if counted is not None:
            counts = [
                str(sum(line.finding == counted for line in side[:NEAREST]))
                for side in (compared.left, compared.right)
            ]
            lines.append((tr("{n} nearest, {finding}", n=NEAREST, finding=counted), *counts))
        estimates = [_estimate(vote, counted, columns) for vote in compared.votes]
        if any(estimates):
            lines.append((tr("estimate"), *((found or ("–", ""))[0] for found in estimates)))
            lines.append(("", *((found or ("", ""))[1] for found in estimates)))
        if any(vote.trained for vote in compared.votes):
            told = [
                tr("in training data") if vote.trained else tr("not in training data")
                for vote in compared.votes
            ]
            lines.append((tr("query"), *told))
        if any(one is not None for one in scored):
            at = [(None, None, None) if one is None else one.accuracy(NEAREST) for one in scored]
            lines.append((tr("accuracy @{n}", n=NEAREST), *(_number(value[0]) for value in at)))
            lines.append(("", *(_interval(value[1], value[2]) for value in at)))
        self._sides.show_lines(lines)
        self._apart.show_lines(self._distances(columns, compared, depth))
        self._key.show_findings(columns, compared, depth)

    def texts(self) -> list[list[str]]:
        """ComparedCase by line what stands in both tables."""
        return self._sides.texts() + self._apart.texts()

    @property
    def badge(self) -> Badge:
        return self._badge

    @property
    def trained(self) -> Badge:
        """There where a metric was trained on the query or its patient."""
        return self._trained

    def _tell_votes(self, names: tuple[str, str], votes: tuple[Vote, Vote]) -> None:
        for caution, name, vote in zip(self.cautions, names, votes, strict=True):
            words, tip = estimate_caution(vote)
            caution.show_message(f"{name}: {words}" if words else "", tip)
        knowing = [name for name, vote in zip(names, votes, strict=True) if vote.trained]
        self._trained.setVisible(bool(knowing))
        self._trained.setToolTip(plain_tip("\n".join([TRAINED_ON_QUERY, *knowing])))

    def _tell_badge(self, scored: Sequence[ScoredMetric | None], *, shown: bool) -> None:
        known = [one for one in scored if one is not None and one.scores is not None]
        self._badge.setVisible(shown and bool(known))
        if known:
            self._badge.set_kind(scored_metrics.least_trusted(known))

    @staticmethod
    def _distances(columns: CaseColumns, compared: MetricComparison, depth: int) -> list[tuple[str, ...]]:
        agreement = compared.agreement
        lines: list[tuple[str, ...]] = []
        if agreement is not None:
            told = signed(interval_text(agreement.tau, agreement.low, agreement.high))
            lines.append((tr("Kendall τ, first {n}", n=agreement.n), told))
        seen = min(depth, len(compared.left), len(compared.right))
        lines.append((tr("shared in first {n}", n=seen), tr("{k} of {n}", k=compared.shared(seen), n=seen)))
        rise, fall = compared.largest_rise(depth), compared.largest_fall(depth)
        lines.append(
            (tr("largest rise"), tr("none") if rise is None else _moved(columns, rise, rise.other, rise.rank))
        )
        lines.append(
            (tr("largest fall"), tr("none") if fall is None else _moved(columns, fall, fall.rank, fall.other))
        )
        return lines


def _estimate(vote: Vote, counted: str | None, columns: CaseColumns) -> tuple[str, str] | None:
    """The calibrated chance of the finding that is counted, with its interval; of another finding where there
    are more than two, by its letter."""
    if vote.probability is None or vote.interval is None or vote.finding is None:
        return None
    share, (low, high) = vote.probability, vote.interval
    if vote.finding != counted and len(vote.findings) == 2 and counted in vote.findings:
        share, low, high = 1 - share, 1 - high, 1 - low
    elif vote.finding != counted:
        return f"{columns.letters.get(vote.finding, vote.finding)} {format_number(share, '.2f')}", _interval(
            low, high
        )
    return format_number(share, ".2f"), _interval(low, high)


def signed(text: str) -> str:
    """Numbers that may be negative, with a true minus."""
    return text.replace("-", "−")


def _moved(columns: CaseColumns, line: ComparedCase, before: int | None, after: int | None) -> str:
    index = columns.index_of_row(line.row)
    name = columns.labels[index] if index >= 0 else line.case_id
    return tr("{case}, {before:,} to {after:,}", case=name, before=before, after=after)


def _number(value: float | None) -> str:
    return "–" if value is None else format_number(value, ".2f")


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else localise_number(f"{low:.2f}–{high:.2f}")


class _Table(QWidget):
    """Names at the left, values at the right."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._columns = columns
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(0)
        self._lines: list[tuple[str, ...]] = []
        self._grid.setColumnStretch(0, 2)
        for column in range(1, columns):
            self._grid.setColumnStretch(column, 1 if columns > 2 else 3)
        theme_signals.changed.connect(self._restyle)

    def show_lines(self, lines: list[tuple[str, ...]]) -> None:
        """Each a name and its values; a head has no name and stands first."""
        if lines == self._lines:
            return
        self._lines = lines
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, (name, *values) in enumerate(lines):
            self._grid.addWidget(ElidedLabel(name, role="second"), row, 0)
            for column, value in enumerate(values, 1):
                label: QLabel = ElidedLabel(value, mode=Qt.TextElideMode.ElideMiddle)
                if row and self._columns > 2:
                    # A number that is cut says another one.
                    label = QLabel(value)
                if not name:
                    set_look(label, role="second")
                label.setAlignment(_RIGHT)
                self._grid.addWidget(label, row, column)
        self._restyle()

    def texts(self) -> list[list[str]]:
        return [list(line) for line in self._lines]

    def _restyle(self) -> None:
        for row, line in enumerate(self._lines):
            self._grid.setRowMinimumHeight(row, theme().px(ROW if line[0] or not row else ROW - 6))


class _LineKey(QWidget):
    """What the colours of the lines mean, and the broken ones."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[tuple[int, str, str]] = []
        self._note = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme_signals.changed.connect(self.updateGeometry)

    def show_findings(self, columns: CaseColumns, compared: MetricComparison, depth: int) -> None:
        shown = {line.finding for lines in (compared.left, compared.right) for line in lines[:depth]}
        self._entries = [
            (code, columns.letters[name], name) for code, name in enumerate(columns.findings) if name in shown
        ]
        if None in shown:
            self._entries.append((NO_FINDING, "?", tr("not given")))
        self._note = tr("Colours of lines. Broken: outside the first {n}.", n=depth)
        words = ", ".join(name for _, _, name in self._entries)
        self.setAccessibleName(
            tr("Lines are coloured by finding: {findings}. {note}", findings=words, note=self._note)
        )
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(100, theme().px(20) * (len(self._rows(self.width())) + 1) + 8)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self.sizeHint().height())

    def resizeEvent(self, event: object) -> None:
        self.updateGeometry()

    def _rows(self, width: int) -> list[list[tuple[int, str, str]]]:
        rows: list[list[tuple[int, str, str]]] = [[]]
        left = width
        for entry in self._entries:
            wide = self._width_of(entry)
            if wide > left and rows[-1]:
                rows.append([])
                left = width
            rows[-1].append(entry)
            left -= wide
        return rows

    @staticmethod
    def _width_of(entry: tuple[int, str, str]) -> int:
        return theme().px(20 + SIDE + 5) + 8 + int(text_cache(SMALL).width(entry[2])) + theme().px(16)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        high = tokens.px(20)
        y = 4
        for row in self._rows(self.width()):
            x = 0
            for code, letter, name in row:
                painter.setPen(QPen(colour(finding_colour(code)), 2))
                painter.drawLine(x, y + high // 2, x + tokens.px(18), y + high // 2)
                chip = x + tokens.px(18) + 6
                top = y + (high - tokens.px(SIDE)) // 2
                painter.drawPixmap(QPoint(chip, top), chip_pixmap(code, letter, self.devicePixelRatioF()))
                left = chip + tokens.px(SIDE) + 5
                room = min(self.width() - left, int(text_cache(SMALL).width(name)) + 2)
                text_cache(SMALL).draw(painter, QRect(left, y, room, high), name, tokens.text)
                x += self._width_of((code, letter, name))
            y += high
        text_cache(SMALL).draw(painter, QRect(0, y, self.width(), high), self._note, tokens.second)
        painter.end()


class _Rule(QWidget):
    """A hair line."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(9)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(-12, 4, self.width() + 24, 1, colour(theme().line))
        painter.end()
