"""Where the window states the intended purpose."""

from __future__ import annotations

from types import SimpleNamespace

from PySide6.QtWidgets import QLabel, QMessageBox

from semblance.app.shell.actions import Actions
from semblance.app.window.commands import Commands
from semblance.app.window.help_pages import GROUPS
from semblance.app.window.start_page import StartPage
from semblance.core.purpose import PURPOSE


def test_the_start_page_states_it(qtbot):
    page = StartPage(Actions())
    qtbot.addWidget(page)
    assert PURPOSE in [label.text() for label in page.findChildren(QLabel)]


def test_about_states_it_and_names_its_page(qapp, monkeypatch):
    shown = []
    monkeypatch.setattr(QMessageBox, "about", lambda *args: shown.append(args[-1]))
    Commands.about(SimpleNamespace(_window=None))
    assert PURPOSE in shown[0]
    assert "Intended purpose" in shown[0]
    assert "intended_purpose" in dict(GROUPS)["Get started"]
