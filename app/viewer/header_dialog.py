"""The dialog with the header of an image file."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.query_source import QuerySource
from semblance.app.viewer.header_view import HeaderView
from semblance.app.widgets.dialog import Dialog, closing_row, dialog_layout, resize_dialog
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation


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
        self._state = context.state
        #: What is shown, while the dialog is open.
        self._source: QuerySource | None = None
        self._state.on_other_source(self, lambda: self._source, self._follow_source)

    def read(self, library: LibraryLocation | None, image: int | ImageAddress, place: int | None) -> None:
        """Show the header of a case's image or of a file, of a volume that of slice ``place``."""
        index = self._state.columns.index_of_row(image) if isinstance(image, int) else -1
        case = self._state.columns.ids[index] if index >= 0 else None
        self._source = QuerySource(
            library, case, image.container if isinstance(image, ImageAddress) else None
        )
        self.view.read(library, image, place)

    def _follow_source(self, source: QuerySource | None) -> None:
        """Show the header of another query in place of the one before."""
        columns = self._state.columns
        index = columns.index_of_id(source.case) if source is not None and source.case is not None else -1
        if index >= 0:
            self.read(self._state.path, int(columns.case_row[index]), None)
        elif source is not None and source.image is not None:
            self.read(self._state.path, ImageAddress(source.image), None)
        else:
            self.reject()

    def done(self, result: int) -> None:
        self._source = None
        self.view.cancel()
        super().done(result)
