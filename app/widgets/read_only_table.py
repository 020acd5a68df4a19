"""The settings of read-only tables: whole rows are selected, and Tab leaves the table."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractItemView, QTableView


def make_read_only(table: QTableView) -> None:
    """Make ``table`` read-only, with single-line rows and without a grid."""
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.horizontalHeader().setHighlightSections(False)
