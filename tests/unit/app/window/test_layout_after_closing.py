from __future__ import annotations

import pytest

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.library_operations import close_library
from tests.helpers.windows import open_window

pytestmark = pytest.mark.usefixtures("without_processes")


def shown(window) -> set[str]:
    return {name for name, dock in window.parts.layout.docks.items() if dock.isVisible()}


def test_panels_are_there_again_after_a_library_was_closed_from_a_page_on_the_whole_window(library):
    with open_window(library) as window:
        before = shown(window)
        window.parts.full.two_metrics()
        wait_until_idle(window)
        close_library(window.context)
        wait_until_idle(window)
    with open_window(library) as window:
        wait_until_idle(window)
        assert shown(window) == before


def test_the_start_page_stays_alone_when_text_becomes_large(library):
    with open_window(library) as window:
        before = shown(window)
        window.resize(1280, 800)
        close_library(window.context)
        wait_until_idle(window)
        assert not shown(window)
        for command in ("text_larger", "text_smaller"):
            for _ in range(5):
                window.context.actions[command].trigger()
            wait_until_idle(window)
            assert not shown(window)
        window.open_library(library)
        wait_until_idle(window)
        assert shown(window) == before
    with open_window(library) as window:
        wait_until_idle(window)
        assert shown(window) == before
