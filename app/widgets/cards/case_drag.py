"""Cases carried by the mouse: out of a grid, into a query, a report or another program."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QMimeData, Qt
from PySide6.QtGui import QDrag, QPixmap
from PySide6.QtWidgets import QWidget

from semblance.app.widgets.cards.case_model import CaseModel

CASE_MIME = "application/x-semblance-case"


def mime_data(model: CaseModel, place: int) -> QMimeData:
    """What a drag of the case at ``place`` carries: its catalogue row, and its id as text."""
    data = QMimeData()
    data.setData(CASE_MIME, QByteArray(str(model.case_row(place)).encode()))
    data.setText(model.columns.ids[model.index(place)])
    return data


def dragged_case(data: QMimeData) -> int | None:
    """The catalogue row a drag carries, ``None`` where it carries no case of ours."""
    text = bytes(data.data(CASE_MIME).data()).decode("ascii", "replace")
    return int(text) if text.isdigit() else None


def drag(source: QWidget, data: QMimeData, image: QPixmap | None) -> None:
    """Let the mouse carry ``data``; returns when it was let go."""
    carried = QDrag(source)
    carried.setMimeData(data)
    if image is not None:
        carried.setPixmap(image)
    carried.exec(Qt.DropAction.CopyAction)
