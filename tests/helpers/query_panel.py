"""What a person does with the Query panel."""

from __future__ import annotations

import numpy as np
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from semblance.app.viewer.tools import RECTANGLE
from semblance.core.imaging.region import Region

LEFT = Qt.MouseButton.LeftButton


PART = Region(8, 12, 24, 16)


def case_of(library, end):
    return next(name for name in library.columns.ids if name.endswith(end))


def image_file(folder, name="outside.png", size=(48, 40)):
    path = folder / name
    pixels = np.random.default_rng(5).integers(0, 256, size[::-1]).astype(np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def draw(panel, region):
    view = panel.view
    panel.set_tool(RECTANGLE)

    def at(x, y):
        left, top = view.viewport.to_widget(x, y)
        return QPoint(round(left), round(top))

    QTest.mousePress(view, LEFT, pos=at(region.x, region.y))
    QTest.mouseMove(view, at(region.x + region.width, region.y + region.height))
    QTest.mouseRelease(view, LEFT, pos=at(region.x + region.width, region.y + region.height))


def shows_image(panel):
    return panel.view.isVisible() and panel.view.image is not None
