"""The buttons + and - for one case, for the pages that show it large."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.panel import header_button
from semblance.core.language import tr

#: Mark -> its command.
_COMMANDS = {1: "judge_alike", -1: "judge_not_alike"}


class FeedbackButtons(QWidget):
    """``judged(case_row, 1 or -1)``: the case was marked. The same mark again removes it."""

    judged = Signal(int, int)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._state, self._actions = context.state, context.actions
        self._case: str | None = None
        self._tips = {1: tr("More like this"), -1: tr("Less like this")}
        self._buttons = {
            1: header_button("plus", self._tips[1]),
            -1: header_button("minus", self._tips[-1]),
        }
        row = hbox(self, spacing=2)
        for mark, button in self._buttons.items():
            button.setCheckable(True)
            button.clicked.connect(partial(self.judge, mark))
            row.addWidget(button)
            self._actions[_COMMANDS[mark]].changed.connect(self._refresh)
        changes = Change.RANKING | Change.REFUSAL | Change.QUERY | Change.SERVER
        self._state.on_change(changes, self, self._refresh)
        self._refresh()

    def show_case(self, case: str | None) -> None:
        """The case that the buttons mark; ``None``: none."""
        self._case = case
        self._refresh()

    def judge(self, mark: int, _checked: bool = False) -> None:
        """Mark the case as more (1) or less (-1) like the query."""
        row = self._row
        # Until it is saved the buttons stay as the ledger has it.
        self._refresh()
        if row >= 0:
            self.judged.emit(row, mark)

    def handle_key(self, event: QKeyEvent) -> bool:
        """Whether ``event`` is a key that marks the case, U or D if the user chose no other."""
        for mark, command in _COMMANDS.items():
            if self._actions.has_key(command, event):
                self.judge(mark)
                return True
        return False

    @property
    def _row(self) -> int:
        """The catalogue row of the case if it can be marked, else -1."""
        query, columns = self._state.query, self._state.columns
        if self._case is None or not self._state.can_judge or query is None or query.case == self._case:
            return -1
        index = columns.index_of_id(self._case)
        return int(columns.case_row[index]) if index >= 0 else -1

    def _refresh(self) -> None:
        marks, can_mark = self._state.marks, self._row >= 0
        self._buttons[1].setChecked(self._case in marks.liked)
        self._buttons[-1].setChecked(self._case in marks.disliked)
        for mark, button in self._buttons.items():
            button.setEnabled(can_mark)
            tip = self._actions.text_with_key(self._tips[mark], _COMMANDS[mark])
            button.setToolTip(self._state.why_not_written or tip)
