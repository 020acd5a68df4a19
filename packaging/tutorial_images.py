"""The tutorial's images, made from the running program: ``python packaging/tutorial_images.py DEMO FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QCoreApplication, QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from semblance.app.program import make_application
from semblance.app.screenshot import settle, temporary_settings
from semblance.app.search.feedback import refine_metric
from semblance.app.shell import search_operations
from semblance.app.shell.theme import set_theme
from semblance.app.window.main_window import MainWindow
from semblance.core.errors import SemblanceError
from semblance.core.searches.query import Query
from semblance.core.workflows.demo import demo_query, make_demo
from semblance.core.workflows.searches.refine_metric import likeness_judgement

SIZE = (1280, 800)
#: Wider images would not fit beside the contents of the help.
WIDEST = 760


def make_images(library: Path, folder: Path) -> list[Path]:
    """Open the demo ``library``, do what the tutorial does, and save an image of each step into ``folder``.

    Raises:
        SemblanceError: the window did not come to rest, or a file cannot be written.
    """
    application = make_application()
    set_theme(application, "dark", 1.0)
    window = MainWindow(temporary_settings())
    window.resize(*SIZE)
    window.show()
    window.start(library)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    try:
        settle(window)
        steps: tuple[tuple[str, Callable[[MainWindow], QWidget]], ...] = (
            ("asked", _ask),
            ("why", _why),
            ("compare", _compare),
            ("refine", _refine),
            ("two_metrics", _two_metrics),
        )
        for name, step in steps:
            shown = step(window)
            settle(window)
            # Thumbnails are asked for by the first paint.
            window.grab()
            settle(window)
            made.append(_save(window, shown, folder / f"{name}.png"))
    finally:
        window.close()
        window.deleteLater()
        QCoreApplication.sendPostedEvents(None, 0)
        application.processEvents()
    return made


def _ask(window: MainWindow) -> QWidget:
    assert window.state.path is not None
    search_operations.submit_query(window.context, Query(case=demo_query(window.state.path)))
    settle(window)
    window.parts.layout.show_side("why")
    return window


def _why(window: MainWindow) -> QWidget:
    window.panels.ranking.grid.set_current(window.panels.ranking.grid.model().case_row(1))
    return window.parts.layout.docks["side"]


def _compare(window: MainWindow) -> QWidget:
    window.parts.full.compare(window.panels.ranking.grid.model().case_row(1))
    return window


def _refine(window: MainWindow) -> QWidget:
    window.parts.full.leave_page("compare")
    settle(window)
    deck = window.panels.ranking.grid.model()
    for place, alike in ((0, True), (2, True), (4, False)):
        case = window.state.columns.ids[deck.index(place)]
        assert window.state.search is not None
        refine_metric.judge(window.context, [likeness_judgement(window.state.search, case, alike)])
        settle(window)
    window.parts.layout.show_side("refine")
    return window


def _two_metrics(window: MainWindow) -> QWidget:
    window.context.actions["two_metrics"].trigger()
    return window


def _save(window: MainWindow, part: QWidget, file: Path) -> Path:
    whole = window.grab().toImage()
    area = QRect(part.mapTo(window, QPoint(0, 0)), part.size()) if part is not window else whole.rect()
    image = whole.copy(area)
    if image.width() > WIDEST:
        image = image.scaledToWidth(WIDEST, Qt.TransformationMode.SmoothTransformation)
    rgb = image.convertToFormat(QImage.Format.Format_RGB888)
    packed = Image.frombuffer(
        "RGB", (rgb.width(), rgb.height()), bytes(rgb.constBits()), "raw", "RGB", rgb.bytesPerLine(), 1
    )
    try:
        # Few colours are used; a palette makes the file a third of its size.
        packed.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(file, optimize=True)
    except OSError as error:
        raise SemblanceError(
            f"{file} cannot be written: {error.strerror or error}.", "Choose a folder you may write to."
        ) from error
    return file


if __name__ == "__main__":
    for image in make_images(make_demo(Path(sys.argv[1])), Path(sys.argv[2])):
        sys.stdout.write(f"{image}\n")
