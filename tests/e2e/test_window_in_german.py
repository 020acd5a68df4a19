"""The window in German: its main parts speak it, and none of their texts is cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from semblance.core.language import LANGUAGE_VARIABLE
from tests.helpers.striped_library import striped_library
from tests.translations import translated_texts

TOP = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, sys
from pathlib import Path
from PySide6.QtCore import QSettings
QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "Semblance", "Semblance").setValue("language", "de")
from semblance.app.application import make_application
application = make_application()
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QLabel, QPushButton, QTabBar, QToolButton, QWidget
from semblance.app.shell import search_operations
from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.theme import set_theme
from semblance.app.window.main_window import MainWindow
from semblance.core.searches.query import Query

set_theme(application, "dark", float(sys.argv[4]))
window = MainWindow()
window.resize(int(sys.argv[2]), int(sys.argv[3]))
window.show()
window.start(Path(sys.argv[1]))
wait_until_idle(window)
search_operations.submit_query(window.context, Query(case=window.state.columns.ids[0]))
wait_until_idle(window)
texts, cut = set(), set()

def look():
    for one in window.findChildren(QWidget):
        if not one.isVisible() or one.window() is not window:
            continue
        texts.update((one.toolTip(), one.accessibleName(), one.windowTitle()))
        if isinstance(one, QTabBar):
            texts.update(one.tabText(place) for place in range(one.count()))
            if one.sizeHint().width() > one.width():
                cut.add(" | ".join(one.tabText(place) for place in range(one.count())))
        elif isinstance(one, (QLabel, QAbstractButton)) and one.text():
            texts.add(one.text())
            # Those of other classes paint themselves, and shorten what does not fit.
            if type(one) is QLabel and one.wordWrap():
                if one.heightForWidth(one.width()) > one.height():
                    cut.add(one.text())
            elif type(one) in (QLabel, QPushButton, QCheckBox) and one.sizeHint().width() > one.width():
                cut.add(one.text())

for side in ("why", "case", "notes", "train", "refine"):
    window.parts.layout.show_side(side)
    wait_until_idle(window)
    look()
menus = {
    name: [action.text() for action in menu.actions() if action.text()]
    for name, menu in window.top.menu.items()
}
texts = {
    "menus": {name: menu.title().replace("&", "") for name, menu in window.top.menu.items()},
    "actions": menus,
    "free_width": window.top.menus.width() - window.top.menus.sizeHint().width(),
    "more_menus": window.top.menus.findChild(QToolButton, "qt_menubar_ext_button").isVisible(),
    "docks": {name: dock.windowTitle() for name, dock in window.parts.layout.docks.items()},
    "texts": sorted(texts - {""}),
    "cut": sorted(cut),
    "errors": [m.what for m in window.context.messages.history if m.level == "error"],
}
print(json.dumps(texts))
window.close()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return striped_library(tmp_path_factory.mktemp("german"), features="gabor")


@pytest.fixture(scope="module")
def german() -> dict[str, str]:
    return translated_texts("de")


def window_texts(library: Path, width: int, height: int, text: float) -> Any:
    """What a window of that size shows, with texts so large."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(library), str(width), str(height), str(text)],
        check=False,
        capture_output=True,
        text=True,
        cwd=TOP,
        # The variable would choose the language before any import, the settings do it later.
        env={
            **{name: value for name, value in os.environ.items() if name != LANGUAGE_VARIABLE},
            "QT_QPA_PLATFORM": "offscreen",
        },
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("width", "height", "text"), [(1280, 800, 1), (1440, 900, 1), (1280, 800, 1.5)])
def test_the_window_speaks_german_and_cuts_no_text(
    library: Path, german: dict[str, str], private_home: Path, width: int, height: int, text: float
) -> None:
    shown_texts = window_texts(library, width, height, text)
    assert shown_texts["errors"] == []
    assert shown_texts["menus"] == {name: german[name] for name in shown_texts["menus"]}
    assert "Metrik" in shown_texts["menus"].values()
    # Where large text leaves no space beside what is shown, the last menus are behind a sign.
    assert shown_texts["more_menus"] == (shown_texts["free_width"] < 0)
    assert shown_texts["free_width"] >= 0 or width / text < 1024
    assert shown_texts["docks"]["library"] == "Bibliothek"
    names = [text for actions in shown_texts["actions"].values() for text in actions]
    assert "Bibliothek öffnen…" in names
    assert set(names) <= set(german.values())
    # English is what has a German form that is another.
    assert [text for text in shown_texts["texts"] if german.get(text, text) != text] == []
    assert {"Warum diese Fälle", "Verfeinern", "Auswertung", "Anfrage"} <= set(shown_texts["texts"])
    assert shown_texts["cut"] == []
