"""What the finished cells of an experiment say: scores, ranks, differences, worst queries, notes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QEvent, Qt, Signal
from PySide6.QtGui import QFontInfo, QPixmap, QResizeEvent
from PySide6.QtWidgets import QComboBox, QLabel, QSizePolicy, QSplitter, QTabWidget, QWidget

from semblance.app.research import run_experiment
from semblance.app.research.experiment_tables import (
    ResultTable,
    compared_scores,
    show_differences,
    show_queries,
    show_scores,
    show_worst,
)
from semblance.app.research.query_preview import QueryPreview
from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.theme import font, theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.plots.figure_view import theme_name
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.language import tr, tr_name
from semblance.core.research.titles import (
    cases_title,
    learner_title,
    protocol_title,
    rank_plot_data,
    score_title,
)


class ExperimentResults(QWidget):
    """``case_requested(library, row)``: a case whose image is to be seen; the owner places ``protocol``."""

    case_requested = Signal(str, int)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._document: Mapping[str, Any] = {}
        self._drawn: tuple[Any, ...] = ()
        self._redraw = one_shot(self, self._draw_ranks, 120)
        self._make()
        vbox(self).addWidget(self.tabs)
        self.protocol.currentIndexChanged.connect(lambda _place: self._show_protocol())
        for choice in (self.test, self.score, self.row):
            choice.currentIndexChanged.connect(lambda _place: self._show_tab())
        self.findings.entered.connect(self._show_finding)
        self.findings.cellClicked.connect(lambda row, _column: self._show_finding(row))
        self.queries.entered.connect(self._enter_query)
        self.queries.currentCellChanged.connect(lambda row, *_rest: self._preview(row))
        self.tabs.currentChanged.connect(lambda _place: self._show_tab())
        theme_signals.changed.connect(self._fit)

    def _make(self) -> None:
        self.protocol = QComboBox()
        self.protocol.setAccessibleName(tr("Protocol shown"))
        self.protocol.setMinimumContentsLength(10)
        self.protocol.hide()
        self.scores = ResultTable(tr("Scores of every learner"))
        self.score = QComboBox()
        self.score.hide()
        self.score.setAccessibleName(tr("Score that is compared"))
        self.differences = ResultTable(tr("Every two learners compared"))
        self.test = QComboBox()
        self.test.hide()
        self.test.setAccessibleName(tr("Score that is ranked"))
        self.ranks = QLabel()
        self.ranks.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        # An image as wide as its room would otherwise widen the window at every drawing.
        self.ranks.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._ranks_told = WrappedLabel(role="second")
        self.row = QComboBox()
        self.row.hide()
        self.row.setAccessibleName(tr("Learner whose worst queries are shown"))
        self.queries = ResultTable(tr("Worst queries. Press Enter to view the case"))
        self.findings = ResultTable(tr("Worst findings"))
        self._worst_told = ElidedLabel(role="second")
        self.notes = WrappedLabel()
        self.notes.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.notes.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.notes.setContentsMargins(12, 8, 12, 8)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.scores, tr("Scores"))
        self.tabs.addTab(self._stacked(self.test, self._ranks_told, self.ranks), tr("Ranks"))
        self._differences_told = ElidedLabel(role="second")
        self.tabs.addTab(
            self._stacked(self.score, self._differences_told, self.differences), tr("Differences")
        )
        worst = self._worst = QSplitter(Qt.Orientation.Horizontal)
        worst.setChildrenCollapsible(False)
        worst.addWidget(self.queries)
        self.preview = QueryPreview()
        aside = QWidget()
        column = vbox(aside, spacing=8)
        column.addWidget(self.findings, 1)
        column.addWidget(self.preview)
        worst.addWidget(aside)
        worst.setStretchFactor(0, 2)
        worst.setStretchFactor(1, 1)
        self.tabs.addTab(self._stacked(self.row, self._worst_told, worst), tr("Worst queries"))
        self.tabs.addTab(self.notes, tr("Notes"))

    def _stacked(self, choice: QComboBox, told: QWidget, content: QWidget) -> QWidget:
        page = QWidget()
        column = vbox(page, spacing=8, margins=(12, 8, 12, 8))
        choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        choice.setMinimumContentsLength(24)
        choice.setMaximumWidth(theme().px(420))
        column.addWidget(choice)
        column.addWidget(told)
        column.addWidget(content, 1)
        return page

    def _fit(self) -> None:
        self._drawn = ()
        self._redraw.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._redraw.start()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._redraw.start()
        return super().event(event)

    def show_document(self, document: Mapping[str, Any]) -> None:
        """The table so far, or all that the finished cells say."""
        self._document = document
        names = list(dict.fromkeys(row["protocol"] for row in document["results"]))
        _refill(self.protocol, {name: protocol_title(name) for name in names})
        self.protocol.setVisible(len(names) > 1)
        fresh = self.row.count() == 0
        _refill(
            self.test,
            {
                f"{one['score']} {one['protocol']}": f"{score_title(one['score'])}, "
                f"{protocol_title(one['protocol'])}"
                for one in document.get("over_tables", ())
            },
        )
        _refill(
            self.row,
            {
                f"{one['cases']} {one['learner']} {one['protocol']}": f"{cases_title(one['cases'])}: "
                f"{learner_title(one['learner'])}, {protocol_title(one['protocol'])}"
                for one in document.get("worst_queries", ())
            },
        )
        if fresh:
            self._begin_with_images()
        self._drawn = ()
        self._show_protocol()
        notes = [tr_name(note) for note in document["notes"]]
        for cases in document["cases"]:
            notes += [
                f"{cases_title(cases['name'])}: {tr_name(text)}"
                for text in (*cases["notes"], cases["problem"])
                if text
            ]
        notes += [
            f"{cases_title(r['cases'])}, {learner_title(r['learner'])}: {tr_name(r['failed'])}"
            for r in document["results"]
            if r["failed"]
        ]
        self.notes.setText("\n\n".join(notes) or tr("Nothing failed and nothing was omitted."))
        self.tabs.setTabText(4, tr("Notes ({n})", n=len(notes)) if notes else tr("Notes"))

    def _begin_with_images(self) -> None:
        """Worst queries of the open library before those of tables, which have no images."""
        there = str(self._context.state.path or "")
        blocked = self.row.blockSignals(True)
        for place in range(self.row.count()):
            self.row.setCurrentIndex(place)
            if there and self._library() == there:
                break
        else:
            self.row.setCurrentIndex(0 if self.row.count() else -1)
        self.row.blockSignals(blocked)

    def _show_protocol(self) -> None:
        scores = compared_scores(self._document, self._protocol)
        _refill(self.score, {name: score_title(name) for name in scores})
        self._show_tab()

    @property
    def _protocol(self) -> str:
        """As the document calls what is chosen."""
        return self.protocol.currentData() or ""

    def _show_tab(self) -> None:
        """Fill what is seen only: every table of a large experiment at once would stall the window."""
        protocol, tab = self._protocol, self.tabs.currentIndex()
        if not self._document or not protocol:
            return
        if tab == 0:
            show_scores(self.scores, self._document, protocol)
        elif tab == 1:
            self._draw_ranks()
        elif tab == 2:
            show_differences(self.differences, self._document, protocol, self.score.currentData() or "")
            some = self.score.count() > 0
            self._differences_told.setText(
                tr("Difference with its 95 % interval, and p values of paired tests over the same splits.")
                if some
                else tr("Shown when the experiment ends, if two learners have two repeats.")
            )
            self.differences.setVisible(some)
        elif tab == 3:
            self._show_worst()

    def _show_worst(self) -> None:
        show_worst(self.queries, self.findings, self._document, self.row.currentIndex())
        told = self._document.get("worst_queries", ())
        place = self.row.currentIndex()
        score = score_title(told[place]["score"]) if 0 <= place < len(told) else ""
        words = (
            tr("Lowest {score} first. Press Enter or double-click to view a case full size.", score=score)
            if score
            else tr("Shown when the experiment ends or is cancelled.")
        )
        self._worst_told.setText(words)
        self._worst.setVisible(bool(score))

    def _show_finding(self, row: int) -> None:
        """The worst queries of the finding in that line."""
        told = self._document.get("worst_findings", ())
        if 0 <= self.row.currentIndex() < len(told):
            line = told[self.row.currentIndex()]["findings"][row]
            show_queries(self.queries, line["queries"], told[self.row.currentIndex()]["score"])
            self._worst_told.setText(tr("Worst queries of the finding {finding}.", finding=line["finding"]))

    def _preview(self, row: int) -> None:
        """The image of a query, where its library is the open one."""
        case, item = self.queries.case(row), self.queries.item(row, 0)
        library, there = self._library(), self._context.state.path
        here = case is not None and there is not None and library == str(there)
        self.preview.show_case(case if here else None, item.text() if item is not None else "")
        if item is not None and not here:
            self._worst_told.setText(
                tr("A row of a table has no image.")
                if case is None
                else tr("Open {name} to see its images.", name=Path(library).name)
            )

    def _enter_query(self, row: int) -> None:
        case, library = self.queries.case(row), self._library()
        if case is None:
            self._worst_told.setText(tr("A row of a table has no image."))
        elif library:
            self.case_requested.emit(library, case)

    def _library(self) -> str:
        """The library whose worst queries are shown; empty for a table."""
        told, place = self._document.get("worst_queries", ()), self.row.currentIndex()
        if not 0 <= place < len(told):
            return ""
        found = next((one for one in self._document["cases"] if one["name"] == told[place]["cases"]), None)
        return str(found["source"]["path"]).rpartition(" → ")[2] if found and found["source"] else ""

    def _draw_ranks(self) -> None:
        tests = self._document.get("over_tables", ())
        place = self.test.currentIndex()
        if not 0 <= place < len(tests):
            self.ranks.clear()
            self._ranks_told.setText(
                tr("Ranks need two learners, measured on two tables or feature sets.")
                if "over_tables" in self._document
                else tr("Shown when the experiment ends or is cancelled.")
            )
            return
        test = tests[place]
        self._ranks_told.setText(
            tr(
                "Friedman's test over {tables} tables: chi-squared {statistic:.2f}, p {p:.3g}. Learners "
                "joined by a bar do not differ (Nemenyi, 0.05).",
                tables=test["tables"],
                statistic=test["statistic"],
                p=test["p_value"],
            )
        )
        room = max(360, self.tabs.width() - 24)
        look = {
            "theme": theme_name(),
            "width": room,
            "ratio": self.devicePixelRatioF(),
            "text_scale": theme().px(100) / 100,
            "family": QFontInfo(font(12)).family(),
        }
        drawn = (place, test["score"], test["protocol"], *look.values())
        if drawn != self._drawn and self.tabs.currentIndex() == 1 and self.isVisible():
            self._drawn = drawn
            run_experiment.draw(self._context, test, self._show_ranks, **look)
        names = sorted(rank_plot_data(test)[0].items(), key=lambda pair: pair[1])
        self.ranks.setAccessibleName(
            tr("Average ranks: {ranks}", ranks=", ".join(f"{n} {rank:.2f}" for n, rank in names))
        )

    def _show_ranks(self, content: bytes) -> None:
        image = QPixmap()
        image.loadFromData(QByteArray(content))
        image.setDevicePixelRatio(self.devicePixelRatioF())
        self.ranks.setPixmap(image)


def _refill(box: QComboBox, texts: Mapping[str, str]) -> None:
    """Other choices (key: text), the present one kept where it is still there, without a signal."""
    keys = list(texts)
    if keys == [box.itemData(place) for place in range(box.count())]:
        return
    before = box.currentData()
    blocked = box.blockSignals(True)
    box.clear()
    for key, text in texts.items():
        box.addItem(text, key)
    box.setCurrentIndex(keys.index(before) if before in keys else 0 if keys else -1)
    box.blockSignals(blocked)
    box.setVisible(bool(keys))
