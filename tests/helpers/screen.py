"""What a person sees in the visible windows: texts and images, whatever widget shows them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QAbstractListModel, QModelIndex, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QComboBox, QLabel, QWidget

from semblance.app.viewer.image_view import ImageView
from semblance.app.widgets.cards.card_view import CardView

#: Rows of a table that are read.
_ROWS = 60


def visible_widgets() -> Iterator[QWidget]:
    """Every widget of which a part can be seen."""
    for window in QApplication.topLevelWidgets():
        if window.isVisible():
            yield window
            yield from (one for one in window.findChildren(QWidget) if not one.visibleRegion().isEmpty())


def texts_of(widget: QWidget) -> Iterator[str]:
    """What ``widget`` itself shows or tells a screen reader. A widget that paints text has ``drawn_texts``."""
    yield widget.accessibleName()
    yield widget.accessibleDescription()
    yield widget.toolTip()
    if widget.isWindow():
        yield widget.windowTitle()
    if isinstance(widget, QLabel | QAbstractButton):
        yield widget.text()
    if isinstance(widget, QComboBox):
        yield widget.currentText()
    if isinstance(widget, QAbstractItemView) and (model := widget.model()) is not None:
        # Qt has no public number of columns for a list.
        columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(QModelIndex())
        for row in range(min(_ROWS, model.rowCount(QModelIndex()))):
            for column in range(columns):
                text = model.index(row, column).data(Qt.ItemDataRole.DisplayRole)
                if isinstance(text, str):
                    yield text
    drawn = getattr(widget, "drawn_texts", None)
    if drawn is not None:
        yield from drawn()


def images_of(widget: QWidget) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    """The images that ``widget`` shows, each with the text that names it."""
    if isinstance(widget, ImageView) and widget.image is not None and widget.second is None:
        yield widget.accessibleName(), widget.image.levels[0]
    if isinstance(widget, CardView) and widget._source is not None:
        model = widget.model()
        for place in widget.visible_places():
            image = widget._source.get(model.case_row(place))
            if image is not None:
                yield model.describe(place), _grey(image)


def _grey(image: QImage) -> npt.NDArray[np.uint8]:
    plain = image.convertToFormat(QImage.Format.Format_Grayscale8)
    lines = np.frombuffer(plain.constBits(), np.uint8).reshape(plain.height(), plain.bytesPerLine())
    return lines[:, : plain.width()]
