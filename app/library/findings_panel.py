"""The findings of the open library: add, rename, merge, recolour, order and delete them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QIcon, QKeyEvent, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
)

from semblance.app.shell import edit_operations
from semblance.app.shell.actions import available
from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, theme, theme_signals
from semblance.app.widgets.dialog import dialog_button
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import WrappingRow, vbox
from semblance.app.widgets.menus import Menu, open_below
from semblance.app.widgets.panel import Panel
from semblance.core.language import format_number, tr, visible
from semblance.core.library.findings import PALETTE
from semblance.core.workflows.library import edit_findings

_NAME, _CASES = range(2)
_COLOUR_NAMES = {
    "vermillion": tr("vermillion"),
    "sky blue": tr("sky blue"),
    "bluish green": tr("bluish green"),
    "orange": tr("orange"),
    "reddish purple": tr("reddish purple"),
    "blue": tr("blue"),
    "yellow": tr("yellow"),
}


class FindingsPanel(Panel):
    """A table of the findings in their order, with buttons. Follows the open library."""

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Findings"))
        self._context = context
        self.table = _FindingTable(self._rename, self._delete)
        self.table.itemSelectionChanged.connect(self._update_buttons)
        self.rename_button = dialog_button(
            tr("Rename"), self.table.edit_current, tr("Rename the finding (F2)")
        )
        self.merge_button = dialog_button(tr("Merge into…"), self._show_merge_menu)
        self.colour_button = dialog_button(
            tr("Colour…"), self._show_colours, tr("Choose the colour of the finding")
        )
        self.up_button = dialog_button(tr("Move up"), partial(self._move, -1))
        self.down_button = dialog_button(tr("Move down"), partial(self._move, 1))
        self.delete_button = dialog_button(tr("Delete"), self._delete)
        self.new_name = QLineEdit()
        self.new_name.setPlaceholderText(tr("New finding"))
        self.new_name.setAccessibleName(tr("Name of the new finding"))
        self.new_name.textChanged.connect(self._update_buttons)
        self.new_name.returnPressed.connect(self._add)
        self.add_button = dialog_button(tr("Add"), self._add, tr("Add the finding"))
        self.undo_button = dialog_button(tr("Undo"), partial(edit_operations.undo, context))
        self._note = WrappedLabel(role="second")
        buttons = WrappingRow(
            self.rename_button,
            self.merge_button,
            self.colour_button,
            self.up_button,
            self.down_button,
            self.delete_button,
            self.undo_button,
            self.new_name,
            self.add_button,
        )
        layout = vbox(self, spacing=8, margins=(12, 8, 12, 8))
        layout.addLayout(buttons)
        layout.addWidget(self.table, 1)
        layout.addWidget(self._note)
        context.state.on_change_while_shown(Change.LIBRARY | Change.CASES, self, self.refresh)
        theme_signals.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the findings of the open library."""
        columns = self._context.state.columns
        chosen = self.selected()
        counts = columns.finding_counts
        self.table.show_findings(
            [
                (name, int(counts[code]), chip_pixmap(code, columns.letters[name], self.devicePixelRatioF()))
                for code, name in enumerate(columns.findings)
            ]
        )
        self.table.select_names(chosen)
        self._update_buttons()

    def selected(self) -> list[str]:
        """The names of the selected findings, in their order."""
        return self.table.selected_names()

    def _update_buttons(self) -> None:
        state, chosen = self._context.state, self.selected()
        names = self.table.names()
        writable, reason = state.can_edit, state.why_not_edited
        one = len(chosen) == 1 and writable
        self.table.set_editable(writable)
        for button, on in (
            (self.rename_button, one),
            (self.merge_button, bool(chosen) and len(names) > 1 and writable),
            (self.colour_button, one),
            (self.up_button, one and names[0] != chosen[0]),
            (self.down_button, one and names[-1] != chosen[0]),
            (self.delete_button, one),
            (self.add_button, bool(self.new_name.text().strip()) and writable),
            (self.undo_button, writable and "edits" in available(state)),
        ):
            button.setEnabled(on)
            button.setStatusTip(reason)
        note = edit_operations.outdated_note(self._context)
        self._note.setText(
            tr("Renaming, merging and deleting change findings of cases: {note}", note=note)
            if note
            else reason
        )
        self._note.setVisible(bool(note or reason))

    def _edit(self, workflow: Callable[..., Any], *arguments: Any, select: Sequence[str] = ()) -> None:
        then = partial(self.table.select_names, select) if select else None
        edit_operations.edit(self._context, workflow, *arguments, then=then)

    def _add(self) -> None:
        name = self.new_name.text().strip()
        if self.add_button.isEnabled() and name:
            self.new_name.clear()
            self._edit(edit_findings.add_finding, name, select=[name])

    def _rename(self, old: str, new: str) -> None:
        new = new.strip()
        if not new or new == old:
            self.refresh()
        elif new in self.table.names():
            self._edit(edit_findings.merge_findings, [old], new, select=[new])
        else:
            self._edit(edit_findings.rename_finding, old, new, select=[new])

    def _delete(self) -> None:
        chosen = self.selected()
        if self.delete_button.isEnabled() and chosen:
            self._edit(edit_findings.delete_finding, chosen[0])

    def _move(self, by: int) -> None:
        names, (name,) = self.table.names(), self.selected()
        place = names.index(name)
        names.insert(place + by, names.pop(place))
        self._edit(edit_findings.order_findings, names, select=[name])

    def _show_merge_menu(self) -> None:
        menu, chosen = Menu(self), self.selected()
        columns = self._context.state.columns
        for code, name in enumerate(columns.findings):
            if chosen != [name]:
                chip = QIcon(chip_pixmap(code, columns.letters[name], self.devicePixelRatioF()))
                merge = partial(self._edit, edit_findings.merge_findings, chosen, name, select=[name])
                menu.addAction(chip, visible(name).replace("&", "&&"), merge)
        menu.aboutToHide.connect(menu.deleteLater)
        open_below(self.merge_button, menu)

    def _show_colours(self) -> None:
        menu, (chosen,) = Menu(self), self.selected()
        for name, value in PALETTE.items():
            swatch = QPixmap(QSize(theme().px(SIDE), theme().px(SIDE)))
            swatch.fill(value)
            recolour = partial(self._edit, edit_findings.recolour_finding, chosen, name, select=[chosen])
            menu.addAction(QIcon(swatch), _COLOUR_NAMES[name], recolour)
        menu.aboutToHide.connect(menu.deleteLater)
        open_below(self.colour_button, menu)


