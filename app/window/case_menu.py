"""The menu of a case, wherever it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.widgets.menus import Menu
from semblance.app.window.full_pages import FullPages
from semblance.core.language import tr
from semblance.core.searches.query import Query


def show_case_menu(
    context: Context,
    full: FullPages,
    fills: Sequence[Callable[[QMenu, int], object]],
    parent: QWidget,
    case_row: int,
    where: QPoint,
) -> None:
    """Offer what can be done with the case of ``case_row`` at ``where`` on the screen.

    ``fills`` add entries to the menu, for the case and those selected with it.
    """
    state = context.state
    index = state.columns.index_of_row(case_row)
    if index < 0:
        return
    case_id = state.columns.ids[index]
    menu = Menu(parent)
    ranked = state.ranking.ranked if state.ranking is not None else ()
    if not full.comparing and any(case.row == case_row for case in ranked):
        menu.addAction(tr("Compare with the query"), partial(full.compare, case_row))
    menu.addAction(tr("View full size"), partial(full.view_case, case_row))
    menu.addAction(tr("Images of the patient"), partial(full.hang, case_row))
    menu.addAction(
        tr("Search with this case"), partial(search_operations.submit_query, context, Query(case=case_id))
    )
    menu.addAction(tr("Copy case ID"), partial(QGuiApplication.clipboard().setText, case_id))
    for fill in fills:
        fill(menu, case_row)
    menu.exec(where)
    menu.deleteLater()
