from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from semblance.app.library.verify_dialog import VerifyDialog
from semblance.core.workflows.maintenance.problems import Problem, VerificationResult

GONE = Problem("images", "/p", "s: 2 of 6 files are missing: a, b.", "Find moved images…", files=("a", "b"))
MENDED = Problem(
    "features", "features/1.zarr", "Damaged.", "Mend it.", repaired="6 cases were extracted again."
)


@pytest.fixture
def kept() -> list[tuple[Path, str]]:
    return []


@pytest.fixture
def dialog(qtbot, kept) -> VerifyDialog:
    made = VerifyDialog(lambda path, text: kept.append((path, text)))
    qtbot.addWidget(made)
    made.show()
    return made


def test_until_it_is_done_nothing_can_be_mended(dialog):
    assert dialog._told.text() == "Verifying…"
    assert not dialog.repair.isEnabled()
    assert not dialog.save_list.isEnabled()


def test_a_sound_library_needs_nothing(dialog):
    dialog.show_result(VerificationResult("/l", [], {"catalogues": 1, "images": 6}), writable=True)
    assert dialog._told.text() == "No problems were found. Checked: 1 catalogue, 6 images."
    assert not dialog.repair.isEnabled()


def test_findings_are_listed_with_what_to_do_or_was_done(dialog, qtbot):
    result = VerificationResult("/l", [GONE, MENDED], {"images": 6}, ["6 cases."], "/l/damaged/x")
    dialog.show_result(result, writable=True)
    assert dialog._told.text().startswith("1 thing is damaged or missing.")
    assert "stored in /l/damaged/x" in dialog._told.text()
    assert dialog._works.text() == "Can be used: 6 cases."
    rows = [[dialog.table.item(r, c).text() for c in range(3)] for r in range(2)]
    assert rows[0] == ["images", GONE.says, "Find moved images…"]
    assert rows[1][2] == "Done: 6 cases were extracted again."
    with qtbot.waitSignal(dialog.repair_requested):
        dialog.repair.click()
    assert not dialog.repair.isEnabled()
    dialog.fail()
    assert dialog._told.text() == "The library could not be verified."


def test_a_library_that_only_can_be_read_is_not_mended(dialog):
    dialog.show_result(VerificationResult("/l", [GONE]), writable=False)
    assert not dialog.repair.isEnabled()
    assert dialog.save_list.isEnabled()


def test_the_list_is_saved_with_all_files(dialog, kept, monkeypatch):
    dialog.show_result(VerificationResult("/l", [GONE]), writable=True)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("/x/list.csv", ""))
    dialog.save_list.click()
    ((path, text),) = kept
    assert path == Path("/x/list.csv")
    assert "images,s: 2 of 6 files" in text.replace('"', "")
    assert "a b" in text
