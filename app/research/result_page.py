"""What the pages of research share: what they are about, their jobs and tables with numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QPushButton,
    QSplitter,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, theme, theme_signals
from semblance.app.widgets.badge import KINDS, badge_size, paint_badge
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.message_lines import ErrorLine
from semblance.app.widgets.panel import FullPage
from semblance.app.widgets.progress_line import ProgressLine
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.tables import enter_rows, make_read_only
from semblance.core.errors import SemblanceError
from semblance.core.language import localise_number, tr

ROW_HEIGHT = 24
_BADGE = Qt.ItemDataRole.UserRole
_CASE = Qt.ItemDataRole.UserRole + 1
#: Whether patients are known -> kind of badge.
BADGES = {"known": "held-out", "unknown": "unknown"}


class ResultPage(FullPage):
    """A page with a form, one job at a time and tables of its results. It can be left while the job runs.

    A subclass declares the title, what the page is about (or nothing), its help page and the channel of its jobs; it
    adds its widgets to ``content`` and ends with :meth:`complete`. ``case_requested(case_row)``: show the image of a
    case.
    """

    case_requested = Signal(int)

    title: ClassVar[str]
    introduction: ClassVar[str] = ""
    help_page: ClassVar[str]
    channel: ClassVar[str]

    def __init__(self, context: Context) -> None:
        super().__init__(self.title)
        self._context = context
        self._job: Job | None = None
        #: What had the focus when the job began, often the button that began it.
        self._focus_before: QWidget | None = None
        column = vbox(self)
        column.addWidget(self.header)
        inner = QWidget()
        column.addWidget(inner, 1)
        self.content = vbox(inner, spacing=12, margins=(16, 12, 16, 12))
        if self.introduction:
            self.content.addWidget(WrappedLabel(self.introduction))
        self.error_line = ErrorLine()
        self.progress = ProgressLine()
        self.progress.cancel_requested.connect(self.cancel)
        self.progress.hide()

    def complete(self, *buttons: QPushButton) -> None:
        """Add the error, the progress and a row of ``buttons``; then show what the open library has, and whenever
        another one is opened."""
        self.content.addWidget(self.error_line)
        self.content.addWidget(self.progress)
        if buttons:
            row = hbox(spacing=8)
            for button in buttons:
                row.addWidget(button)
            row.addStretch(1)
            self.content.addLayout(row)
        self._context.state.on_change_while_shown(Change.LIBRARY, self, self.load)
        self.load()

    def load(self) -> None:
        """Show what the open library has. Called when the page is made or shown, and when another
        library is opened."""
        raise NotImplementedError

    def show_cases_of(self, table: ResultTable) -> None:
        """Let a double click and Enter on a row of ``table`` show the image of its case."""

        def show(row: int) -> None:
            if (case := table.case(row)) is not None:
                self.case_requested.emit(case)

        table.entered.connect(show)

    def update_buttons(self) -> None:
        """Enable what can be done now. Called when a job begins and when it ends."""

    @property
    def running(self) -> bool:
        """Whether a job with progress is under way."""
        return self._job is not None

    def read(
        self, title: str, then: Callable[[Any], object], workflow: Callable[..., Any], *values: object
    ) -> None:
        """Run a quick ``workflow`` on the open library without showing its progress; ``then`` is called with its
        result, and with ``None`` without a library."""
        path = self._context.state.location
        if path is None:
            then(None)
            return
        job = self._context.jobs.run(
            title, workflow, path, *values, pool=WorkerPool.READ, channel=self.channel, quiet=True
        )
        self.error_line.set_error(None)
        job.done.connect(then)
        job.failed.connect(self.show_error)

    def run(
        self,
        title: str,
        then: Callable[[Any], object],
        workflow: Callable[..., Any],
        *values: object,
        pool: WorkerPool = WorkerPool.BACKGROUND,
        **options: Any,
    ) -> Job | None:
        """Run ``workflow`` on the open library with its progress and Cancel; ``then`` is called with its result.
        ``None`` without a library."""
        path = self._context.state.location
        if path is None:
            return None
        return self.start(title, then, workflow, path, *values, pool=pool, **options)

    def start(
        self,
        title: str,
        then: Callable[[Any], object],
        workflow: Callable[..., Any],
        *values: object,
        pool: WorkerPool = WorkerPool.BACKGROUND,
        **options: Any,
    ) -> Job:
        """Run ``workflow`` as :meth:`run` does, but on ``values`` alone."""
        self.error_line.set_error(None)
        job = self._context.jobs.run(title, workflow, *values, pool=pool, channel=self.channel, **options)
        self._job, self._focus_before = job, self.focusWidget()
        job.changed.connect(lambda: self.progress.show_job(job))
        job.done.connect(then)
        job.failed.connect(self.show_error)
        job.ended.connect(lambda: self._end(job))
        self.progress.show_job(job)
        self.progress.show()
        self.update_buttons()
        if self._focus_before is not None and not self._focus_before.isEnabled():
            # The keyboard ends what it began.
            self.progress.setFocus()
        return job

    def cancel(self) -> None:
        """Cancel what runs."""
        if self._job is not None:
            self._job.cancel()

    def show_error(self, error: SemblanceError) -> None:
        """Show why a job failed."""
        self.error_line.set_error(error)

    def _end(self, job: Job) -> None:
        if self._job is job:
            self._job = None
            self.update_buttons()
            focused, before = self.focusWidget(), self._focus_before
            if focused is not None and self.progress.isAncestorOf(focused) and before is not None:
                before.setFocus()
            self.progress.hide()


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
        enter_rows(self, self.entered.emit)
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


def side_by_side(*parts: tuple[str, QWidget]) -> QSplitter:
    """Widgets below their titles, side by side."""
    splitter = QSplitter()
    for title, widget in parts:
        part = QWidget()
        column = vbox(part, spacing=8)
        column.addWidget(SectionHeader(title))
        column.addWidget(widget, 1)
        splitter.addWidget(part)
    splitter.setChildrenCollapsible(False)
    return splitter


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


def difference_text(difference: float, low: float, high: float) -> str:
    """``+0.052 (+0.011 to +0.093)``."""
    text = tr("{difference:+.3f} ({low:+.3f} to {high:+.3f})", difference=difference, low=low, high=high)
    return text.replace("-", "−")


def p_value_text(p: float | None) -> str:
    """``0.031``, ``<0.001``, or a dash."""
    return "–" if p is None else localise_number("<0.001" if p < 0.001 else f"{p:.3f}")
