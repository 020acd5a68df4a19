"""The program's icon in the sizes and forms that systems ask for, drawn from its one SVG file."""

from __future__ import annotations

import os
from pathlib import Path

SIDES = (16, 24, 32, 48, 64, 128, 256, 512, 1024)
#: In Windows' file of icons, in macOS' one.
ICO, ICNS = 256, 1024
TOP = Path(__file__).resolve().parent.parent.parent


def write(folder: Path) -> None:
    """``semblance-SIDE.png`` of every size, ``semblance.ico`` and ``semblance.icns``."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PIL import Image
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QGuiApplication, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    application = QGuiApplication.instance() or QGuiApplication([])
    drawing = QSvgRenderer(str(TOP / "resources" / "semblance.svg"))
    for side in SIDES:
        image = QImage(side, side, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        drawing.render(painter)
        painter.end()
        image.save(str(folder / f"semblance-{side}.png"))
    del application
    drawn = {side: Image.open(folder / f"semblance-{side}.png") for side in SIDES}
    for name, most, packed in (
        ("semblance.ico", ICO, {"sizes": [(side, side) for side in SIDES if side <= ICO]}),
        ("semblance.icns", ICNS, {}),
    ):
        drawn[most].save(
            folder / name, append_images=[drawn[side] for side in SIDES if side < most], **packed
        )
