"""The icon of the program in all sizes and formats, drawn from its SVG file."""

from __future__ import annotations

import os
from pathlib import Path

SIZES = (16, 24, 32, 48, 64, 128, 256, 512, 1024)
#: Largest size in the icon file of Windows and of macOS.
ICO, ICNS = 256, 1024
TOP = Path(__file__).resolve().parent.parent.parent


def write(folder: Path) -> None:
    """``semblance-SIZE.png`` of every size, ``semblance.ico`` and ``semblance.icns``."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PIL import Image
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QGuiApplication, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    application = QGuiApplication.instance() or QGuiApplication([])
    svg = QSvgRenderer(str(TOP / "resources" / "semblance.svg"))
    for size in SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        svg.render(painter)
        painter.end()
        image.save(str(folder / f"semblance-{size}.png"))
    del application
    images = {size: Image.open(folder / f"semblance-{size}.png") for size in SIZES}
    for name, largest, options in (
        ("semblance.ico", ICO, {"sizes": [(size, size) for size in SIZES if size <= ICO]}),
        ("semblance.icns", ICNS, {}),
    ):
        images[largest].save(
            folder / name, append_images=[images[size] for size in SIZES if size < largest], **options
        )
