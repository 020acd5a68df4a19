"""What can be done with a case, for the menu of every image that shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu

    Fill = Callable[[QMenu, int, Callable[[], object] | None], None]


class CaseMenu:
    """The window sets ``fill(menu, case_row, show_header)``, which adds the entries for a case of the open library, or
    for an image from outside with a row below zero. ``show_header``: shows the header of the file on screen; ``None``:
    that of the case."""

    def __init__(self) -> None:
        self.fill: Fill = lambda _menu, _row, _show_header: None
