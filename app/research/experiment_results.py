"""The results of an experiment: scores, ranks, differences, worst queries and notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QByteArray, QEvent, Qt, Signal
from PySide6.QtGui import QPixmap, QResizeEvent
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
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.plots.figure_view import screen_layout
from semblance.core.language import tr, tr_name
from semblance.core.library.location import library_location
from semblance.core.research.result_titles import (
    cases_title,
    learner_title,
    protocol_title,
    rank_plot_data,
    score_title,
)


class ExperimentResults(QWidget):
    """``case_requested(library, row)``: show the image of a case. The owner lays out ``protocol``."""

    case_requested = Signal(str, int)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._document: Mapping[str, Any] = {}
        self._drawn_ranks: tuple[Any, ...] = ()
        self._redraw = one_shot(self, self._draw_ranks, 120)
        self._make_widgets()
        vbox(self).addWidget(self.tabs)
        self.protocol.currentIndexChanged.connect(lambda _index: self._show_protocol())
        for box in (self.test, self.score, self.row):
            box.currentIndexChanged.connect(lambda _index: self._show_tab())
        self.findings.entered.connect(self._show_finding)
        self.findings.cellClicked.connect(lambda row, _column: self._show_finding(row))
        self.queries.entered.connect(self._enter_query)
        self.queries.currentCellChanged.connect(lambda row, *_rest: self._show_preview(row))
        self.tabs.currentChanged.connect(lambda _index: self._show_tab())
        theme_signals.changed.connect(self._restyle)

    def _make_widgets(self) -> None:
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
        # Otherwise the image would widen the window with every drawing.
        self.ranks.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._ranks_note = WrappedLabel(role="second")
        self.row = QComboBox()
        self.row.hide()
        self.row.setAccessibleName(tr("Learner whose worst queries are shown"))
        self.queries = ResultTable(tr("Worst queries. Press Enter to view the case"))
        self.findings = ResultTable(tr("Worst findings"))
        self._worst_note = ElidedLabel(role="second")
        self.notes = WrappedLabel()
        self.notes.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.notes.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.notes.setContentsMargins(12, 8, 12, 8)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.scores, tr("Scores"))
        self.tabs.addTab(self._page(self.test, self._ranks_note, self.ranks), tr("Ranks"))
        self._differences_note = ElidedLabel(role="second")
        self.tabs.addTab(self._page(self.score, self._differences_note, self.differences), tr("Differences"))
        worst_splitter = self._worst_splitter = QSplitter(Qt.Orientation.Horizontal)
        worst_splitter.setChildrenCollapsible(False)
        worst_splitter.addWidget(self.queries)
        self.preview = QueryPreview()
        side_column = QWidget()
        column = vbox(side_column, spacing=8)
        column.addWidget(self.findings, 1)
        column.addWidget(self.preview)
        worst_splitter.addWidget(side_column)
        worst_splitter.setStretchFactor(0, 2)
        worst_splitter.setStretchFactor(1, 1)
        self.tabs.addTab(self._page(self.row, self._worst_note, worst_splitter), tr("Worst queries"))
        self.tabs.addTab(self.notes, tr("Notes"))

    def _page(self, box: QComboBox, note: QWidget, content: QWidget) -> QWidget:
        page = QWidget()
        column = vbox(page, spacing=8, margins=(12, 8, 12, 8))
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(24)
        box.setMaximumWidth(theme().px(420))
        column.addWidget(box)
        column.addWidget(note)
        column.addWidget(content, 1)
        return page

    def _restyle(self) -> None:
        self._drawn_ranks = ()
        self._redraw.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._redraw.start()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._redraw.start()
        return super().event(event)

    def show_document(self, document: Mapping[str, Any]) -> None:
        """Show a partial or complete document."""
        self._document = document
        names = list(dict.fromkeys(row["protocol"] for row in document["results"]))
        _set_choices(self.protocol, {name: protocol_title(name) for name in names})
        self.protocol.setVisible(len(names) > 1)
        is_first = self.row.count() == 0
        _set_choices(
            self.test,
            {
                f"{entry['score']} {entry['protocol']}": f"{score_title(entry['score'])}, "
                f"{protocol_title(entry['protocol'])}"
                for entry in document.get("over_tables", ())
            },
        )
        _set_choices(
            self.row,
            {
                f"{entry['cases']} {entry['learner']} {entry['protocol']}": f"{cases_title(entry['cases'])}: "
                f"{learner_title(entry['learner'])}, {protocol_title(entry['protocol'])}"
                for entry in document.get("worst_queries", ())
            },
        )
        if is_first:
            self._select_open_library()
        self._drawn_ranks = ()
        self._show_protocol()
        notes = [tr_name(note) for note in document["notes"]]
        for cases in document["cases"]:
            notes += [
                f"{cases_title(cases['name'])}: {tr_name(text)}"
                for text in (*cases["notes"], cases["problem"])
                if text
            ]
        notes += [
            f"{cases_title(result['cases'])}, {learner_title(result['learner'])}: {tr_name(result['failed'])}"
            for result in document["results"]
            if result["failed"]
        ]
        self.notes.setText("\n\n".join(notes) or tr("Nothing failed and nothing was omitted."))
        self.tabs.setTabText(4, tr("Notes ({n})", n=len(notes)) if notes else tr("Notes"))

    def _select_open_library(self) -> None:
        """Select the worst queries of the open library first, because tables have no images."""
        open_library = str(self._context.state.path or "")
        blocked = self.row.blockSignals(True)
        for index in range(self.row.count()):
            self.row.setCurrentIndex(index)
            if open_library and self._library() == open_library:
                break
        else:
            self.row.setCurrentIndex(0 if self.row.count() else -1)
        self.row.blockSignals(blocked)

    def _show_protocol(self) -> None:
        scores = compared_scores(self._document, self._protocol)
        _set_choices(self.score, {name: score_title(name) for name in scores})
        self._show_tab()

    @property
    def _protocol(self) -> str:
        """The name of the selected protocol in the document."""
        return self.protocol.currentData() or ""

    def _show_tab(self) -> None:
        """Fill the visible tab only, because filling all tables of a large experiment takes too long."""
        protocol, tab = self._protocol, self.tabs.currentIndex()
        if not self._document or not protocol:
            return
        if tab == 0:
            show_scores(self.scores, self._document, protocol)
        elif tab == 1:
            self._draw_ranks()
        elif tab == 2:
            show_differences(self.differences, self._document, protocol, self.score.currentData() or "")
            has_scores = self.score.count() > 0
            self._differences_note.setText(
                tr(
                    "Difference, with an interval and p (t) that allow for the training cases that splits share. "
                    "p (Wilcoxon) does not."
                )
                if has_scores
                else tr("Shown when the experiment ends, if two learners have two repeats.")
            )
            self.differences.setVisible(has_scores)
        elif tab == 3:
            self._show_worst_queries()

    def _show_worst_queries(self) -> None:
        show_worst(self.queries, self.findings, self._document, self.row.currentIndex())
        worst_queries = self._document.get("worst_queries", ())
        index = self.row.currentIndex()
        score = score_title(worst_queries[index]["score"]) if 0 <= index < len(worst_queries) else ""
        text = (
            tr("Lowest {score} first. Press Enter or double-click to view a case full size.", score=score)
            if score
            else tr("Shown when the experiment ends or is cancelled.")
        )
        self._worst_note.setText(text)
        self._worst_splitter.setVisible(bool(score))

    def _show_finding(self, row: int) -> None:
        """Show the worst queries of the finding in ``row``."""
        worst_findings = self._document.get("worst_findings", ())
        if 0 <= self.row.currentIndex() < len(worst_findings):
            finding = worst_findings[self.row.currentIndex()]["findings"][row]
            show_queries(self.queries, finding["queries"], worst_findings[self.row.currentIndex()]["score"])
            self._worst_note.setText(
                tr("Worst queries of the finding {finding}.", finding=finding["finding"])
            )

    def _show_preview(self, row: int) -> None:
        """Show the image of a query if its library is open."""
        case, item = self.queries.case(row), self.queries.item(row, 0)
        library, open_library = self._library(), self._context.state.path
        is_open = case is not None and open_library is not None and library == str(open_library)
        self.preview.show_case(case if is_open else None, item.text() if item is not None else "")
        if item is not None and not is_open:
            self._worst_note.setText(
                tr("A row of a table has no image.")
                if case is None
                else tr("Open {name} to see its images.", name=library_location(library).name)
            )

    def _enter_query(self, row: int) -> None:
        case, library = self.queries.case(row), self._library()
        if case is None:
            self._worst_note.setText(tr("A row of a table has no image."))
        elif library:
            self.case_requested.emit(library, case)

    def _library(self) -> str:
        """The path of the library whose worst queries are shown, or an empty text for a table."""
        worst_queries, index = self._document.get("worst_queries", ()), self.row.currentIndex()
        if not 0 <= index < len(worst_queries):
            return ""
        cases = next(
            (entry for entry in self._document["cases"] if entry["name"] == worst_queries[index]["cases"]),
            None,
        )
        return str(cases["source"]["path"]).rpartition(" → ")[2] if cases and cases["source"] else ""

    def _draw_ranks(self) -> None:
        tests = self._document.get("over_tables", ())
        index = self.test.currentIndex()
        if not 0 <= index < len(tests):
            self.ranks.clear()
            self._ranks_note.setText(
                tr("Ranks need two learners, measured on two tables or feature sets.")
                if "over_tables" in self._document
                else tr("Shown when the experiment ends or is cancelled.")
            )
            return
        test = tests[index]
        self._ranks_note.setText(
            tr(
                "Friedman's test over {tables} tables: chi-squared {statistic:.2f}, p {p:.3g}. Learners "
                "joined by a bar do not differ (Nemenyi, 0.05).",
                tables=test["tables"],
                statistic=test["statistic"],
                p=test["p_value"],
            )
        )
        layout = screen_layout(self, max(360, self.tabs.width() - 24))
        drawn = (index, test["score"], test["protocol"], layout)
        if drawn != self._drawn_ranks and self.tabs.currentIndex() == 1 and self.isVisible():
            self._drawn_ranks = drawn
            run_experiment.draw_ranks(self._context, test, layout, self._show_ranks)
        names = sorted(rank_plot_data(test)[0].items(), key=lambda pair: pair[1])
        self.ranks.setAccessibleName(
            tr("Average ranks: {ranks}", ranks=", ".join(f"{n} {rank:.2f}" for n, rank in names))
        )

    def _show_ranks(self, content: bytes) -> None:
        image = QPixmap()
        image.loadFromData(QByteArray(content))
        image.setDevicePixelRatio(self.devicePixelRatioF())
        self.ranks.setPixmap(image)


def _set_choices(box: QComboBox, texts: Mapping[str, str]) -> None:
    """Set the choices (key: text) of ``box`` without a signal. The current choice stays if it is still offered."""
    keys = list(texts)
    if keys == [box.itemData(index) for index in range(box.count())]:
        return
    current = box.currentData()
    blocked = box.blockSignals(True)
    box.clear()
    for key, text in texts.items():
        box.addItem(text, key)
    box.setCurrentIndex(keys.index(current) if current in keys else 0 if keys else -1)
    box.blockSignals(blocked)
    box.setVisible(bool(keys))
