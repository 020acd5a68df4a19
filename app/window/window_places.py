"""Where windows were, on which screen, and where they come back."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QRect
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from semblance.app.shell.settings import Settings

#: px of a window that are at least on its screen.
_LEAST = 64


def save_place(settings: Settings, key: str, window: QWidget) -> None:
    """Keep where ``window`` is."""
    settings.set_bytes(key, window.saveGeometry())
    settings.set_text(f"{key}_screen", window.screen().name())
    frame = window.normalGeometry()
    numbers = (frame.x(), frame.y(), frame.width(), frame.height())
    settings.set_text(f"{key}_rectangle", " ".join(map(str, numbers)))


def restore_place(settings: Settings, key: str, window: QWidget) -> bool:
    """Put ``window`` where it was, or on the main screen if its screen is gone; whether anything was kept."""
    geometry = settings.bytes(key)
    if geometry is None or not window.restoreGeometry(geometry):
        return False
    numbers = settings.text(f"{key}_rectangle").split()
    screens = {screen.name(): screen.availableGeometry() for screen in QGuiApplication.screens()}
    main = QGuiApplication.primaryScreen().availableGeometry()
    if len(numbers) == 4 and not (window.isMaximized() or window.isFullScreen()):
        # Qt knows a screen by its number alone, which changes when another one is unplugged.
        was = QRect(*map(int, numbers))
        window.setGeometry(place_on_screen(was, settings.text(f"{key}_screen"), screens, main))
    return True


def place_on_screen(was: QRect, name: str, screens: Mapping[str, QRect], main: QRect) -> QRect:
    """Where a window that was at ``was`` on the screen ``name`` is shown on ``screens``, by their names: at the same
    place, moved as little as needed to be seen there, else in the middle of the ``main`` screen."""
    screen = screens.get(name)
    if screen is not None:
        size = was.size().boundedTo(screen.size())
        if screen.intersects(was) and was.size() == size and was.top() >= screen.top():
            seen = screen.intersected(was)
            if seen.width() >= _LEAST and seen.height() >= _LEAST:
                return was
        left = min(max(was.left(), screen.left()), screen.right() + 1 - size.width())
        top = min(max(was.top(), screen.top()), screen.bottom() + 1 - size.height())
        return QRect(left, top, size.width(), size.height())
    placed = QRect(main.topLeft(), was.size().boundedTo(main.size()))
    placed.moveCenter(main.center())
    return placed
