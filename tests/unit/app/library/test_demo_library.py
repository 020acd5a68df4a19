from __future__ import annotations

import pytest

from semblance.app.library.library_commands import open_demo
from semblance.app.shell.library_operations import close_library
from semblance.core.tasks import Cancelled
from semblance.core.workflows import demo
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.prepare_library import prepare_library
from tests.helpers.images import striped_folder
from tests.helpers.windows import open_window, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")


def test_the_demo_is_shown_before_it_is_complete_and_later_only_opened(monkeypatch, tmp_path):
    path = tmp_path / "Demo.semblance"

    def make(library, *, one_bar, reporter):
        if library.exists():
            return library
        import_source(striped_folder(tmp_path / "images", n=12), library, reporter=reporter)
        prepare_library(library, reporter=reporter)
        raise Cancelled

    monkeypatch.setattr(demo, "usual_folder", lambda: path)
    monkeypatch.setattr(demo, "make_demo", make)
    with open_window() as window:
        button = window.start_page.demo_button
        for _ in range(2):
            # Pressed again it does not begin again.
            button.click()
            assert len(window.jobs.active) == 1 and button.text() == "Making the demo…"
        wait_for(window, lambda: window.state.ranking is not None and not window.jobs.active)
        assert window.state.location == path
        assert window.state.query.case == window.state.columns.ids[0]
        assert window.state.metric.name == "encoder + Euclidean"

        close_library(window.context)
        open_demo(window.context)
        wait_for(window, lambda: window.state.location == path)
