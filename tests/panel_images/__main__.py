"""``python -m tests.panel_images LIBRARY FOLDER [--only NAME]``: images of every panel, to be looked at one by one.

``LIBRARY``: a prepared library, such as that of ``semblance demo``; a copy is opened. Each look is drawn in a process
of its own into a folder of its name. Nothing is compared: fonts differ between machines.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow

TOP = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Look:
    """Theme, text scale, language and size of the window."""

    theme: str = "dark"
    scale: float = 1.0
    language: str = "en"
    size: tuple[int, int] = (1440, 900)


LOOKS = {
    "dark": Look(),
    "light": Look(theme="light"),
    "small": Look(scale=0.8, size=(1024, 640)),
    "large": Look(theme="light", scale=1.5, size=(1440, 900)),
    "german": Look(language="de"),
    "wide": Look(size=(2560, 1440)),
    "portrait": Look(size=(1200, 1920)),
}
#: Commands that open a page on the whole window.
PAGES = ("compare", "view_large", "hang", "two_metrics", "map", "ask_next", "data_check")
#: Commands that open a dialog which does not block.
DIALOGS = (
    "tutorial",
    "palette",
    "experiments",
    "searches",
    "reader_studies",
    "vault",
    "header",
    "edit_history",
)
SIDE = {"read": ("why", "case", "notes"), "research": ("why", "case", "notes", "train", "refine")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.panel_images", description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", choices=tuple(LOOKS))
    parser.add_argument("--child", action="store_true", help="internal: draw the one look here")
    options = parser.parse_args()
    if options.child:
        draw(options.library, options.folder, LOOKS[options.only[0]])
        return
    for name in options.only or LOOKS:
        folder = options.folder / name
        with tempfile.TemporaryDirectory() as home:
            library = shutil.copytree(options.library, Path(home) / options.library.name)
            environment = os.environ | {
                "HOME": home,
                "XDG_CONFIG_HOME": home,
                "XDG_DATA_HOME": home,
                "SEMBLANCE_LANGUAGE": LOOKS[name].language,
                "QT_QPA_PLATFORM": "offscreen",
            }
            command = [sys.executable, "-m", "tests.panel_images", str(library), str(folder), "--only", name]
            subprocess.run([*command, "--child"], cwd=TOP, env=environment, check=True)
        print(f"{folder}: {len(list(folder.glob('*.png')))} images")


def draw(library: Path, folder: Path, look: Look) -> None:
    """Save an image of each panel on ``library`` into ``folder``."""
    from semblance.app.application import make_application
    from semblance.app.screenshot import temporary_settings, wait_until_idle
    from semblance.app.shell.theme import set_theme

    application = make_application()
    from semblance.app.window.main_window import MainWindow

    folder.mkdir(parents=True, exist_ok=True)
    set_theme(application, look.theme, look.scale)
    window = MainWindow(temporary_settings())
    window.resize(*look.size)
    window.show()
    window.start()
    wait_until_idle(window)
    _save(window, folder / "start.png")
    window.open_library(library)
    for name in _shown(window):
        # The first paint requests the thumbnails.
        window.grab()
        wait_until_idle(window)
        _save(window, folder / f"{name}.png")
    window.close()


def _shown(window: MainWindow) -> Iterator[str]:
    """Show one panel after the other; yields the name of each."""
    from semblance.app.screenshot import wait_until_idle
    from semblance.app.shell import search_operations
    from semblance.core.searches.query import Query
    from semblance.core.workflows.demo import demo_query

    def shown(name: str, show: Callable[[], object]) -> str:
        show()
        wait_until_idle(window)
        return name

    wait_until_idle(window)
    yield "library"
    assert window.state.location is not None
    search_operations.submit_query(window.context, Query(case=demo_query(window.state.location)))
    wait_until_idle(window)
    grid, actions = window.panels.ranking.grid, window.context.actions
    for workspace, tabs in SIDE.items():
        window.workspaces.choose(workspace)
        wait_until_idle(window)
        grid.set_current(grid.model().case_row(1))
        for tab in tabs:
            yield shown(f"{workspace}-{tab}", lambda tab=tab: window.parts.layout.show_side(tab))
    window.parts.layout.show_dock("evaluation")
    tabs = window.panels.evaluation.header.tabs
    for index in range(tabs.count()):
        yield shown(f"evaluation-{index}", lambda index=index: tabs.setCurrentIndex(index))
    window.workspaces.choose("read")
    wait_until_idle(window)
    grid.set_current(grid.model().case_row(1))
    actions["judge_alike"].trigger()
    wait_until_idle(window)
    yield "marked"
    for page in PAGES:
        grid.set_current(grid.model().case_row(1))
        yield shown(page, actions[page].trigger)
        while window.parts.full.open:
            window.parts.full.leave()
            wait_until_idle(window)
    for dialog in DIALOGS:
        yield shown(dialog, actions[dialog].trigger)
        for other in _other_windows(window):
            other.close()


def _other_windows(window: MainWindow) -> list:
    from PySide6.QtWidgets import QApplication

    return [other for other in QApplication.topLevelWidgets() if other is not window and other.isVisible()]


def _save(window: MainWindow, file: Path) -> None:
    """Save the window, or the dialog in front of it."""
    others = _other_windows(window)
    (others[-1] if others else window).grab().save(str(file), "PNG")


if __name__ == "__main__":
    main()
