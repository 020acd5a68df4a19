"""Pages that take the whole window for a while, and everything back where it was afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.operations import refining
from app.panels.query.source import QuerySource

if TYPE_CHECKING:
    from app.windows.main import MainWindow


class FullPages:
    """Compare, two metrics, ask me next, and the large picture, of one window."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._sizes: dict[str, QSize] = {}
        self._from_two = False
        self._came_from: QWidget | None = None

    @property
    def open(self) -> bool:
        """Whether one of them is shown."""
        window = self._window
        pages = (window.compare, window.large, window.two_metrics, window.ask_next)
        return window.pages.currentWidget() in pages

    def two_metrics(self) -> None:
        """The query under two metrics."""
        window = self._window
        if window.state.library is not None:
            self._enter(window.two_metrics)
            self._from_two = False
            window.two_metrics.columns.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def asking(self) -> bool:
        """Whether questions are asked in full size."""
        return self._window.pages.currentWidget() is self._window.ask_next

    def ask_next(self) -> None:
        """Questions in full size, one after another."""
        window = self._window
        if window.state.ranking is not None:
            self._enter(window.ask_next)
            self._from_two = False
            window.ask_next.setFocus(Qt.FocusReason.OtherFocusReason)

    def undo_judgement(self) -> None:
        """Take the last judgement back; while questions are asked, ask that one again."""
        window = self._window
        if self.asking and window.ask_next.questions.can_undo:
            window.ask_next.questions.undo()
        else:
            refining.undo(window.context)

    def compare(self, case_row: int) -> None:
        """The query beside a ranked case."""
        window = self._window
        ranking = window.state.ranking
        if ranking is None or window.state.columns.index_of_row(case_row) < 0:
            return
        if any(case.row == case_row for case in ranking.ranked):
            self._enter(window.compare)
            window.compare.compare(case_row)
        else:
            # Another metric ranks it so near: it stands in no strip to go through.
            self.look_at_case(case_row)

    def look_at_case(self, case_row: int) -> None:
        """A case of the library, large."""
        state = self._window.state
        index = state.columns.index_of_row(case_row)
        if index >= 0:
            self._look_at(QuerySource(state.path, state.columns.ids[index], None))

    def look_at_query(self) -> None:
        """The query's picture, large."""
        state = self._window.state
        if state.query is not None:
            self._look_at(QuerySource(state.path, state.query.case, state.query.image))

    def leave(self) -> None:
        """Back to the ranking, or to the two metrics a case was opened from."""
        if not self.open:
            return
        window = self._window
        window.large.leave()
        if self._from_two and window.state.library is not None:
            self.two_metrics()
            return
        self._share_memory(window.ranking)
        window.pages.setCurrentWidget(window.ranking)
        for dock in window.docks.values():
            dock.setVisible(window.state.library is not None and dock.wanted)
        # Docks can be sized only once they are shown.
        QTimer.singleShot(0, window, self._restore_sizes)
        back = self._came_from
        if back is None or not isValid(back) or not back.isVisible() or not back.isEnabled():
            back = window.ranking.grid
        back.setFocus(Qt.FocusReason.OtherFocusReason)

    def _look_at(self, source: QuerySource) -> None:
        large = self._window.large
        self._enter(large)
        if large.source != source:
            large.show_source(source)

    def _enter(self, page: QWidget) -> None:
        window = self._window
        self._from_two = window.pages.currentWidget() is window.two_metrics or (self.open and self._from_two)
        if not self.open:
            window.arrangement.keep()
            self._came_from = window.focusWidget()
            self._sizes = {name: dock.size() for name, dock in window.docks.items() if dock.isVisible()}
        elif page is not window.large:
            window.large.leave()
        for dock in window.docks.values():
            dock.setVisible(False)
        self._share_memory(page)
        window.pages.setCurrentWidget(page)

    def _share_memory(self, page: QWidget) -> None:
        """Slices are kept for what is on ``page`` only."""
        window = self._window
        shown = ((window.ranking, [window.query.pane]), (window.compare, window.compare.panes))
        for owner, panes in (*shown, (window.ask_next, window.ask_next.panes)):
            for pane in panes:
                pane.slices.wake() if page is owner else pane.slices.rest()

    def _restore_sizes(self) -> None:
        docks = [self._window.docks[name] for name in self._sizes]
        sizes = list(self._sizes.values())
        self._window.resizeDocks(docks, [size.width() for size in sizes], Qt.Orientation.Horizontal)
        self._window.resizeDocks(docks, [size.height() for size in sizes], Qt.Orientation.Vertical)
