"""What can be done with a case, for the menu of every image that shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from semblance.core.language import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu

    Fill = Callable[[QMenu, int, Callable[[], object] | None], None]


class CaseMenu:
    """The window sets ``fill(menu, case_row, show_header)``, which adds the entries for a case of the open library, or
    for an image from outside with a row below zero. ``show_header``: shows the header of the file on screen; ``None``:
    that of the case. Without a window there is only the header of the file."""

    def __init__(self) -> None:
        self.fill: Fill = lambda menu, _row, show_header: add_header_entry(menu, show_header)


def add_header_entry(menu: QMenu, show_header: Callable[[], object] | None, text: str = "") -> None:
    """Add the entry that shows the header of a file, where there is one."""
    if show_header is not None:
        menu.addAction(text or tr("File header…"), show_header)
