"""Images, and mouse events for the image view."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image

LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def random_image(width=256, height=256, dtype=np.uint8, most=255, spacing=None, seed=1):
    pixels = np.random.default_rng(seed).integers(0, most + 1, (height, width)).astype(dtype)
    return display_image(Image(pixels, float(most), "grey", spacing))


def turn_wheel(view, at, notches):
    where = QPointF(at)
    event = QWheelEvent(
        where,
        QPointF(view.mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, event)


def drag(view, begin, *ways, button=LEFT, modifiers=Qt.KeyboardModifier.NoModifier):
    QTest.mousePress(view, button, modifiers, begin)
    for way in ways:
        QTest.mouseMove(view, way)
    QTest.mouseRelease(view, button, modifiers, ways[-1])


def widget_point(view, x, y):
    left, top = view.viewport.to_widget(x, y)
    return QPoint(round(left), round(top))
