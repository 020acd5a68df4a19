"""The header of an image that stands beside others."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QWidget

from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel_header import PanelHeader


class ImageHeader(PanelHeader):
    """The title of an image and its name."""

    def __init__(self, title: str) -> None:
        super().__init__(title, help_button=False)
        self._row.setContentsMargins(12, 0, 12, 0)


def side_by_side(headers: Sequence[ImageHeader], images: Sequence[QWidget]) -> QHBoxLayout:
    """Columns of equal width, each with a header and its image."""
    sides = hbox(spacing=1)
    for header, image in zip(headers, images, strict=True):
        column = vbox()
        column.addWidget(header)
        column.addWidget(image, 1)
        sides.addLayout(column, 1)
    return sides
