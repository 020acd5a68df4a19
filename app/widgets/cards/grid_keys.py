"""The keys that move in a grid of cases."""

from __future__ import annotations

from PySide6.QtCore import Qt

from semblance.app.widgets.cards.card_layout import CardLayout

_STEPS: dict[int, tuple[int, int, int]] = {
    Qt.Key.Key_Left: (-1, 0, 0),
    Qt.Key.Key_Right: (1, 0, 0),
    Qt.Key.Key_Up: (0, -1, 0),
    Qt.Key.Key_Down: (0, 1, 0),
    Qt.Key.Key_PageUp: (0, 0, -1),
    Qt.Key.Key_PageDown: (0, 0, 1),
}
_ENDS: dict[int, int] = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: -1}


def place_after_key(key: int, layout: CardLayout, place: int, height: int) -> int | None:
    """The place that ``key`` moves to from ``place`` in a viewport ``height`` px high, ``None`` for another key."""
    if key in _STEPS:
        columns, lines, pages = _STEPS[key]
        return layout.place_after_move(place, columns, lines, pages * max(1, height // layout.pitch))
    return _ENDS[key] % layout.count if key in _ENDS and layout.count else None
