"""Makes the animation of the README from the running program: ``python packaging/readme_animation.py DEMO FILE``.

A folder is dropped, its cases are ranked, two are marked, and the order changes.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QElapsedTimer, Qt
from PySide6.QtGui import QImage

from semblance.app.application import make_application
from semblance.app.library.prepare_operations import import_and_prepare
from semblance.app.screenshot import PATIENCE_MS, temporary_settings, turn, wait_until_idle
from semblance.app.shell import search_operations
from semblance.app.shell.theme import set_theme
from semblance.app.window.main_window import MainWindow
from semblance.core.errors import SemblanceError
from semblance.core.searches.query import Query
from semblance.core.workflows.demo import make_demo

SIZE = (1280, 800)
#: Width of the frames, and how long each is seen.
WIDTH, FRAME_MS, LAST_MS = 1000, 1500, 3000
#: Cases of each finding, fewer than a metric is trained with.
CASES = 18
COLOURS = 256


def make_animation(demo: Path, file: Path) -> Path:
    """Save an animated PNG of a search in images of ``demo``.

    Raises:
        SemblanceError: The window did not become idle, or the file cannot be written.
    """
    application = make_application()
    set_theme(application, "dark", 1.0)
    with tempfile.TemporaryDirectory() as folder:
        source = _copy_images(demo, Path(folder) / "Breast masses")
        window = MainWindow(temporary_settings())
        window.resize(*SIZE)
        window.show()
        window.start()
        try:
            wait_until_idle(window)
            frames = [
                _image(window) for _ in _steps(window, source, Path(folder) / "Breast masses.semblance")
            ]
        finally:
            window.close()
            window.deleteLater()
            application.processEvents()
    palette = _in_a_column(frames).quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations = [FRAME_MS] * (len(drawn) - 1) + [LAST_MS]
    try:
        drawn[0].save(file, save_all=True, append_images=drawn[1:], duration=durations, loop=0, optimize=True)
    except OSError as error:
        raise SemblanceError(
            f"{file} cannot be written: {error.strerror or error}.", "Choose a folder you may write to."
        ) from error
    return file


def _in_a_column(frames: list[Image.Image]) -> Image.Image:
    width, height = frames[0].size
    column = Image.new("RGB", (width, height * len(frames)))
    for place, frame in enumerate(frames):
        column.paste(frame, (0, place * height))
    return column


def _copy_images(demo: Path, folder: Path) -> Path:
    """Some masses of the demo, in one folder for each finding."""
    for finding in ("benign", "malignant"):
        (folder / finding).mkdir(parents=True)
        for image in sorted(demo.glob(f"images/breast masses/{finding}/*-CC.png"))[:CASES]:
            shutil.copy(image, folder / finding)
    return folder


def _steps(window: MainWindow, source: Path, library: Path) -> Iterator[None]:
    """What is done, with a frame after each step."""
    state, grid = window.state, window.panels.ranking.grid
    yield
    window.start_page.set_dragging(True)
    yield
    window.start_page.set_dragging(False)
    import_and_prepare(window.context, source, library, "folder")
    _wait_for_cases(window)
    yield
    wait_until_idle(window)
    asked = next(case for case in state.columns.ids if "malignant" in case)
    search_operations.submit_query(window.context, Query(case=asked))
    wait_until_idle(window)
    window.message_bar.clear()
    yield
    for place, command in ((8, "judge_alike"), (1, "judge_not_alike")):
        grid.set_current(grid.model().case_row(place))
        wait_until_idle(window)
        yield
        window.context.actions[command].trigger()
        wait_until_idle(window)
        yield


def _wait_for_cases(window: MainWindow) -> None:
    """Wait until the first cases are seen."""
    clock = QElapsedTimer()
    clock.start()
    while window.state.library is None or not len(window.state.columns):
        turn()
        if clock.elapsed() > PATIENCE_MS:
            raise SemblanceError("The window did not show the cases.", "Try it again.")
    for _ in range(60):
        turn()


def _image(window: MainWindow) -> Image.Image:
    # The first paint requests the thumbnails.
    window.grab()
    if window.state.library is None or window.state.ranking is not None:
        wait_until_idle(window)
    image = window.grab().toImage().scaledToWidth(WIDTH, Qt.TransformationMode.SmoothTransformation)
    rgb = image.convertToFormat(QImage.Format.Format_RGB888)
    size = (rgb.width(), rgb.height())
    return Image.frombuffer("RGB", size, bytes(rgb.constBits()), "raw", "RGB", rgb.bytesPerLine(), 1)


if __name__ == "__main__":
    sys.stdout.write(f"{make_animation(make_demo(Path(sys.argv[1])), Path(sys.argv[2]))}\n")
