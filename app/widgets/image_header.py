"""What stands above an image that lies beside others."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QWidget

from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel_header import PanelHeader


class ImageHeader(PanelHeader):
    """Which of them it is, and its name."""

    def __init__(self, title: str) -> None:
        super().__init__(title, help_button=False)
        self._row.setContentsMargins(12, 0, 12, 0)


def side_by_side(heads: Sequence[ImageHeader], images: Sequence[QWidget]) -> QHBoxLayout:
    """All equally wide, each image under its head."""
    sides = hbox(spacing=1)
    for head, image in zip(heads, images, strict=True):
        column = vbox()
        column.addWidget(head)
        column.addWidget(image, 1)
        sides.addLayout(column, 1)
    return sides
