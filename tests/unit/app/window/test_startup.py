"""What a window does after its first paint."""

from __future__ import annotations

import sys

import pytest

from semblance.app.screenshot import settle
from semblance.app.window.main_window import MainWindow
from semblance.app.window.preload import TO_COME
from semblance.app.window.startup import PARTS
from tests.helpers.windows import flush

pytestmark = pytest.mark.usefixtures("without_processes")


def test_who_starts_a_window_is_told_when_all_of_it_is_built(qapp, private_home):
    window = MainWindow()
    there: list[list[str]] = []
    window.show()
    window.start(None, lambda: there.append([part for part in PARTS if part in vars(window)]))
    assert there == []
    settle(window)
    assert there == [list(PARTS)]
    assert sys.modules.keys() >= set(TO_COME)
    window.close()
    window.deleteLater()
    flush()
