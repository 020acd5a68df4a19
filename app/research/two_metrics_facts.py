"""The facts beside two rankings: estimates and scores of both metrics, and their differences."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QWidget

from semblance.app.shell.theme import SMALL, colour, finding_colour, plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.estimate_caution import TRAINED_ON_QUERY, estimate_caution
from semblance.app.widgets.finding_chips import NEAREST, SIDE, chip_pixmap
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import STRETCH, fill, vbox
from semblance.app.widgets.message_lines import WarningLine
from semblance.app.widgets.text_cache import text_cache
from semblance.core.language import format_number, localise_number, tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns
from semblance.core.reports.curves import interval_text
from semblance.core.searches.similar_cases import Vote
from semblance.core.workflows.evaluation import scored_metrics
from semblance.core.workflows.evaluation.compare_metrics import ComparedCase, MetricComparison
from semblance.core.workflows.evaluation.scored_metrics import ScoredMetric

ROW_HEIGHT = 22
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class TwoMetricsFacts(QWidget):
    """Two tables, warnings and the legend of the lines."""

    def __init__(self) -> None:
        super().__init__()
        self._metric_table = FactTable(3)
        self._difference_table = FactTable(2)
        self._badge = Badge("held-out")
        self._trained_badge = Badge("training", tr("query used for training"))
        self.cautions = (WarningLine("small"), WarningLine("small"))
        self._legend = LineLegend()
        title = QLabel(tr("Differences"))
        set_look(title, role="title")
        self._differences_title = title
        badge_row = QHBoxLayout()
        badge_row.setSpacing(6)
        fill(badge_row, self._badge, self._trained_badge, STRETCH)
        self._line = HairLine()
        column = vbox(self, spacing=6, margins=(12, 8, 12, 8))
        column.addWidget(self._metric_table)
        for caution in self.cautions:
            column.addWidget(caution)
        fill(column, badge_row, self._line, title, self._difference_table, self._legend, STRETCH)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)

    def show_facts(
        self,
        columns: CaseColumns,
        names: tuple[str, str],
        comparison: MetricComparison | None,
        scored: tuple[ScoredMetric | None, ScoredMetric | None],
        counted_finding: str | None,
        depth: int,
    ) -> None:
        """``counted_finding``: the finding counted among the nearest cases. ``depth``: number of ranks shown."""
        has_comparison = comparison is not None
        for widget in (
            self._metric_table,
            self._difference_table,
            self._differences_title,
            self._line,
            self._legend,
        ):
            widget.setVisible(has_comparison)
        self._show_badge(scored, visible=has_comparison)
        self._show_cautions(names, (Vote(), Vote()) if comparison is None else comparison.votes)
        if comparison is None:
            return
        rows: list[tuple[str, ...]] = [("", *names)]
        if counted_finding is not None:
            counts = [
                str(sum(case.finding == counted_finding for case in cases[:NEAREST]))
                for cases in (comparison.left, comparison.right)
            ]
            rows.append((tr("{n} nearest, {finding}", n=NEAREST, finding=counted_finding), *counts))
        estimates = [_estimate(vote, counted_finding, columns) for vote in comparison.votes]
        if any(estimates):
            rows.append((tr("estimate"), *((estimate or ("–", ""))[0] for estimate in estimates)))
            rows.append(("", *((estimate or ("", ""))[1] for estimate in estimates)))
        if any(vote.trained for vote in comparison.votes):
            texts = [
                tr("used for training") if vote.trained else tr("not used for training")
                for vote in comparison.votes
            ]
            rows.append((tr("finding of the query"), *texts))
        if any(metric is not None for metric in scored):
            accuracies = [
                (None, None, None) if metric is None else metric.accuracy(NEAREST) for metric in scored
            ]
            rows.append((tr("accuracy @{n}", n=NEAREST), *(_number(value[0]) for value in accuracies)))
            rows.append(("", *(_interval(value[1], value[2]) for value in accuracies)))
        self._metric_table.set_rows(rows)
        self._difference_table.set_rows(self._distances(columns, comparison, depth))
        self._legend.show_findings(columns, comparison, depth)

    def texts(self) -> list[list[str]]:
        """The rows of both tables."""
        return self._metric_table.texts() + self._difference_table.texts()

    @property
    def badge(self) -> Badge:
        return self._badge

    @property
    def trained(self) -> Badge:
        """The badge that is visible if a metric was trained on the query or its patient."""
        return self._trained_badge

    def _show_cautions(self, names: tuple[str, str], votes: tuple[Vote, Vote]) -> None:
        for caution, name, vote in zip(self.cautions, names, votes, strict=True):
            caution_text, tip = estimate_caution(vote)
            caution.show_message(f"{name}: {caution_text}" if caution_text else "", tip)
        trained_names = [name for name, vote in zip(names, votes, strict=True) if vote.trained]
        self._trained_badge.setVisible(bool(trained_names))
        self._trained_badge.setToolTip(plain_tip("\n".join([TRAINED_ON_QUERY, *trained_names])))

    def _show_badge(self, scored: Sequence[ScoredMetric | None], *, visible: bool) -> None:
        with_scores = [metric for metric in scored if metric is not None and metric.scores is not None]
        self._badge.setVisible(visible and bool(with_scores))
        if with_scores:
            self._badge.set_kind(scored_metrics.least_trusted(with_scores))

    @staticmethod
    def _distances(columns: CaseColumns, comparison: MetricComparison, depth: int) -> list[tuple[str, ...]]:
        agreement = comparison.agreement
        rows: list[tuple[str, ...]] = []
        if agreement is not None:
            tau = signed(interval_text(agreement.tau, agreement.low, agreement.high))
            rows.append((tr("Kendall τ, first {n}", n=agreement.n), tau))
        shared_depth = min(depth, len(comparison.left), len(comparison.right))
        rows.append(
            (
                tr("shared in first {n}", n=shared_depth),
                tr("{k} of {n}", k=comparison.shared(shared_depth), n=shared_depth),
            )
        )
        rise, fall = comparison.largest_rise(depth), comparison.largest_fall(depth)
        rows.append(
            (
                tr("largest rise"),
                tr("none") if rise is None else _move_text(columns, rise, rise.other, rise.rank),
            )
        )
        rows.append(
            (
                tr("largest fall"),
                tr("none") if fall is None else _move_text(columns, fall, fall.rank, fall.other),
            )
        )
        return rows


def _estimate(vote: Vote, counted_finding: str | None, columns: CaseColumns) -> tuple[str, str] | None:
    """The calibrated probability of the counted finding with its interval. With more than two findings it is that of
    the estimated finding, named by its letter."""
    if vote.probability is None or vote.interval is None or vote.finding is None:
        return None
    share, (low, high) = vote.probability, vote.interval
    if vote.finding != counted_finding and len(vote.findings) == 2 and counted_finding in vote.findings:
        share, low, high = 1 - share, 1 - high, 1 - low
    elif vote.finding != counted_finding:
        return f"{columns.letters.get(vote.finding, vote.finding)} {format_number(share, '.2f')}", _interval(
            low, high
        )
    return format_number(share, ".2f"), _interval(low, high)


def signed(text: str) -> str:
    """``text`` with hyphens replaced by minus signs."""
    return text.replace("-", "−")


def _move_text(
    columns: CaseColumns, case: ComparedCase, rank_before: int | None, rank_after: int | None
) -> str:
    index = columns.index_of_row(case.row)
    name = columns.name(index) if index >= 0 else case.case_id
    return tr("{case}, {before:,} to {after:,}", case=name, before=rank_before, after=rank_after)


def _number(value: float | None) -> str:
    return "–" if value is None else format_number(value, ".2f")


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else localise_number(f"{low:.2f}–{high:.2f}")


class FactTable(QWidget):
    """A table with names at the left and values at the right."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._columns = columns
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(0)
        self._rows: list[tuple[str, ...]] = []
        self._grid.setColumnStretch(0, 2)
        for column in range(1, columns):
            self._grid.setColumnStretch(column, 1 if columns > 2 else 3)
        theme_signals.changed.connect(self._restyle)

    def set_rows(self, rows: list[tuple[str, ...]]) -> None:
        """Show rows of a name and its values. The first row is the header and has no name."""
        if rows == self._rows:
            return
        self._rows = rows
        while (layout_item := self._grid.takeAt(0)) is not None:
            widget = layout_item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, (name, *values) in enumerate(rows):
            self._grid.addWidget(ElidedLabel(name, role="second"), row, 0)
            for column, value in enumerate(values, 1):
                label: QLabel = ElidedLabel(value, mode=Qt.TextElideMode.ElideMiddle)
                if row and self._columns > 2:
                    # An elided number would be read as another number.
                    label = QLabel(value)
                if not name:
                    set_look(label, role="second")
                label.setAlignment(_RIGHT)
                self._grid.addWidget(label, row, column)
        self._restyle()

    def texts(self) -> list[list[str]]:
        return [list(row) for row in self._rows]

    def _restyle(self) -> None:
        for row, texts in enumerate(self._rows):
            self._grid.setRowMinimumHeight(
                row, theme().px(ROW_HEIGHT if texts[0] or not row else ROW_HEIGHT - 6)
            )