class _FindingTable(QTableWidget):
    """Findings with their number of cases. F2 or a double click renames, Delete deletes."""

    def __init__(self, rename: Callable[[str, str], object], delete: Callable[[], object]) -> None:
        super().__init__(0, 2)
        self._rename, self._delete = rename, delete
        self.setAccessibleName(tr("Findings"))
        self.setHorizontalHeaderLabels([tr("Finding"), tr("Cases")])
        self.verticalHeader().hide()
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_CASES, QHeaderView.ResizeMode.ResizeToContents)
        self._names: list[str] = []
        self.itemChanged.connect(self._follow_edit)

    def names(self) -> list[str]:
        """The findings in their order."""
        return list(self._names)

    def selected_names(self) -> list[str]:
        """The selected findings in their order."""
        rows = sorted({index.row() for index in self.selectionModel().selectedRows()})
        return [self._names[row] for row in rows]

    def select_names(self, names: Sequence[str]) -> None:
        """Select these findings, as far as they are listed."""
        rows = [row for row, name in enumerate(self._names) if name in names]
        self.clearSelection()
        for row in rows:
            self.setCurrentCell(row, _NAME) if len(rows) == 1 else self.selectRow(row)

    def set_editable(self, on: bool) -> None:
        """Whether findings can be renamed."""
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(
            triggers.DoubleClicked | triggers.EditKeyPressed if on else triggers.NoEditTriggers
        )

    def show_findings(self, findings: Sequence[tuple[str, int, QPixmap]]) -> None:
        """Show (name, cases, chip) of each finding."""
        self.blockSignals(True)
        self._names = [name for name, _, _ in findings]
        self.setRowCount(len(findings))
        for row, (name, cases, chip) in enumerate(findings):
            item = QTableWidgetItem(_icon(chip), visible(name))
            item.setToolTip(plain_tip(name))
            count = QTableWidgetItem(format_number(cases, ","))
            count.setFlags(count.flags() & ~Qt.ItemFlag.ItemIsEditable)
            count.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self.setItem(row, _NAME, item)
            self.setItem(row, _CASES, count)
        self.blockSignals(False)

    def edit_current(self) -> None:
        """Let the name of the selected finding be typed."""
        rows = self.selectionModel().selectedRows()
        if len(rows) == 1 and (item := self.item(rows[0].row(), _NAME)) is not None:
            self.setFocus(Qt.FocusReason.OtherFocusReason)
            self.editItem(item)

    def _follow_edit(self, item: QTableWidgetItem) -> None:
        if item.column() == _NAME and item.row() < len(self._names):
            self._rename(self._names[item.row()], item.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self.state() != QAbstractItemView.State.EditingState:
            self._delete()
        else:
            super().keyPressEvent(event)


def _icon(chip: QPixmap) -> QIcon:
    """``chip`` in its own colours also where it is selected."""
    icon = QIcon(chip)
    icon.addPixmap(chip, QIcon.Mode.Selected)
    return icon
