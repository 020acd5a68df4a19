from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QFileDialog, QLabel, QPushButton

from semblance.app.library.library_commands import UnreadableFilesPanel
from tests.helpers.scored_snapshots import snapshot

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
    dialog = UnreadableFilesPanel(
        replace(snapshot(), files_without_cases=FILES), lambda *args: saved.append(args)
    )
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def table_rows(dialog) -> list[tuple[str, ...]]:
    table = dialog.table
    return [tuple(table.item(row, column).text() for column in range(3)) for row in range(table.rowCount())]


def texts(dialog) -> list[str]:
    return [label.text() for label in dialog.findChildren(QLabel)]


def test_every_file_that_failed_is_listed_with_its_reason(dialog):
    assert table_rows(dialog) == [
        ("/scans/a/broken.png", "failed", "The file is cut short."),
        (f"/scans/{HOSTILE}", "missing", "It is gone."),
        ("/scans.zip", "failed", "No zip."),
    ]
    assert "3 files" in texts(dialog)


def test_ignored_files_are_listed_on_request(qtbot, dialog):
    box = dialog.findChild(QCheckBox)
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert ("/scans/notes.txt", "ignored", "a text file") in table_rows(dialog)
    assert "4 files" in texts(dialog)
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert len(table_rows(dialog)) == 3


def test_without_unreadable_files_it_says_so(qtbot):
    dialog = UnreadableFilesPanel(snapshot(), print)
    qtbot.addWidget(dialog)
    assert table_rows(dialog) == []
    assert "Every file could be read." in texts(dialog)


def save(qtbot, dialog, monkeypatch, path):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    button = next(b for b in dialog.findChildren(QPushButton) if b.text() == "Save list…")
    qtbot.mouseClick(button, LEFT)


def test_the_list_is_saved_as_it_is_shown(qtbot, dialog, monkeypatch, tmp_path, saved):
    save(qtbot, dialog, monkeypatch, tmp_path / "list.csv")
    ((path, text),) = saved
    assert path == tmp_path / "list.csv"
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["File", "State", "Reason"]
    assert [tuple(row) for row in rows] == table_rows(dialog)


def test_formulas_in_names_are_escaped_in_the_csv(qtbot, monkeypatch, tmp_path, saved):
    library = replace(snapshot(), files_without_cases=(("=1+1", "", "failed", "+A2"),))
    dialog = UnreadableFilesPanel(library, lambda *args: saved.append(args))
    qtbot.addWidget(dialog)
    save(qtbot, dialog, monkeypatch, tmp_path / "list.csv")
    assert list(csv.reader(io.StringIO(saved[0][1])))[1] == ["'=1+1", "failed", "'+A2"]


def test_nothing_is_saved_without_a_file_name(qtbot, dialog, monkeypatch, saved):
    save(qtbot, dialog, monkeypatch, "")
    assert saved == []


def test_html_in_names_is_escaped_in_tooltips(dialog):
    assert "<img" not in dialog.table.item(1, 0).toolTip()
    assert dialog.table.item(0, 0).toolTip() == "/scans/a/broken.png"
