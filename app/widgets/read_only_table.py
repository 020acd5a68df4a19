"""Tables to read: one line is chosen as a whole, nothing is edited, Tab leaves them."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractItemView, QTableView


def for_reading(table: QTableView) -> None:
    """Make ``table`` one of lines of one row of text each, without a grid."""
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.horizontalHeader().setHighlightSections(False)
