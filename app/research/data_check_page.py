"""The page *Data check*: doubtful cases of the library, each with its images and what can be decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QStackedWidget,
    QTableView,
    QWidget,
)

from semblance.app.shell import edit_operations, library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, theme, theme_signals
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import HLine, hbox, vbox
from semblance.app.widgets.panel import FullPage
from semblance.app.widgets.progress_line import ProgressLine
from semblance.app.widgets.tab_order import enable_widgets, set_accessible_name
from semblance.app.widgets.tables import enter_rows, make_read_only
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.language import format_number, tr, tr_n, translate
from semblance.core.library.case_columns import CaseColumns, no_cases
from semblance.core.library.data_reviews import DataReview
from semblance.core.library.location import library_name
from semblance.core.library.natural_key import natural_key
from semblance.core.searches.query import Query
from semblance.core.workflows.library import check_data
from semblance.core.workflows.library.check_data import DataCheck
from semblance.core.workflows.library.data_issues import DataIssue, IssueKind, Severity
from semblance.core.workflows.library.edit_lesions import split_lesions

SIDEBAR_WIDTH = 360
_ALL = ""


class DataCheckPage(FullPage):
    """Starts a check when it is shown for a library that was not checked yet. ``menu_requested(case_row, where)``."""

    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Data check"))
        self._context, self._state = context, context.state
        self._result: DataCheck | None = None
        self._issues: list[DataIssue] = []
        #: Issues decided on this page, for undo.
        self._decided: list[DataIssue] = []
        self._decisions = 0
        self._is_saving = False
        self._job: Job | None = None
        self.kind = NoWheelComboBox()
        set_accessible_name(self.kind, tr("Kind of issue"))
        self.kind.currentIndexChanged.connect(lambda _index: self._show_issues())
        self.undo_button = QPushButton(tr("Undo"))
        self.undo_button.clicked.connect(self.undo)
        self.check_button = QPushButton(tr("Check again"))
        self.check_button.clicked.connect(self.check)
        for widget in (self.kind, self.undo_button, self.check_button):
            self.header.add_action(widget)
        self.table = IssueTable()
        self.table.chosen.connect(self._show_issue)
        self.table.entered.connect(self.show_cases)
        self.empty = EmptyState()
        self.progress = ProgressLine()
        self.progress.cancel_requested.connect(self.cancel)
        self.summary = WrappedLabel(role="second")
        self.grid = CaseGrid()
        self.grid.set_source(thumbnails)
        self.grid.set_most_columns(2)
        self.grid.setAccessibleName(tr("Cases of the issue"))
        self.grid.activated.connect(self._search_with)
        self.grid.menu_requested.connect(self.menu_requested)
        self._title, self._text = ElidedLabel(role="title"), WrappedLabel()
        self._note = WrappedLabel(role="small")
        self.show_button = QPushButton()
        self.show_button.clicked.connect(lambda: self._with_current(self.show_cases))
        self.keep_button = QPushButton(tr("Keep as it is"))
        self.keep_button.clicked.connect(lambda: self._with_current(self.decide))
        self.finding_buttons: list[QPushButton] = []
        self._make_layout()
        self._state.on_change(Change.LIBRARY, self, self._reset)
        self._state.on_change_while_shown(Change.CASES, self, self._follow_cases)
        theme_signals.changed.connect(self._fit)
        self._reset()

    def _make_layout(self) -> None:
        self._sidebar = QWidget()
        side = vbox(self._sidebar, spacing=8, margins=(12, 10, 12, 10))
        side.addWidget(self._title)
        side.addWidget(self._text)
        self._finding_row = vbox(spacing=6)
        side.addLayout(self._finding_row)
        row = hbox(spacing=8)
        row.addWidget(self.keep_button)
        row.addWidget(self.show_button)
        row.addStretch(1)
        side.addLayout(row)
        side.addWidget(self._note)
        side.addWidget(self.grid, 1)
        left = vbox()
        facts = vbox(spacing=4, margins=(12, 8, 12, 8))
        facts.addWidget(self.summary)
        facts.addWidget(self.progress)
        left.addLayout(facts)
        self._none = EmptyState(
            tr("No doubtful cases"), tr("Nothing is left to decide in this list."), icon="check"
        )
        self._tables = QStackedWidget()
        self._tables.addWidget(self.table)
        self._tables.addWidget(self._none)
        left.addWidget(self._tables, 1)
        self._line = HLine(vertical=True)
        self._list = QWidget()
        body: QHBoxLayout = hbox(self._list)
        body.addLayout(left, 1)
        body.addWidget(self._line)
        body.addWidget(self._sidebar)
        self._waiting = QWidget()
        waiting = vbox(self._waiting, margins=(16, 8, 16, 8))
        self._waiting_progress = ProgressLine()
        self._waiting_progress.cancel_requested.connect(self.cancel)
        waiting.addWidget(self._waiting_progress)
        waiting.addWidget(self.empty, 1)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._list)
        self._pages.addWidget(self._waiting)
        page = vbox(self)
        page.addWidget(self.header)
        page.addWidget(self._pages, 1)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._result is None and self._job is None:
            self.check()

    def focus_list(self) -> None:
        """Focus the issues, or the button that goes back while there are none."""
        target = self.table if self.table.isVisible() else self.back
        target.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fit(self) -> None:
        width = min(theme().px(SIDEBAR_WIDTH), self.width() * 36 // 100)
        self._sidebar.setFixedWidth(max(200, width))

    # Checking

    def _reset(self) -> None:
        """Show no issues, for another library."""
        self.cancel()
        self._result, self._issues, self._decided, self._decisions = None, [], [], 0
        self._is_saving = False
        self.closed.emit()
        self._show_message(tr("Not checked yet"), tr("The check looks at all findings and images."))

    def check(self) -> None:
        """Check all cases of the library in the background."""
        path = self._state.location
        if path is None:
            return
        title = tr("Checking the data of {name}", name=library_name(path))
        job = self._context.jobs.run(title, check_data.check_data, path, channel="data check")
        self._job = job
        job.changed.connect(self._show_progress)
        job.done.connect(self._show_result)
        job.failed.connect(self._fail)
        job.cancelled.connect(self._show_cancelled)
        job.ended.connect(lambda: self._end(job))
        if self._result is None:
            self.empty.show_message(tr("Checking…"), tr("You can continue to work."))
            self._pages.setCurrentWidget(self._waiting)
        self._show_progress()
        self._update_buttons()

    def cancel(self) -> None:
        """Cancel the check."""
        if self._job is not None:
            self._job.cancel()

    def _end(self, job: Job) -> None:
        if self._job is job:
            self._job = None
            self._show_progress()
            self._update_buttons()

    def _show_progress(self) -> None:
        job = self._job
        for line in (self.progress, self._waiting_progress):
            line.setVisible(job is not None)
            if job is not None:
                line.show_job(job)

    def _show_result(self, result: DataCheck) -> None:
        if not self.isVisible():
            self._context.messages.info(
                tr("The data was checked."), tr("Research > Data check… shows what was found.")
            )
        self._result, self._issues, self._decided = result, list(result.issues), []
        self._decisions = result.decisions
        chosen = self.kind.currentData() or _ALL
        self.kind.blockSignals(True)
        self.kind.clear()
        self.kind.addItem(tr("All kinds"), _ALL)
        for check, name in KINDS.items():
            count = sum(issue.check == check for issue in self._issues)
            if count:
                self.kind.addItem(f"{name} ({format_number(count, ',')})", check.value)
        self.kind.setCurrentIndex(max(0, self.kind.findData(chosen)))
        self.kind.blockSignals(False)
        self._show_issues()

    def _fail(self, error: SemblanceError) -> None:
        self._result = None
        self._update_buttons()
        self.empty.show_error(error, tr("The data could not be checked."), tr("Check again"), self.check)
        self._pages.setCurrentWidget(self._waiting)

    def _show_cancelled(self) -> None:
        if self._result is None:
            self._show_message(tr("The check was cancelled"), tr("Nothing was changed."))

    def _show_message(self, title: str, text: str) -> None:
        self.empty.show_message(title, text, tr("Check"), self.check)
        self._pages.setCurrentWidget(self._waiting)
        self._show_progress()
        self._update_buttons()

    # Showing

    def _show_issues(self, row: int = 0) -> None:
        """Show the issues of the chosen kind; ``row`` becomes current."""
        result = self._result
        if result is None:
            return
        kind = self.kind.currentData()
        shown = [issue for issue in self._issues if not kind or issue.check.value == kind]
        self.summary.setText(self._summary_text(result))
        self._pages.setCurrentWidget(self._list)
        self._tables.setCurrentWidget(self.table if shown else self._none)
        self.table.set_issues(shown, self._state.columns, row)
        self._update_buttons()
        if self.back.hasFocus():
            self.focus_list()

    def _summary_text(self, result: DataCheck) -> str:
        n = len(self._issues)
        lines = [
            tr_n("{n} issue in {cases:,} cases.", "{n} issues in {cases:,} cases.", n, cases=result.cases)
            if n
            else tr("No doubtful cases were found among {cases:,}.", cases=result.cases)
        ]
        if result.reviewed:
            lines[0] += " " + tr_n("{n} reviewed before.", "{n} reviewed before.", result.reviewed)
        if result.features:
            lines[0] += " " + tr("Neighbours by {features}.", features=result.features)
        if len(self._state.columns) != result.cases:
            lines.append(tr("The library has changed since. Check again."))
        lines += [
            tr("Not checked: {kind}. {reason}", kind=KINDS[check], reason=translate(reason))
            for check, reason in result.not_checked
        ]
        if result.unreadable:
            lines.append(
                tr_n(
                    "{n} image could not be read: {case}. {reason}",
                    "{n} images could not be read. The first: {case}. {reason}",
                    len(result.unreadable),
                    case=result.unreadable[0][0],
                    reason=translate(result.unreadable[0][1]),
                )
            )
        return "\n".join(lines)

    def _show_issue(self) -> None:
        """Show the cases of the current issue and what can be decided about it."""
        issue, columns = self.table.current(), self._state.columns
        self._sidebar.setVisible(issue is not None)
        self._line.setVisible(issue is not None)
        while self.finding_buttons:
            button = self.finding_buttons.pop()
            self._finding_row.removeWidget(button)
            button.hide()
            button.deleteLater()
        if issue is None:
            return
        self._title.setText(KINDS[issue.check])
        self._text.setText(translate(issue.text))
        places = columns.indices_of_rows(np.array(issue.rows, dtype=np.int64))
        self.grid.set_model(CaseModel(columns, places[places >= 0]), keep_scroll=False)
        for finding in issue.findings:
            button = QPushButton(tr("Set to {finding}", finding=finding).replace("&", "&&"))
            button.setToolTip(
                plain_tip(tr("Give all cases of this issue the finding {finding}", finding=finding))
            )
            button.clicked.connect(lambda _checked=False, name=finding: self._with_current(self.decide, name))
            self._finding_row.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
            self.finding_buttons.append(button)
        if issue.check == IssueKind.LABEL_CONFLICT:
            button = QPushButton(tr("Not the same lesion"))
            button.setToolTip(plain_tip(tr("Take each of these cases out of its same-lesion group")))
            button.clicked.connect(lambda _checked=False: self._with_current(self.split))
            self._finding_row.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
            self.finding_buttons.append(button)
        several = len(issue.rows) > 1
        self.show_button.setText(tr("Show in the library") if several else tr("Search with this case"))
        self._update_buttons()

    def _follow_cases(self) -> None:
        """Show other findings of the cases, and whether the library has other cases."""
        if self._result is not None:
            self._show_issues(self.table.currentIndex().row())

    def _update_buttons(self) -> None:
        writable = self._state.can_edit
        idle = self._job is None and not self._is_saving
        self.check_button.setVisible(self._result is not None)
        self.kind.setVisible(self._result is not None and bool(self._result.issues))
        self.undo_button.setVisible(self._decisions > 0)
        enable_widgets(
            {
                self.check_button: self._job is None,
                self.undo_button: writable and idle,
                self.keep_button: writable and idle,
                **dict.fromkeys(self.finding_buttons, writable and idle),
            }
        )
        reason = self._state.why_not_edited
        self.keep_button.setToolTip(reason or tr("Mark the issue as reviewed. It is not listed again."))
        self.undo_button.setToolTip(reason or tr("Undo the last decision"))
        self._note.setText(reason or tr("Decisions can be undone. The files of the source are not changed."))

    # Deciding

    def _with_current(self, do: object, *values: object) -> None:
        issue = self.table.current()
        if issue is not None and callable(do):
            do(issue, *values)

    def show_cases(self, issue: DataIssue) -> None:
        """Search with the case of ``issue``, or show its cases in the library if there are several."""
        if len(issue.rows) == 1:
            self._search_with(issue.rows[0])
        else:
            self._state.set_selected_rows(np.array(issue.rows, dtype=np.int64))
            self.closed.emit()

    def _search_with(self, case_row: int) -> None:
        place = self._state.columns.index_of_row(case_row)
        if place >= 0:
            search_operations.submit_query(self._context, Query(case=self._state.columns.ids[place]))
            self.closed.emit()

    def decide(self, issue: DataIssue, finding: str | None = None) -> None:
        """Give all cases of ``issue`` the ``finding``, or keep them as they are, and list it no more."""
        path = self._state.location
        if path is None or self._is_saving:
            return
        row = self.table.currentIndex().row()

        def show(_review: DataReview) -> None:
            if finding is not None:
                self._read_findings_again()
            self._decided.append(issue)
            self._decisions += 1
            self._issues = [other for other in self._issues if other is not issue]
            self._show_issues(row)

        job = self._context.jobs.run(
            tr("Saving the decision"), check_data.record_decision, path, issue, finding, quiet=True
        )
        self._save(self._context.follow(job, show, library=path))

    def split(self, issue: DataIssue) -> None:
        """Take the cases of ``issue`` out of their same-lesion group, and list it no more."""
        row = self.table.currentIndex().row()

        def show() -> None:
            self._issues = [other for other in self._issues if other is not issue]
            self._show_issues(row)

        job = edit_operations.edit(self._context, split_lesions, list(issue.case_ids), then=show)
        if job is not None:
            self._save(job)

    def undo(self) -> None:
        """Undo the last decision, and list its issue again."""
        path = self._state.location
        if path is None or self._is_saving:
            return

        def show(review: DataReview | None) -> None:
            self._read_findings_again()
            self._decisions = max(0, self._decisions - 1) if review is not None else 0
            if review is not None and self._decided:
                self._issues.append(self._decided.pop())
            elif review is not None:
                self._context.messages.info(
                    tr("The decision of {time} was undone.", time=review.time),
                    tr("Check again to list its cases."),
                )
            self._show_issues(self.table.currentIndex().row())

        job = self._context.jobs.run(tr("Undoing the decision"), check_data.undo_decision, path, quiet=True)
        self._save(self._context.follow(job, show, library=path))

    def _read_findings_again(self) -> None:
        """Rank again too, because the similar cases may have other findings."""
        library_operations.renew(self._context, lambda: search_operations.rank(self._context))

    def _save(self, job: Job) -> None:
        """Disable deciding until ``job`` has ended."""
        self._is_saving = True
        self._update_buttons()

        def end() -> None:
            self._is_saving = False
            self._update_buttons()

        job.ended.connect(end)


KINDS = {
    IssueKind.LABEL_CONFLICT: tr("Label conflict"),
    IssueKind.CONTRADICTION: tr("Contradictory rows"),
    IssueKind.LABEL_ERROR: tr("Looks unlike its finding"),
    IssueKind.WRONG_SIDE: tr("Wrong side"),
    IssueKind.BLANK: tr("Blank image"),
    IssueKind.CUT: tr("Cut image"),
    IssueKind.TEXT: tr("Burnt-in text"),
    IssueKind.MARKS: tr("Burnt-in annotations"),
    IssueKind.OUTLIER: tr("Outlier"),
    IssueKind.FEW_PATIENTS: tr("Few patients"),
    IssueKind.TELLING_COLUMN: tr("Column determines the finding"),
}
SEVERITIES = {Severity.HIGH: tr("high"), Severity.MEDIUM: tr("medium"), Severity.LOW: tr("low")}
ROW_HEIGHT = 24
#: Width of each column but the last, px at text scale 1.
_WIDTHS = (220, 80, 200)
_Index = QModelIndex | QPersistentModelIndex
_ORDER = {check: place for place, check in enumerate(IssueKind)}


class IssueTable(QTableView):
    """``entered(issue)``: double click or Enter. ``chosen()``: another row is current."""

    entered = Signal(object)
    chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.issues = IssueModel(self)
        self.setModel(self.issues)
        make_read_only(self)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(tr("Issues"))
        self.setSortingEnabled(True)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        header.setStretchLastSection(True)
        self.sortByColumn(1, Qt.SortOrder.AscendingOrder)
        enter_rows(self, lambda row: self.entered.emit(self.issues.issue(row)))
        self.selectionModel().currentRowChanged.connect(lambda *_: self.chosen.emit())
        theme_signals.changed.connect(self._fit)
        self._fit()

    def current(self) -> DataIssue | None:
        """The issue in the current row."""
        row = self.currentIndex().row()
        return self.issues.issue(row) if 0 <= row < self.issues.rowCount() else None

    def set_issues(self, issues: Sequence[DataIssue], columns: CaseColumns, row: int = 0) -> None:
        """Show ``issues``, sorted as before; the row ``row``, or the last one, becomes current."""
        self.issues.set_issues(issues, columns)
        header = self.horizontalHeader()
        self.issues.sort(header.sortIndicatorSection(), header.sortIndicatorOrder())
        if issues:
            self.selectRow(min(max(0, row), len(issues) - 1))
        self.chosen.emit()

    def _fit(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme().px(ROW_HEIGHT))
        for column, width in enumerate(_WIDTHS):
            self.setColumnWidth(column, theme().px(width))


class IssueModel(QAbstractTableModel):
    """A row for every issue: kind, severity, cases, and what was found."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._issues: list[DataIssue] = []
        self._columns: CaseColumns = no_cases()
        self._titles = (tr("kind"), tr("severity"), tr("case"), tr("what was found"))

    def set_issues(self, issues: Sequence[DataIssue], columns: CaseColumns) -> None:
        self.beginResetModel()
        self._issues, self._columns = list(issues), columns
        self.endResetModel()

    def issue(self, row: int) -> DataIssue:
        return self._issues[row]

    def texts(self, row: int) -> tuple[str, str, str, str]:
        """The texts of a row."""
        issue = self._issues[row]
        return KINDS[issue.check], SEVERITIES[issue.severity], self._cases(issue), translate(issue.text)

    def _cases(self, issue: DataIssue) -> str:
        place = self._columns.index_of_row(issue.rows[0])
        first = self._columns.name(place) if place >= 0 else issue.case_ids[0]
        others = len(issue.rows) - 1
        if not others:
            return first
        return tr_n("{case} and {n} other", "{case} and {n} others", others, case=first)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._issues)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._titles)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        return None

    def data(self, index: _Index, role: int = 0) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.texts(index.row())[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            issue = self._issues[index.row()]
            return plain_tip("\n".join(issue.case_ids[:20]) if index.column() == 2 else translate(issue.text))
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Ties are in the order of severity, kind and case, whatever the direction."""

        def usual(issue: DataIssue) -> tuple[Any, ...]:
            return -issue.severity, _ORDER[issue.check], natural_key(issue.case_ids[0])

        keys = (
            lambda issue: _ORDER[issue.check],
            lambda issue: -issue.severity,
            lambda issue: natural_key(issue.case_ids[0]),
            lambda issue: translate(issue.text).casefold(),
        )
        self.layoutAboutToBeChanged.emit()
        self._issues.sort(key=usual)
        self._issues.sort(key=keys[max(0, column)], reverse=order == Qt.SortOrder.DescendingOrder)
        self.layoutChanged.emit()
