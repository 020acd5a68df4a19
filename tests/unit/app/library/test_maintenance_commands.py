from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget

from semblance.app import screenshot
from semblance.app.library.maintenance_commands import MaintenanceCommands
from semblance.app.shell.actions import available, refused
from semblance.core.library.export_log import read_exports
from semblance.core.library.location import library_location
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.searches import index_candidates
from semblance.core.workflows.searches.index_candidates import IndexedMetric
from tests.helpers.images import striped_folder
from tests.helpers.scored_snapshots import snapshot
from tests.helpers.windows import open_window, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")


@pytest.fixture
def library(tmp_path) -> Path:
    path = tmp_path / "Striped.semblance"
    import_source(striped_folder(tmp_path / "images", n=8), path)
    extract_features(path, "colour_edge_texture", workers=1)
    return path


@pytest.fixture
def file_answers(monkeypatch) -> list[str]:
    """The answers of the file dialogs, in order."""
    answers: list[str] = []
    for name in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_args: (answers.pop(0), ""))
    return answers


def test_a_library_is_backed_up_and_restored_from_the_menu(library, file_answers, tmp_path):
    backup, restored = tmp_path / "b.zip", tmp_path / "Again.semblance"
    file_answers += [str(backup), str(backup), str(restored)]
    with open_window(library) as window:
        window.context.actions["back_up"].trigger()
        wait_for(window, backup.exists)
        assert [export["what"] for export in read_exports(library)] == ["backup"]
        window.context.actions["restore"].trigger()
        wait_for(window, lambda: window.state.location == restored)
        assert len(window.state.columns.ids) == 8
    assert file_answers == []


def test_a_cancelled_file_dialog_does_nothing(library, file_answers, tmp_path):
    file_answers += ["", "", str(tmp_path / "b.zip"), ""]
    with open_window(library) as window:
        for command in ("back_up", "restore", "restore"):
            window.context.actions[command].trigger()
        assert window.jobs.active == []
    assert not (tmp_path / "b.zip").exists()


def test_verifying_lists_problems_and_repairs_them(library):
    (library / "features" / "1.zarr" / "c" / "0" / "0").unlink()
    with open_window(library) as window:
        dialog = window.parts.commands.maintenance.verify()
        wait_for(window, lambda: dialog.table.rowCount() == 1)
        assert dialog.table.item(0, 0).text() == "features"
        assert dialog.repair_button.isEnabled()
        dialog.repair_button.click()
        wait_for(window, lambda: "Done: 8 cases" in dialog.table.item(0, 2).text())
        assert not dialog.repair_button.isEnabled()
        window.panels.lists.close_current()


def test_closing_the_list_during_verification_is_safe(library):
    with open_window(library) as window:
        window.parts.commands.maintenance.verify()
        window.panels.lists.close_current()
        assert window.parts.layout.docks["lists"].isHidden()
        wait_for(window, lambda: not window.jobs.active)


def test_a_failed_verification_says_so(library):
    with open_window(library) as window:
        shutil.move(library / "catalogue.sqlite", library / "gone")
        dialog = window.parts.commands.maintenance.verify()
        while window.jobs.active:
            screenshot.QCoreApplication.processEvents()
        assert dialog.summary.text() == "The library could not be verified."
        assert any("is missing: there is no file" in m.what for m in window.context.messages.history)
        shutil.move(library / "gone", library / "catalogue.sqlite")
        window.panels.lists.close_current()


def test_outdated_search_indexes_are_named_once_and_updated(context, qtbot, monkeypatch):
    messages, updated = [], []
    context.messages.shown.connect(messages.append)
    monkeypatch.setattr(
        index_candidates,
        "index_candidates",
        lambda path, reporter=None: updated.append(path) or [IndexedMetric("m", 200_000, 100, 0.985, 200)],
    )
    parent = QWidget()
    qtbot.addWidget(parent)
    _commands = MaintenanceCommands(context, parent)
    server = library_location("postgresql://db.example.org/chest")
    outdated = replace(snapshot(), location=server, outdated_indexes=("m",))
    context.state.set_library(outdated)
    context.state.set_library(replace(outdated))
    assert "editable on a server" in available(context.state)
    (message,) = messages
    assert message.what == "The search index of m is older than the features."
    message.actions[0][1]()
    context.jobs.run_pending()
    assert updated == [server]
    assert messages[1].hint == "m: 100 candidates contain 98.5 % of the 20 nearest."
    context.state.set_library(replace(outdated, right="annotator"))
    assert "Your right in this library is annotator" in refused(context.state)["editable on a server"]
    context.state.set_library(snapshot())
    assert "editable on a server" not in available(context.state)
    assert "In a library in a folder" in refused(context.state)["editable on a server"]
