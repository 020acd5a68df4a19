"""The copy of a library on a server: a refusal reaches who closes the library, and ended projects leave no copy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer

from semblance.app.shell import library_follower
from semblance.app.shell.library_follower import CopyRenewer
from semblance.core.errors import AccessRefused
from semblance.core.library.location import server_address
from tests.helpers.scored_snapshots import snapshot


@pytest.fixture
def sweeps(monkeypatch):
    """How often copies of ended projects were removed."""
    counted: list[int] = []
    monkeypatch.setattr(library_follower, "AFTER_CHANGE_MS", 0)
    monkeypatch.setattr(library_follower, "remove_ended_copies", lambda **_: counted.append(1))
    return counted


def test_a_refused_renewal_is_handed_on(qtbot, context, monkeypatch, sweeps):
    error = AccessRefused("The project 'one' is closed.")

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(library_follower, "renew_copy", refuse)
    path = server_address("postgresql://mia@server/chest?project=one")
    context.state.set_library(replace(snapshot(), location=path))
    refused: list[object] = []
    renewer = CopyRenewer(context, refused.append)
    renewer.begin()
    qtbot.waitUntil(lambda: bool(context.jobs.pending))
    context.jobs.run_pending()
    assert refused == [error]


def test_copies_of_ended_projects_are_removed_once_whatever_is_opened(qtbot, context, sweeps):
    renewer = CopyRenewer(context, lambda _: None)
    for name in ("one", "two"):
        context.state.set_library(replace(snapshot(), location=Path(name)))
        renewer.begin()
        qtbot.waitUntil(lambda: not renewer.findChild(QTimer).isActive())
        context.jobs.run_pending()
        assert sweeps == [1]
