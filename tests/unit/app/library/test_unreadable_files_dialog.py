from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QFileDialog, QLabel, QPushButton

from semblance.app.library.unreadable_files_dialog import UnreadableFilesDialog
from tests.helpers.scored import snapshot

LEFT = Qt.MouseButton.LeftButton
HOSTILE = "=cmd|' /C calc'!A0 <img src=x> \u202egnp.exe, \"a\"\nb.png"
FILES = (
    ("/scans", "a/broken.png", "failed", "The file is cut short."),
    ("/scans", HOSTILE, "missing", "It is gone."),
    ("/scans", "notes.txt", "ignored", "a text file"),
    ("/scans.zip", "", "failed", "No zip."),
)


@pytest.fixture
def saved() -> list[tuple]:
    return []


@pytest.fixture
def dialog(qtbot, saved):
    made = UnreadableFilesDialog(replace(snapshot(), not_read=FILES), lambda *given: saved.append(given))
    qtbot.addWidget(made)
    made.show()
    return made


def shown(dialog) -> list[tuple[str, ...]]:
    table = dialog.table
    return [tuple(table.item(row, column).text() for column in range(3)) for row in range(table.rowCount())]


def said(dialog) -> list[str]:
    return [label.text() for label in dialog.findChildren(QLabel)]


def test_every_file_that_failed_is_listed_with_its_reason(dialog):
    assert shown(dialog) == [
        ("/scans/a/broken.png", "failed", "The file is cut short."),
        (f"/scans/{HOSTILE}", "missing", "It is gone."),
        ("/scans.zip", "failed", "No zip."),
    ]
    assert "3 files" in said(dialog)


def test_files_that_are_no_images_are_listed_on_request(qtbot, dialog):
    box = dialog.findChild(QCheckBox)
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert ("/scans/notes.txt", "ignored", "a text file") in shown(dialog)
    assert "4 files" in said(dialog)
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert len(shown(dialog)) == 3


def test_nothing_to_list_is_said(qtbot):
    dialog = UnreadableFilesDialog(snapshot(), print)
    qtbot.addWidget(dialog)
    assert shown(dialog) == []
    assert "Every file could be read." in said(dialog)


def save(qtbot, dialog, monkeypatch, path):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    button = next(b for b in dialog.findChildren(QPushButton) if b.text() == "Save list…")
    qtbot.mouseClick(button, LEFT)


def test_the_list_is_saved_as_it_is_shown(qtbot, dialog, monkeypatch, tmp_path, saved):
    save(qtbot, dialog, monkeypatch, tmp_path / "list.csv")
    ((path, text),) = saved
    assert path == tmp_path / "list.csv"
    head, *lines = csv.reader(io.StringIO(text))
    assert head == ["File", "State", "Reason"]
    assert [tuple(line) for line in lines] == shown(dialog)


def test_a_name_is_no_formula_in_a_spreadsheet(qtbot, monkeypatch, tmp_path, saved):
    library = replace(snapshot(), not_read=(("=1+1", "", "failed", "+2"),))
    dialog = UnreadableFilesDialog(library, lambda *given: saved.append(given))
    qtbot.addWidget(dialog)
    save(qtbot, dialog, monkeypatch, tmp_path / "list.csv")
    assert list(csv.reader(io.StringIO(saved[0][1])))[1] == ["'=1+1", "failed", "'+2"]


def test_nothing_is_saved_without_a_name(qtbot, dialog, monkeypatch, saved):
    save(qtbot, dialog, monkeypatch, "")
    assert saved == []


def test_a_name_is_no_html_in_its_tooltip(dialog):
    assert "<img" not in dialog.table.item(1, 0).toolTip()
    assert dialog.table.item(0, 0).toolTip() == "/scans/a/broken.png"
