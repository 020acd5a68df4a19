"""Drag and drop of cases, also into other programs."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QMimeData, Qt
from PySide6.QtGui import QDrag, QPixmap
from PySide6.QtWidgets import QWidget

from semblance.app.widgets.cards.case_model import CaseModel
from semblance.core.library.case_columns import CaseColumns

CASE_MIME = "application/x-semblance-case"


def case_data(columns: CaseColumns, index: int) -> QMimeData:
    """The drag data of the case at ``index``: its catalogue row, which only this program understands.

    Other programs get the image of the card (:func:`drag`) and no id, which may name the patient.
    """
    data = QMimeData()
    data.setData(CASE_MIME, QByteArray(str(int(columns.case_row[index])).encode()))
    return data


def mime_data(model: CaseModel, place: int) -> QMimeData:
    """The drag data of the case at ``place`` of a model."""
    return case_data(model.columns, model.index(place))


def dragged_case(data: QMimeData) -> int | None:
    """The catalogue row in a drag, ``None`` if it has no case of Semblance."""
    text = bytes(data.data(CASE_MIME).data()).decode("ascii", "replace")
    return int(text) if text.isdigit() else None


def drag(source: QWidget, data: QMimeData, image: QPixmap | None) -> None:
    """Drag ``data`` and ``image`` with the mouse; returns when it was dropped."""
    drag_object = QDrag(source)
    drag_object.setMimeData(data)
    if image is not None:
        drag_object.setPixmap(image)
        data.setImageData(image.toImage())
    drag_object.exec(Qt.DropAction.CopyAction)
