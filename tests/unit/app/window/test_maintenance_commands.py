from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from semblance.app import screenshot
from semblance.core.library.export_log import read_exports
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.images import striped_folder
from tests.helpers.windows import flush, open_window, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")


@pytest.fixture
def library(tmp_path) -> Path:
    path = tmp_path / "Striped.semblance"
    import_source(striped_folder(tmp_path / "images", n=8), path)
    extract_features(path, "colour_edge_texture", workers=1)
    return path


@pytest.fixture
def chosen(monkeypatch) -> list[str]:
    """What the questions for files are answered with, in order."""
    answers: list[str] = []
    for name in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_args: (answers.pop(0), ""))
    return answers


def test_a_library_is_backed_up_and_restored_from_the_menu(library, chosen, tmp_path):
    backup, again = tmp_path / "b.zip", tmp_path / "Again.semblance"
    chosen += [str(backup), str(backup), str(again)]
    with open_window(library) as window:
        window.context.actions["back_up"].trigger()
        wait_for(window, backup.exists)
        assert [line["what"] for line in read_exports(library)] == ["backup"]
        window.context.actions["restore"].trigger()
        wait_for(window, lambda: window.state.path == again)
        assert len(window.state.columns.ids) == 8
    assert chosen == []


def test_no_answer_does_nothing(library, chosen, tmp_path):
    chosen += ["", "", str(tmp_path / "b.zip"), ""]
    with open_window(library) as window:
        for command in ("back_up", "restore", "restore"):
            window.context.actions[command].trigger()
        assert window.jobs.active == []
    assert not (tmp_path / "b.zip").exists()


def test_a_check_shows_what_it_found_and_mends_it(library):
    (library / "features" / "1.zarr" / "c" / "0" / "0").unlink()
    with open_window(library) as window:
        dialog = window.parts.commands.maintenance.check()
        wait_for(window, lambda: dialog.table.rowCount() == 1)
        assert dialog.table.item(0, 0).text() == "features"
        assert dialog.repair.isEnabled()
        dialog.repair.click()
        wait_for(window, lambda: "Done: 8 cases" in dialog.table.item(0, 2).text())
        assert not dialog.repair.isEnabled()
        dialog.accept()
        flush()


def test_a_dialog_closed_before_the_answer_is_left_alone(library):
    with open_window(library) as window:
        dialog = window.parts.commands.maintenance.check()
        dialog.close()
        flush()
        wait_for(window, lambda: not window.jobs.active)


def test_a_check_that_cannot_be_made_says_so(library):
    with open_window(library) as window:
        shutil.move(library / "catalogue.sqlite", library / "gone")
        dialog = window.parts.commands.maintenance.check()
        while window.jobs.active:
            screenshot.QCoreApplication.processEvents()
        assert dialog._told.text() == "The library could not be verified."
        assert any("is missing: there is no file" in m.what for m in window.context.messages.history)
        shutil.move(library / "gone", library / "catalogue.sqlite")
        dialog.accept()
        flush()
