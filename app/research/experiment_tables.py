"""The tables of an experiment: scores as they grow, differences, worst queries and worst findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from semblance.app.shell.theme import plain_tip, theme, theme_signals
from semblance.app.widgets.badge import KINDS, badge_size, paint_badge
from semblance.app.widgets.read_only_table import make_read_only
from semblance.core.evaluation.friedman import smaller_is_better
from semblance.core.language import format_number, localise_number, tr
from semblance.core.research.titles import cases_title, learner_title, score_title

Document = Mapping[str, Any]

ROW = 24
_BADGE = Qt.ItemDataRole.UserRole
_CASE = Qt.ItemDataRole.UserRole + 1
#: What a number was measured on, by what is known of patients.
BADGES = {"known": "held-out", "unknown": "unknown"}


class ResultTable(QTableWidget):
    """Lines of texts under titles; ``entered(row)`` on a double click or Enter."""

    entered = Signal(int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        make_read_only(self)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setItemDelegate(_Delegate(self))
        head = self.horizontalHeader()
        head.setStretchLastSection(False)
        # Looking through every line for the widest text would make long tables stall.
        head.setResizeContentsPrecision(60)
        self.cellDoubleClicked.connect(lambda row, _column: self.entered.emit(row))
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_lines(
        self,
        titles: Sequence[str],
        lines: Sequence[Sequence[str]],
        *,
        words: int = 1,
        badges: Sequence[str] | None = None,
        tips: Mapping[int, str] | None = None,
        cases: Sequence[int | None] | None = None,
        bold: Sequence[frozenset[int]] | None = None,
    ) -> None:
        """The first ``words`` columns are words, the others numbers, to the right. ``badges`` stand in a last
        column; ``cases`` are catalogue rows the lines speak of; ``bold`` the places of each line's best."""
        at = self.currentRow()
        shown = [*titles, *([tr("measured on")] if badges is not None else [])]
        self.setColumnCount(len(shown))
        self.setRowCount(len(lines))
        for place, title in enumerate(shown):
            head = QTableWidgetItem(title)
            number = words <= place < len(titles)
            head.setTextAlignment(_side(number))
            head.setToolTip(plain_tip((tips or {}).get(place, title)))
            self.setHorizontalHeaderItem(place, head)
        for row, line in enumerate(lines):
            for place, text in enumerate(line):
                item = QTableWidgetItem(text)
                item.setTextAlignment(_side(place >= words))
                item.setToolTip(plain_tip(text))
                if bold is not None and place in bold[row]:
                    font = item.font()
                    font.setWeight(font.Weight.DemiBold)
                    item.setFont(font)
                if cases is not None:
                    item.setData(_CASE, cases[row])
                self.setItem(row, place, item)
            if badges is not None:
                item = QTableWidgetItem("")
                item.setData(_BADGE, badges[row])
                item.setData(
                    Qt.ItemDataRole.AccessibleTextRole,
                    tr("measured on {patients}", patients=KINDS[badges[row]][0]),
                )
                self.setItem(row, len(titles), item)
        self._fit()
        self.resizeColumnsToContents()
        for place in range(words):
            self.setColumnWidth(place, min(self.columnWidth(place), theme().px(260)))
        if 0 <= at < len(lines):
            self.setCurrentCell(at, 0)

    def case(self, row: int) -> int | None:
        """The catalogue's row of the case a line speaks of."""
        item = self.item(row, 0)
        value = item.data(_CASE) if item is not None else None
        return value if isinstance(value, int) else None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentRow() >= 0:
            self.entered.emit(self.currentRow())
        elif event.key() == Qt.Key.Key_Escape:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def _fit(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme().px(ROW))


