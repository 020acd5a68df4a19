from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from semblance.app.library.maintenance_commands import VerifyPanel
from semblance.core.workflows.maintenance.verification_result import LibraryProblem, VerificationResult

MISSING = LibraryProblem(
    "images", "/p", "s: 2 of 6 files are missing: a, b.", "Find moved images…", files=("a", "b")
)
REPAIRED = LibraryProblem(
    "features", "features/1.zarr", "Damaged.", "Repair it.", repaired="6 cases were extracted again."
)


@pytest.fixture
def saved() -> list[tuple[Path, str]]:
    return []


@pytest.fixture
def dialog(qtbot, saved) -> VerifyPanel:
    dialog = VerifyPanel(lambda path, text: saved.append((path, text)))
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_nothing_can_be_repaired_during_verification(dialog):
    assert dialog.summary.text() == "Verifying…"
    assert not dialog.repair_button.isEnabled()
    assert not dialog.save_button.isEnabled()


def test_a_library_without_problems_needs_no_repair(dialog):
    dialog.show_result(VerificationResult("/l", [], {"catalogues": 1, "images": 6}), writable=True)
    assert dialog.summary.text() == "No problems were found. Checked: 1 catalogue, 6 images."
    assert not dialog.repair_button.isEnabled()


def test_problems_are_listed_with_their_remedy_or_repair(dialog, qtbot):
    result = VerificationResult("/l", [MISSING, REPAIRED], {"images": 6}, ["6 cases."], "/l/damaged/x")
    dialog.show_result(result, writable=True)
    assert dialog.summary.text().startswith("1 thing is damaged or missing.")
    assert "stored in /l/damaged/x" in dialog.summary.text()
    assert dialog.usable.text() == "Can be used: 6 cases."
    rows = [[dialog.table.item(r, c).text() for c in range(3)] for r in range(2)]
    assert rows[0] == ["images", MISSING.says, "Find moved images…"]
    assert rows[1][2] == "Done: 6 cases were extracted again."
    with qtbot.waitSignal(dialog.repair_requested):
        dialog.repair_button.click()
    assert not dialog.repair_button.isEnabled()
    dialog.fail()
    assert dialog.summary.text() == "The library could not be verified."


def test_a_read_only_library_is_not_repaired(dialog):
    dialog.show_result(VerificationResult("/l", [MISSING]), writable=False)
    assert not dialog.repair_button.isEnabled()
    assert dialog.save_button.isEnabled()


def test_the_list_is_saved_with_all_files(dialog, saved, monkeypatch):
    dialog.show_result(VerificationResult("/l", [MISSING]), writable=True)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("/x/list.csv", ""))
    dialog.save_button.click()
    ((path, text),) = saved
    assert path == Path("/x/list.csv")
    assert "images,s: 2 of 6 files" in text.replace('"', "")
    assert "a b" in text