class LineLegend(QWidget):
    """The legend of the lines: the colours of the findings, and dashed lines."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[tuple[int, str, str]] = []
        self._note = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme_signals.changed.connect(self.updateGeometry)

    def show_findings(self, columns: CaseColumns, comparison: MetricComparison, depth: int) -> None:
        findings = {case.finding for cases in (comparison.left, comparison.right) for case in cases[:depth]}
        self._entries = [
            (code, columns.letters[name], name)
            for code, name in enumerate(columns.findings)
            if name in findings
        ]
        if None in findings:
            self._entries.append((NO_FINDING, "?", tr("not given")))
        self._note = tr("Colours of lines. Broken: outside the first {n}.", n=depth)
        names = ", ".join(name for _, _, name in self._entries)
        self.setAccessibleName(
            tr("Lines are coloured by finding: {findings}. {note}", findings=names, note=self._note)
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
        remaining = width
        for entry in self._entries:
            width = self._width_of(entry)
            if width > remaining and rows[-1]:
                rows.append([])
                remaining = width
            rows[-1].append(entry)
            remaining -= width
        return rows

    @staticmethod
    def _width_of(entry: tuple[int, str, str]) -> int:
        return theme().px(20 + SIDE + 5) + 8 + int(text_cache(SMALL).width(entry[2])) + theme().px(16)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        row_height = tokens.px(20)
        y = 4
        for row in self._rows(self.width()):
            x = 0
            for code, letter, name in row:
                painter.setPen(QPen(colour(finding_colour(code)), 2))
                painter.drawLine(x, y + row_height // 2, x + tokens.px(18), y + row_height // 2)
                chip = x + tokens.px(18) + 6
                top = y + (row_height - tokens.px(SIDE)) // 2
                painter.drawPixmap(QPoint(chip, top), chip_pixmap(code, letter, self.devicePixelRatioF()))
                name_x = chip + tokens.px(SIDE) + 5
                name_width = min(self.width() - name_x, int(text_cache(SMALL).width(name)) + 2)
                text_cache(SMALL).draw(painter, QRect(name_x, y, name_width, row_height), name, tokens.text)
                x += self._width_of((code, letter, name))
            y += row_height
        text_cache(SMALL).draw(painter, QRect(0, y, self.width(), row_height), self._note, tokens.second)
        painter.end()


class HairLine(QWidget):
    """A thin horizontal line."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(9)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(-12, 4, self.width() + 24, 1, colour(theme().line))
        painter.end()
