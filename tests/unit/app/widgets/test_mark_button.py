"""The strokes of + and - are whole pixels of the text's colour, at any scale of the screen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication

from semblance.app.shell.theme import set_theme, theme
from semblance.app.widgets.mark_button import (
    BUTTON_HEIGHT,
    BUTTON_WIDTH,
    LESS_LIKE,
    MORE_LIKE,
    ButtonState,
    MarkButton,
    draw_mark_button,
)
from tests.helpers.widgets import show_widget


def luminance(value: QColor) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in value.getRgbF()[:3]
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: QColor, other: QColor) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def inner_colours(mark: int, state: ButtonState, ratio: float, x: int) -> dict[str, int]:
    """The colours inside the button, without its round corners, with the pixels of each."""
    size = QSize(BUTTON_WIDTH + 40, BUTTON_HEIGHT + 20)
    image = QImage(size * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor(theme().panel))
    painter = QPainter(image)
    draw_mark_button(painter, QRect(x, 7, BUTTON_WIDTH, BUTTON_HEIGHT), mark, state)
    painter.end()
    counted: dict[str, int] = {}
    for down in range(round(11 * ratio), round((3 + BUTTON_HEIGHT) * ratio)):
        for across in range(round((x + 4) * ratio), round((x + BUTTON_WIDTH - 4) * ratio)):
            name = image.pixelColor(across, down).name().upper()
            counted[name] = counted.get(name, 0) + 1
    return counted


@pytest.mark.parametrize("name", ["dark", "light"])
def test_the_signs_are_sharp_and_in_the_colour_of_text(qapp: QApplication, name: str) -> None:
    set_theme(qapp, name)
    tokens = theme()
    assert tokens.text == ("#ECECEE" if name == "dark" else "#17171A")
    for ratio in (1.0, 1.25, 1.5, 2.0):
        for x in (5, 6, 7):
            for state, back, front, least in (
                (ButtonState(), tokens.control, tokens.text, 10),
                (ButtonState(hovered=True), tokens.hover, tokens.text, 10),
                (ButtonState(on=True), tokens.accent_filled, "#FFFFFF", 4.5),
            ):
                more, less = (inner_colours(mark, state, ratio, x) for mark in (MORE_LIKE, LESS_LIKE))
                assert set(more) == set(less) == {back, front}, (ratio, x, state)
                assert contrast(QColor(front), QColor(back)) >= least
                arm, stroke = 12 * ratio, 2 * ratio
                assert less[front] == pytest.approx(arm * stroke, rel=0.35)
                assert 1.6 * less[front] < more[front] < 2 * less[front]


def test_a_text_makes_the_button_wider_and_the_text_size_everything(qtbot, qapp: QApplication) -> None:
    set_theme(qapp, "dark")
    button = show_widget(qtbot, MarkButton(MORE_LIKE), 28, 24)
    assert button.sizeHint() == QSize(28, 24)
    button.set_text("Less", "D")
    assert button.sizeHint() == QSize(96, 32)
    button.set_text("Weniger wie dieser Fall", "D")
    assert button.sizeHint().width() > 96
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert button.isChecked()
    set_theme(qapp, "dark", 1.5)
    assert button.sizeHint().height() == 48