class _Delegate(QStyledItemDelegate):
    """Draws badges; all else as usual."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        kind = index.data(_BADGE)
        if isinstance(kind, str):
            rect: QRect = option.rect
            size = badge_size(kind)
            top = rect.y() + (rect.height() - size.height()) // 2
            widget = self.parent()
            ratio = widget.devicePixelRatioF() if isinstance(widget, QWidget) else 1.0
            paint_badge(painter, QRect(rect.x() + 4, top, size.width(), size.height()), kind, ratio=ratio)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        kind = index.data(_BADGE)
        size = super().sizeHint(option, index)
        return badge_size(kind) + QSize(12, 0) if isinstance(kind, str) else size


def _side(number: bool) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def interval_text(score: Mapping[str, Any] | None) -> str:
    """``0.833 (0.781–0.870)``, or a dash."""
    if score is None:
        return "–"
    low, high = score["ci95"] or (None, None)
    spread = f" ({low:.3f}–{high:.3f})" if low is not None and high is not None else ""
    return localise_number(f"{score['mean']:.3f}{spread}")


def show_scores(table: ResultTable, document: Document, protocol: str) -> None:
    """Every learner by one protocol, the best mean of each score on the same cases in bold."""
    rows = [row for row in document["results"] if row["protocol"] == protocol]
    several = len({row["steps"] for row in document["results"]}) > 1
    names = list(rows[0]["compared"]) if rows else []
    titles = [tr("cases"), tr("learner"), *([tr("steps")] if several else []), tr("repeats")]
    titles += [score_title(name) for name in names]
    lines, bold = [], []
    for row in rows:
        done = row["repeats"]
        words = [cases_title(row["cases"]), learner_title(row["learner"])]
        words += [row["steps"]] if several else []
        told = tr("failed") if row["failed"] else tr("{done} of {of}", done=done["done"], of=done["of"])
        lines.append([*words, told, *(interval_text(row["scores"].get(name)) for name in names)])
        first = len(words) + 1
        bold.append(frozenset(first + place for place, name in enumerate(names) if _is_best(row, name, rows)))
    tips = {
        place: tr("{name}: mean and 95 % interval over repeats", name=titles[place])
        for place in range(len(titles) - len(names), len(titles))
    }
    table.set_lines(
        titles,
        lines,
        words=3 if several else 2,
        badges=[BADGES[row["patients"]] for row in rows],
        tips=tips,
        bold=bold,
    )
    for place, row in enumerate(rows):
        if row["failed"]:
            for column in range(len(titles)):
                item = table.item(place, column)
                if item is not None:
                    item.setToolTip(plain_tip(row["failed"]))


def _is_best(row: Mapping[str, Any], name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    beside = [
        other["scores"][name]["mean"]
        for other in rows
        if other["cases"] == row["cases"] and name in other["scores"]
    ]
    if name not in row["scores"] or len(beside) < 2:
        return False
    best = min(beside) if smaller_is_better(name) else max(beside)
    return bool(abs(row["scores"][name]["mean"] - best) < 5e-4)


def compared_scores(document: Document, protocol: str) -> list[str]:
    """The scores in which learners are compared by one protocol."""
    found = [one["score"] for one in document.get("comparisons", ()) if one["protocol"] == protocol]
    return list(dict.fromkeys(found))


def show_differences(table: ResultTable, document: Document, protocol: str, score: str) -> None:
    """Every two learners on the same splits, in one score."""
    found = [
        one
        for one in document.get("comparisons", ())
        if one["protocol"] == protocol and one["score"] == score
    ]
    table.set_lines(
        [tr("cases"), tr("learner"), tr("compared with"), tr("difference"), "p (t)", "p (Wilcoxon)"],
        [
            [
                cases_title(one["cases"]),
                learner_title(one["a"]),
                learner_title(one["b"]),
                _signed(
                    tr(
                        "{difference:+.3f} ({low:+.3f} to {high:+.3f})",
                        difference=one["difference"],
                        low=one["ci95"][0],
                        high=one["ci95"][1],
                    )
                ),
                _chance(one["p_corrected_t"]),
                _chance(one["p_wilcoxon"]),
            ]
            for one in found
        ],
        words=3,
        tips={
            4: tr("Corrected resampled t test: splits share cases"),
            5: tr("Wilcoxon's signed ranks over repeats"),
        },
    )


def _signed(text: str) -> str:
    return text.replace("-", "−")


def _chance(p: float | None) -> str:
    return "–" if p is None else localise_number("<0.001" if p < 0.001 else f"{p:.3f}")


def show_worst(queries: ResultTable, findings: ResultTable, document: Document, place: int) -> None:
    """The worst queries and findings of the row at ``place`` of those that have any."""
    of_queries = document.get("worst_queries", ())
    there = 0 <= place < len(of_queries)
    show_queries(
        queries, of_queries[place]["queries"] if there else (), of_queries[place]["score"] if there else ""
    )
    told = document["worst_findings"][place]["findings"] if there else ()
    findings.set_lines(
        [tr("finding"), tr("mean"), tr("cases")],
        [
            [one["finding"], format_number(one["mean"], ".3f"), format_number(one["cases"], ",")]
            for one in told
        ],
    )


def show_queries(table: ResultTable, queries: Sequence[Mapping[str, Any]], score: str) -> None:
    """A line for every query, the worst first; those of a library open their case."""
    table.set_lines(
        [tr("case"), tr("finding"), tr("mean"), tr("asked")],
        [
            [
                one["case_id"] or tr("case {number}", number=one["place"] + 1),
                one["finding"],
                format_number(one["mean"], ".3f"),
                f"{one['asked']}",
            ]
            for one in queries
        ],
        words=2,
        cases=[one["case_row"] if (one["case_row"] or -1) >= 0 else None for one in queries],
        tips={2: score_title(score), 3: tr("In how many splits it was tested")},
    )
