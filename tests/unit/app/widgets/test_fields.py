from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget

from semblance.app.widgets.fields import NoWheelComboBox, NoWheelSlider


@pytest.mark.parametrize("kind", ["choice", "slide"])
def test_the_wheel_scrolls_the_panel_and_leaves_the_value(qtbot, kind: str) -> None:
    choice, slide = NoWheelComboBox(), NoWheelSlider(Qt.Orientation.Horizontal)
    choice.addItems(["one", "two", "three"])
    choice.setCurrentIndex(1)
    slide.setValue(40)
    inside = QWidget()
    column = QVBoxLayout(inside)
    column.addWidget(choice)
    column.addWidget(slide)
    inside.setFixedHeight(800)
    area = QScrollArea()
    area.setWidget(inside)
    area.resize(300, 200)
    qtbot.addWidget(area)
    area.show()
    under = choice if kind == "choice" else slide
    middle = QPointF(under.rect().center())
    turned = QWheelEvent(
        middle,
        QPointF(under.mapToGlobal(middle.toPoint())),
        QPoint(),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(under, turned)
    assert (choice.currentIndex(), slide.value()) == (1, 40)
    assert not turned.isAccepted()
    assert not under.hasFocus()
