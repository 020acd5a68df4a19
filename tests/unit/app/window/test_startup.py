"""What a window does after its first paint."""

from __future__ import annotations

import sys

import pytest

from semblance.app.screenshot import wait_until_idle
from semblance.app.window.main_window import MainWindow
from semblance.app.window.preload import LATER_MODULES
from tests.helpers.windows import flush

#: What is built, by the object that has it.
PANELS = ("thumbnails", "concepts", "ranking", "library", "query", "side", "evaluation")
PARTS = ("case_links", "search_view")

pytestmark = pytest.mark.usefixtures("without_processes")


def test_the_end_of_building_a_window_is_emitted(qapp, private_home):
    window = MainWindow()
    built: list[bool] = []

    def record() -> None:
        parts = window.parts
        built.append("docks" in vars(parts.layout))
        built.extend(name in vars(parts.panels) for name in PANELS)
        built.extend(name in vars(parts) for name in PARTS)

    window.show()
    window.start(None, record)
    assert built == [] and "parts" not in vars(window)
    wait_until_idle(window)
    assert built and all(built)
    assert sys.modules.keys() >= set(LATER_MODULES)
    window.close()
    window.deleteLater()
    flush()
