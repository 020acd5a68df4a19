from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from semblance.app.library.maintenance_commands import ExportLogPanel

EXPORTS = [
    {"time": "2026-01-02T03:04:05+00:00", "by": "mina", "what": "report", "kind": "pdf", "files": 1}
    | {"identified": True},
    {"time": "", "by": "", "what": "damaged line", "kind": "", "files": 0, "identified": False},
    {"time": "2026-02-02T03:04:05+00:00", "by": "", "what": "plots", "kind": "png", "files": 4}
    | {"identified": False},
]


@pytest.fixture
def saved() -> list[tuple[Path, str]]:
    return []


def open_dialog(qtbot, exports, saved) -> ExportLogPanel:
    dialog = ExportLogPanel(exports, lambda path, text: saved.append((path, text)))
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_exports_are_listed_newest_first_and_can_be_copied_and_saved(qtbot, saved, monkeypatch, tmp_path):
    dialog = open_dialog(qtbot, EXPORTS, saved)
    assert [dialog.table.item(row, 2).text() for row in range(3)] == ["Plots", "Damaged line", "Report"]
    assert dialog.table.item(2, 1).text() == "mina"
    assert [dialog.table.item(row, 5).text() for row in (0, 2)] == ["de-identified", "identifiable"]
    dialog.table.selectRow(2)
    qtbot.keyClick(dialog.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text()
    assert copied.split("\t")[1:] == ["mina", "Report", "pdf", "1", "identifiable"]
    dialog.table.clearSelection()
    qtbot.mouseClick(dialog.copy_button, Qt.MouseButton.LeftButton)
    assert len(QGuiApplication.clipboard().text().splitlines()) == 3
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args: (str(tmp_path / "e.csv"), ""))
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    ((path, text),) = saved
    assert path == tmp_path / "e.csv"
    assert text.splitlines()[0] == "When,By,What,Kind of file,Files,Patients"
    assert len(text.splitlines()) == 4


def test_without_exports_nothing_can_be_copied_or_saved(qtbot, saved):
    dialog = open_dialog(qtbot, [], saved)
    assert not dialog.copy_button.isEnabled()
    assert not dialog.save_button.isEnabled()
