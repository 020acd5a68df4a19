"""The tables of an experiment: scores, differences, worst queries and worst findings."""

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
from semblance.app.widgets.tables import make_read_only
from semblance.core.evaluation.chance import is_chance, names_beside_chance
from semblance.core.evaluation.friedman import smaller_is_better
from semblance.core.language import format_number, localise_number, tr
from semblance.core.research.result_titles import cases_title, learner_title, score_title

Document = Mapping[str, Any]

ROW_HEIGHT = 24
_BADGE = Qt.ItemDataRole.UserRole
_CASE = Qt.ItemDataRole.UserRole + 1
#: Whether patients are known -> kind of badge.
BADGES = {"known": "held-out", "unknown": "unknown"}


class ResultTable(QTableWidget):
    """A table of texts. ``entered(row)`` is emitted on a double click or Enter."""

    entered = Signal(int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        make_read_only(self)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setItemDelegate(BadgeDelegate(self))
        header = self.horizontalHeader()
        header.setStretchLastSection(False)
        # Measuring the texts of every row would take too long in long tables.
        header.setResizeContentsPrecision(60)
        self.cellDoubleClicked.connect(lambda row, _column: self.entered.emit(row))
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_rows(
        self,
        titles: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        text_columns: int = 1,
        badges: Sequence[str] | None = None,
        tips: Mapping[int, str] | None = None,
        cases: Sequence[int | None] | None = None,
        bold: Sequence[frozenset[int]] | None = None,
    ) -> None:
        """The first ``text_columns`` columns are texts, the others are numbers, aligned right. ``badges`` are in a last
        column, empty for none, ``cases`` are the catalogue rows of the rows, ``bold`` the columns of each row in
        bold."""
        current_row = self.currentRow()
        all_titles = [*titles, *([tr("measured on")] if badges is not None else [])]
        self.setColumnCount(len(all_titles))
        self.setRowCount(len(rows))
        for column, title in enumerate(all_titles):
            header_item = QTableWidgetItem(title)
            is_number = text_columns <= column < len(titles)
            header_item.setTextAlignment(_alignment(is_number))
            header_item.setToolTip(plain_tip((tips or {}).get(column, title)))
            self.setHorizontalHeaderItem(column, header_item)
        for row, cells in enumerate(rows):
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setTextAlignment(_alignment(column >= text_columns))
                item.setToolTip(plain_tip(text))
                if bold is not None and column in bold[row]:
                    font = item.font()
                    font.setWeight(font.Weight.DemiBold)
                    item.setFont(font)
                if cases is not None:
                    item.setData(_CASE, cases[row])
                self.setItem(row, column, item)
            if badges is not None:
                item = QTableWidgetItem("")
                if badges[row]:
                    item.setData(_BADGE, badges[row])
                    item.setData(
                        Qt.ItemDataRole.AccessibleTextRole,
                        tr("measured on {patients}", patients=KINDS[badges[row]][0]),
                    )
                self.setItem(row, len(titles), item)
        self._fit()
        self.resizeColumnsToContents()
        for column in range(text_columns):
            self.setColumnWidth(column, min(self.columnWidth(column), theme().px(260)))
        if 0 <= current_row < len(rows):
            self.setCurrentCell(current_row, 0)

    def case(self, row: int) -> int | None:
        """The catalogue row of the case in ``row``."""
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
        self.verticalHeader().setDefaultSectionSize(theme().px(ROW_HEIGHT))


class BadgeDelegate(QStyledItemDelegate):
    """Draws badges in the last column."""

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


def _alignment(is_number: bool) -> Qt.AlignmentFlag:
    horizontal = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
    return horizontal | Qt.AlignmentFlag.AlignVCenter


def interval_text(score: Mapping[str, Any] | None) -> str:
    """``0.833 (0.781–0.870)``, or a dash."""
    if score is None:
        return "–"
    low, high = score["ci95"] or (None, None)
    interval = f" ({low:.3f}–{high:.3f})" if low is not None and high is not None else ""
    return localise_number(f"{score['mean']:.3f}{interval}")


def show_scores(table: ResultTable, document: Document, protocol: str) -> None:
    """Show the scores of every learner with one protocol. The best mean on the same cases is bold."""
    results = [result for result in document["results"] if result["protocol"] == protocol]
    has_several_steps = len({result["steps"] for result in document["results"]}) > 1
    known = {name for result in results for name in (*result["compared"], *result["scores"])}
    names = names_beside_chance(results[0]["compared"], known) if results else []
    titles = [tr("cases"), tr("learner"), *([tr("steps")] if has_several_steps else []), tr("repeats")]
    titles += [score_title(name) for name in names]
    rows, bold = [], []
    for result in results:
        repeats = result["repeats"]
        texts = [cases_title(result["cases"]), learner_title(result["learner"])]
        texts += [result["steps"]] if has_several_steps else []
        progress = (
            tr("failed") if result["failed"] else tr("{done} of {of}", done=repeats["done"], of=repeats["of"])
        )
        rows.append([*texts, progress, *(interval_text(result["scores"].get(name)) for name in names)])
        first = len(texts) + 1
        bold.append(
            frozenset(
                first + index for index, name in enumerate(names) if _is_best_mean(result, name, results)
            )
        )
    tips = {
        column: tr("{name}: mean and 95 % interval over repeats", name=titles[column])
        for column in range(len(titles) - len(names), len(titles))
    }
    table.set_rows(
        titles,
        rows,
        text_columns=3 if has_several_steps else 2,
        badges=[BADGES[result["patients"]] for result in results],
        tips=tips,
        bold=bold,
    )
    for row, result in enumerate(results):
        if result["failed"]:
            for column in range(len(titles)):
                item = table.item(row, column)
                if item is not None:
                    item.setToolTip(plain_tip(result["failed"]))


def _is_best_mean(row: Mapping[str, Any], name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    means = [
        other["scores"][name]["mean"]
        for other in rows
        if other["cases"] == row["cases"] and name in other["scores"]
    ]
    if name not in row["scores"] or len(means) < 2 or is_chance(name):
        return False
    best = min(means) if smaller_is_better(name) else max(means)
    return bool(abs(row["scores"][name]["mean"] - best) < 5e-4)


def compared_scores(document: Document, protocol: str) -> list[str]:
    """Names of the scores in which learners are compared with one protocol."""
    scores = [entry["score"] for entry in document.get("comparisons", ()) if entry["protocol"] == protocol]
    return list(dict.fromkeys(scores))


def show_differences(table: ResultTable, document: Document, protocol: str, score: str) -> None:
    """Show the comparisons of every two learners on the same splits in one score."""
    comparisons = [
        entry
        for entry in document.get("comparisons", ())
        if entry["protocol"] == protocol and entry["score"] == score
    ]
    table.set_rows(
        [tr("cases"), tr("learner"), tr("compared with"), tr("difference"), "p (t)", "p (Wilcoxon)"],
        [
            [
                cases_title(entry["cases"]),
                learner_title(entry["a"]),
                learner_title(entry["b"]),
                difference_text(entry["difference"], *entry["ci95"]),
                p_value_text(entry["p_corrected_t"]),
                p_value_text(entry["p_wilcoxon"]),
            ]
            for entry in comparisons
        ],
        text_columns=3,
        tips={
            4: tr("Corrected resampled t test: splits share cases"),
            5: tr("Wilcoxon's signed ranks over repeats, which share training cases: p is too small"),
        },
    )


def difference_text(difference: float, low: float, high: float) -> str:
    """``+0.052 (+0.011 to +0.093)``."""
    text = tr("{difference:+.3f} ({low:+.3f} to {high:+.3f})", difference=difference, low=low, high=high)
    return text.replace("-", "−")


def p_value_text(p: float | None) -> str:
    """``0.031``, ``<0.001``, or a dash."""
    return "–" if p is None else localise_number("<0.001" if p < 0.001 else f"{p:.3f}")


def show_worst(queries: ResultTable, findings: ResultTable, document: Document, index: int) -> None:
    """Show the worst queries and findings of the entry at ``index``, or empty tables without one."""
    all_queries = document.get("worst_queries", ())
    if 0 <= index < len(all_queries):
        show_queries(queries, all_queries[index]["queries"], all_queries[index]["score"])
        entries = document["worst_findings"][index]["findings"]
    else:
        show_queries(queries, (), "")
        entries = ()
    findings.set_rows(
        [tr("finding"), tr("mean"), tr("cases")],
        [
            [entry["finding"], format_number(entry["mean"], ".3f"), format_number(entry["cases"], ",")]
            for entry in entries
        ],
    )


def show_queries(table: ResultTable, queries: Sequence[Mapping[str, Any]], score: str) -> None:
    """Show a row for every query, the worst first. Queries of a library have a case."""
    table.set_rows(
        [tr("case"), tr("finding"), tr("mean"), tr("queries")],
        [
            [
                entry["case_id"] or tr("case {number}", number=entry["place"] + 1),
                entry["finding"],
                format_number(entry["mean"], ".3f"),
                f"{entry['asked']}",
            ]
            for entry in queries
        ],
        text_columns=2,
        cases=[entry["case_row"] if (entry["case_row"] or -1) >= 0 else None for entry in queries],
        tips={2: score_title(score), 3: tr("In how many splits it was tested")},
    )
