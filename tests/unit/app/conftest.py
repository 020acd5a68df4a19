from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from semblance.app.shell.context import Context
from semblance.app.shell.theme import set_theme
from semblance.core.workflows.imaging import library_cache, view_planes
from tests.helpers.contexts import make_context
from tests.helpers.manual_jobs import ManualJobs
from tests.helpers.prompt_jobs import PromptJobs


@pytest.fixture(autouse=True)
def dark(qapp: QApplication) -> None:
    """Widgets look as in the program."""
    set_theme(qapp, "dark")


@pytest.fixture
def jobs(qapp: QApplication) -> Iterator[ManualJobs]:
    made = ManualJobs()
    yield made
    made.shutdown()
    made.deleteLater()


@pytest.fixture
def context(jobs: ManualJobs) -> Context:
    """A window's parts without the window."""
    return make_context(jobs)


@pytest.fixture
def forget_volumes() -> Iterator[None]:
    """Volumes read in this process do not outlive the test."""
    yield
    view_planes.forget_volume()
    library_cache.stack_cache.forget()


@pytest.fixture
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows whose jobs run here, and that are at rest soon."""
    monkeypatch.setattr("semblance.app.window.main_window.Jobs", PromptJobs)
    monkeypatch.setattr("semblance.app.screenshot.IDLE_CHECKS", 12)
