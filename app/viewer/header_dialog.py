"""The dialog with the header of an image file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QWidget

from semblance.app.shell.context import Context
from semblance.app.viewer.header_view import HeaderView
from semblance.app.widgets.dialog import closing_row, dialog_layout, resize_dialog
from semblance.app.widgets.tab_order import Dialog
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import tr


class HeaderDialog(Dialog):
    """Shows one header. Another :meth:`read` replaces it."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("File header"))
        resize_dialog(self, 860, 600)
        self.view = HeaderView(context, "header")
        column = dialog_layout(self)
        column.addWidget(self.view, 1)
        column.addLayout(closing_row(self, self.view.copy_button))

    def read(self, library: Path | None, image: int | ImageAddress, place: int | None) -> None:
        """Show the header of a case's image or of a file, of a volume that of slice ``place``."""
        self.view.read(library, image, place)

    def done(self, result: int) -> None:
        self.view.cancel()
        super().done(result)
