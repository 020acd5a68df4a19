"""Makes the images of the help and of the README from the running program: ``packaging/help_images.py DEMO TOP``.

They are written into the folders ``resources/help/images`` and ``resources/screenshots`` of ``TOP``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QCoreApplication, QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from semblance.app.application import make_application
from semblance.app.screenshot import image_of_window, temporary_settings, wait_until_idle
from semblance.app.search.feedback import mark_cards
from semblance.app.shell import search_operations
from semblance.app.shell.theme import set_theme
from semblance.app.window.main_window import MainWindow
from semblance.core.errors import SemblanceError
from semblance.core.imaging.region import Region
from semblance.core.searches.feedback.judgements import likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import PLACE
from semblance.core.workflows.demo import demo_query, make_demo

SIZE = (1280, 800)
#: Wider images do not fit beside the contents of the help.
MAX_WIDTH = 760
#: Around the mass of the query of the demo, which is in the middle.
MASS = Region(84, 84, 88, 84)


def make_images(library: Path, folder: Path) -> list[Path]:
    """Open the demo ``library``, show what the help describes step by step, and save an image of each into ``folder``.

    Raises:
        SemblanceError: The window did not become idle, or a file cannot be written.
    """
    application = make_application()
    set_theme(application, "dark", 1.0)
    window = MainWindow(temporary_settings())
    window.resize(*SIZE)
    window.show()
    window.start(library)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    try:
        wait_until_idle(window)
        steps: tuple[tuple[str, Callable[[MainWindow], QWidget]], ...] = (
            ("asked", _show_search),
            ("why", _show_why),
            ("compare", _show_comparison),
            ("place", _show_place),
            ("refine", _show_judgements),
            ("two_metrics", _show_two_metrics),
            ("train", _show_training),
            ("evaluation", _show_evaluation),
            ("map", _show_map),
            ("full_size", _show_full_size),
        )
        for name, step in steps:
            widget = step(window)
            wait_until_idle(window)
            # The first paint requests the thumbnails.
            window.grab()
            wait_until_idle(window)
            files.append(_save(window, widget, folder / f"{name}.png"))
    finally:
        window.close()
        window.deleteLater()
        QCoreApplication.sendPostedEvents(None, 0)
        application.processEvents()
    return files


def _show_search(window: MainWindow) -> QWidget:
    assert window.state.location is not None
    search_operations.submit_query(window.context, Query(case=demo_query(window.state.location)))
    wait_until_idle(window)
    window.parts.layout.show_side("why")
    return window


def _show_why(window: MainWindow) -> QWidget:
    # Where the panel is high enough for the bars.
    window.workspaces.choose("research")
    window.panels.ranking.grid.set_current(window.panels.ranking.grid.model().case_row(1))
    return window.parts.layout.docks["side"]


def _show_comparison(window: MainWindow) -> QWidget:
    window.workspaces.choose("read")
    window.parts.full.compare(window.panels.ranking.grid.model().case_row(1))
    return window


def _show_place(window: MainWindow) -> QWidget:
    window.parts.full.leave_page("compare")
    search_operations.submit_region(window.context, MASS, match=PLACE)
    wait_until_idle(window)
    window.parts.full.compare(window.panels.ranking.grid.model().case_row(0))
    return window


def _show_judgements(window: MainWindow) -> QWidget:
    window.parts.full.leave_page("compare")
    search_operations.submit_region(window.context, None)
    wait_until_idle(window)
    model = window.panels.ranking.grid.model()
    for index, is_similar in ((0, True), (2, True), (4, False)):
        case = window.state.columns.ids[model.index(index)]
        assert window.state.search is not None
        mark_cards.save_judgements(
            window.context, [likeness_judgement(window.state.search, case, is_similar)]
        )
        wait_until_idle(window)
    window.parts.layout.show_side("refine")
    return window


def _show_two_metrics(window: MainWindow) -> QWidget:
    window.context.actions["two_metrics"].trigger()
    return window


def _show_training(window: MainWindow) -> QWidget:
    window.parts.full.leave_page("two_metrics")
    window.workspaces.choose("research")
    window.parts.layout.show_side("train")
    return window.parts.layout.docks["side"]


def _show_evaluation(window: MainWindow) -> QWidget:
    return window.parts.layout.docks["evaluation"]


def _show_map(window: MainWindow) -> QWidget:
    window.context.actions["map"].trigger()
    return window.parts.layout.docks["evaluation"]


def _show_full_size(window: MainWindow) -> QWidget:
    window.context.actions["view_large"].trigger()
    return window


def _save(window: MainWindow, widget: QWidget, file: Path) -> Path:
    image_of_window = window.grab().toImage()
    area = (
        QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())
        if widget is not window
        else image_of_window.rect()
    )
    image = image_of_window.copy(area)
    if image.width() > MAX_WIDTH:
        image = image.scaledToWidth(MAX_WIDTH, Qt.TransformationMode.SmoothTransformation)
    rgb = image.convertToFormat(QImage.Format.Format_RGB888)
    rgb_image = Image.frombuffer(
        "RGB", (rgb.width(), rgb.height()), bytes(rgb.constBits()), "raw", "RGB", rgb.bytesPerLine(), 1
    )
    try:
        # A palette makes the file a third of its size.
        rgb_image.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(file, optimize=True)
    except OSError as error:
        raise SemblanceError(
            f"{file} cannot be written: {error.strerror or error}.", "Choose a folder you may write to."
        ) from error
    return file


if __name__ == "__main__":
    demo, top = make_demo(Path(sys.argv[1])), Path(sys.argv[2])
    readme = top / "resources" / "screenshots" / "read.png"
    image_of_window(demo, Query(case=demo_query(demo)), readme)
    for image in (readme, *make_images(demo, top / "resources" / "help" / "images")):
        sys.stdout.write(f"{image}\n")
