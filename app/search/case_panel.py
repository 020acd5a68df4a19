"""The panels on one similar case: its file header, and the notes on it for the report."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QPlainTextEdit, QStackedWidget, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.state import Change, WindowState
from semblance.app.shell.theme import plain_tip
from semblance.app.viewer.header_view import HeaderView
from semblance.app.widgets.dialog import dialog_button
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.finding_chips import FindingChip
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel import Panel
from semblance.core.language import tr, visible_lines
from semblance.core.library.annotations import CaseNote
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.workflows.imaging import case_annotations

#: A longer note is cut where it is shown below the box, and whole in the tooltip.
_LONGEST_NOTE = 240


class _RankedCasePanel(Panel):
    """A panel on the current ranked case (:meth:`follow`), with its rank, name and finding at the top."""

    def __init__(self, context: Context, name: str, empty_text: str) -> None:
        super().__init__(name)
        self._context, self._state, self._empty_text = context, context.state, empty_text
        #: The catalogue row of the case; below zero the first of the ranking.
        self._case_row = -1
        self._title = ElidedLabel(role="title")
        self._chip = FindingChip(-1, "?")
        self._empty = EmptyState()
        self._body = QWidget()
        self._column = vbox(self._body, spacing=8, margins=(12, 8, 12, 8))
        title_row = hbox(spacing=8)
        title_row.addWidget(self._title, 1)
        title_row.addWidget(self._chip)
        self._column.addLayout(title_row)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self._body)
        vbox(self).addWidget(self._pages)
        self._state.on_change(
            Change.RANKING | Change.CASES | Change.QUERY | Change.LIBRARY, self, self._refresh
        )

    def follow(self, case_row: int) -> None:
        """Show this case, or the first one if it is not ranked."""
        if case_row != self._case_row:
            self._case_row = case_row
            self._refresh()

    @property
    def case(self) -> RankedCase | None:
        """The ranked case."""
        ranking = self._state.ranking
        if ranking is None or not ranking.ranked:
            return None
        return next((case for case in ranking.ranked if case.row == self._case_row), ranking.ranked[0])

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _refresh(self) -> None:
        case, columns = self.case, self._state.columns
        index = -1 if case is None else columns.index_of_row(case.row)
        if case is None or index < 0:
            self._empty.show_message(tr("Search with a case"), self._empty_text)
            self._pages.setCurrentWidget(self._empty)
            return
        finding = columns.finding_name(index)
        self._title.setText(tr("Rank {rank}", rank=case.rank) + "  " + columns.name(index))
        letter = columns.letters.get(finding or "", "?")
        self._chip.set_finding(int(columns.finding[index]), letter, finding or tr("finding not given"))
        self._pages.setCurrentWidget(self._body)
        if self.isVisible():
            self._show_case(case)

    def _show_case(self, case: RankedCase) -> None:
        raise NotImplementedError


class CasePanel(_RankedCasePanel):
    """The header of the file of the current ranked case."""

    def __init__(self, context: Context) -> None:
        super().__init__(
            context, tr("Case"), tr("This panel shows the file header of the current similar case.")
        )
        self.header = HeaderView(context, "case header", narrow=True)
        #: The library and the case whose header is shown.
        self._shown: tuple[object, int] | None = None
        self._column.addWidget(self.header, 1)
        self._refresh()

    def _show_case(self, case: RankedCase) -> None:
        shown = (self._state.location, case.row)
        if shown != self._shown:
            self._shown = shown
            self.header.read(self._state.location, case.row, None)


class NotesPanel(_RankedCasePanel):
    """What the user notes on the current ranked case, and whether the report shows it on its first page."""

    def __init__(self, context: Context) -> None:
        super().__init__(
            context, tr("Notes"), tr("Notes on a similar case are printed on the first page of the report.")
        )
        self.in_report = QCheckBox(tr("Show this case in the report"))
        self.notes = CaseNotes(context.state, self.in_report)
        self.kept = KeptNote(context, self.notes, "case note")
        row = hbox(spacing=8)
        row.addWidget(self.in_report, 1)
        row.addWidget(self.kept.button)
        self._column.addWidget(self.notes, 1)
        self._column.addLayout(row)
        self._column.addWidget(self.kept)
        self._refresh()

    def _show_case(self, case: RankedCase) -> None:
        self.notes.show_case(case.case_id)
        self.kept.show_case(case.case_id)


class KeptNote(WrappedLabel):
    """What is kept with a case, in whatever search it is found, and the ``button`` that keeps what is in ``notes``.

    ``channel``: of the jobs that read it.
    """

    def __init__(self, context: Context, notes: CaseNotes, channel: str) -> None:
        super().__init__(role="second")
        self._context, self._state, self._notes, self._channel = context, context.state, notes, channel
        #: The library and the case.
        self._shown: tuple[object, str] | None = None
        self.button = dialog_button(
            tr("Keep with the case"),
            self.keep,
            tr(
                "The note belongs to the case then. Everybody who opens the library reads it, and searching finds it."
            ),
        )
        self.hide()
        self._state.on_change(Change.REPORT, self, self._refresh)

    def show_case(self, case: str | None) -> None:
        """Show the note that is kept with the case with this id."""
        shown = None if case is None else (self._state.location, case)
        self.button.setEnabled(case is not None and self._state.can_write)
        if shown != self._shown:
            self._shown = shown
            self._refresh()
            if case is not None:
                self._run(case, case_annotations.read_note, channel=self._channel)

    def keep(self) -> None:
        """Keep the text of the box with the case; an empty one removes the note."""
        if self._shown is not None:
            self._run(self._shown[1], case_annotations.keep_note, self._notes.toPlainText().strip())

    def _run(
        self, case: str, work: Callable[..., CaseNote | None], *values: str, channel: str | None = None
    ) -> None:
        location = self._state.location

        def tell(note: CaseNote | None) -> None:
            self._state.set_kept_note(case, "" if note is None else note.text)

        job = self._context.jobs.run(tr("Notes"), work, location, case, *values, channel=channel, quiet=True)
        self._context.follow(job, tell, library=location)

    def _refresh(self) -> None:
        text = "" if self._shown is None else self._state.kept_notes.get(self._shown[1], "")
        short = text if len(text) <= _LONGEST_NOTE else f"{text[:_LONGEST_NOTE]}…"
        self.setVisible(bool(text))
        self.setText(tr("Kept with the case: {note}", note=visible_lines(short)) if text else "")
        self.setToolTip(plain_tip(visible_lines(text)) if short != text else "")


class CaseNotes(QPlainTextEdit):
    """The notes on one case. ``in_report``: the checkable button that chooses the case for the report."""

    def __init__(self, state: WindowState, in_report: QAbstractButton) -> None:
        super().__init__()
        self._state, self._in_report = state, in_report
        self._case: str | None = None
        self.setAccessibleName(tr("Notes on this case for the report"))
        self.setPlaceholderText(tr("printed on the first page of the report"))
        self.setTabChangesFocus(True)
        self.textChanged.connect(self._keep)
        in_report.toggled.connect(self._choose)
        state.on_change(Change.REPORT, self, self._refresh)

    def show_case(self, case: str | None) -> None:
        """Show what was noted on the case with this id."""
        self._case = case
        self._refresh()

    def _refresh(self) -> None:
        case = self._case
        self._in_report.setEnabled(case is not None)
        self._in_report.setChecked(case is not None and self._state.is_in_report(case))
        self.setReadOnly(case is None)
        note = "" if case is None else self._state.note(case)
        # Spaces at the end may be followed by another word.
        if self.toPlainText().strip() != note:
            with QSignalBlocker(self):
                self.setPlainText(note)

    def _keep(self) -> None:
        if self._case is not None:
            self._state.set_note(self._case, self.toPlainText().strip())

    def _choose(self, on: bool) -> None:
        if self._case is not None and on != self._state.is_in_report(self._case):
            self._state.set_in_report(self._case, on)
