"""The dialog that de-identifies: what is asked for is done, text is reviewed first, and no name is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pydicom import dcmread
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest

from semblance.app.reports import deidentify_dialog
from semblance.app.reports.deidentify_dialog import FILES, DeidentifyDialog
from semblance.app.shell.settings import Settings
from semblance.app.shell.theme import set_theme
from semblance.core.imaging.deidentification.profile import Option
from semblance.core.imaging.text_detector import TextBox
from semblance.core.workflows.imaging import clean_burnt_in_text
from tests.helpers.contexts import make_context
from tests.helpers.dicom_files import ROOT, image, save
from tests.helpers.prompt_jobs import PromptJobs

#: What the stand-in for the network finds in images that are not black.
FOUND = TextBox(10, 20, 30, 8)


def bright_image() -> np.ndarray:
    """All white but one pixel: boxes become as dark as the darkest of them."""
    pixels = np.full((60, 80), 90, np.uint8)
    pixels[0, 0] = 0
    return pixels


@pytest.fixture
def source(tmp_path):
    """One image with text, one of three frames of which the last differs, one black, and one that is damaged."""
    bright = bright_image()
    shown = {"text": bright, "frames": np.stack([bright, bright, 0 * bright]), "black": 0 * bright}
    for number, (name, pixels) in enumerate(shown.items()):
        made = image(
            pixels,
            PatientID="MRN77",
            PatientName="Quixley^Ann",
            StudyDate="20200102",
            StudyInstanceUID=f"{ROOT}.5",
            SeriesInstanceUID=f"{ROOT}.6.{number}",
            SOPInstanceUID=f"{ROOT}.7.{number}",
        )
        made.BurnedInAnnotation = "NO"
        save(made, tmp_path / "in" / f"{name}.dcm")
    (tmp_path / "in" / "Quixley.dcm").write_bytes(b"\0" * 128 + b"DICM" + b"\x08\x00junk")
    return tmp_path / "in"


@pytest.fixture
def dialog(private_home, qtbot, source, tmp_path, monkeypatch):
    network = SimpleNamespace(boxes=lambda shown: [FOUND] if shown.pixels.max() else [])
    monkeypatch.setattr(clean_burnt_in_text, "text_detector", lambda: network)
    monkeypatch.setattr(deidentify_dialog, "is_text_detector_installed", lambda: True)
    jobs = PromptJobs()
    made = DeidentifyDialog(make_context(jobs, Settings()))
    qtbot.addWidget(made)
    made.show()
    assert made.kind.currentData() == FILES
    assert not made.run_button.isEnabled()
    made.source.setText(str(source))
    made.out.setText(str(tmp_path / "out"))
    yield made
    jobs.shutdown()


def test_no_field_is_cut_off_on_a_small_screen_with_large_text(qapp, dialog):
    set_theme(qapp, "dark", 1.5)
    qapp.processEvents()
    area = dialog.pages.currentWidget()
    needed = area.widget().minimumSizeHint().width()
    set_theme(qapp, "dark", 1.0)
    assert needed <= area.viewport().width() <= 800


def run(qtbot, dialog) -> None:
    QTest.mouseClick(dialog.run_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.is_running)


def written(tmp_path) -> dict[str, object]:
    return {
        str(one.SOPClassUID) + str(one.get("NumberOfFrames", "")) + str(int(one.pixel_array.max())): one
        for one in map(dcmread, (tmp_path / "out").rglob("*.dcm"))
    }


def test_the_chosen_options_are_in_the_files_and_the_result_names_what_was_not_written(
    qtbot, dialog, tmp_path
):
    dialog.dates.setCurrentIndex(dialog.dates.findData(Option.MODIFIED_DATES))
    dialog.options[Option.PATIENT].click()
    assert dialog.run_button.text() == "De-identify"
    run(qtbot, dialog)
    assert "3 files were written of 1 patient." in dialog.note.text()
    assert "Not written: Quixley.dcm" in dialog.note.text()
    receipt = json.loads((tmp_path / "out" / "receipt.json").read_text())
    assert [one["code"] for one in receipt["profile"]] == ["113100", "113107", "113108"]
    for one in map(dcmread, (tmp_path / "out").rglob("*.dcm")):
        assert "Quixley" not in str(one) and "MRN77" not in str(one)
        assert one.StudyDate not in ("", "20200102")
    assert dialog.folder_button.isVisible()
    # Nothing is written over.
    run(qtbot, dialog)
    assert "is not empty" in dialog.error.text


def test_boxes_are_reviewed_before_anything_is_written(qtbot, dialog, tmp_path):
    dialog.pixels.click()
    assert dialog.run_button.text() == "Look for text…"
    run(qtbot, dialog)
    page, folder = dialog.review_page, Path(dialog._review_folder.name)
    assert dialog.is_reviewing and not (tmp_path / "out").exists()
    assert [page.list.item(row).text() for row in range(page.list.count())] == [
        "Image 1: 1 box, 2 frames",
        "Image 2: 0 boxes",
        "Image 3: 1 box",
    ]
    assert page.review.others == (page.review.others[0],)
    # The box of the sequence is removed with the keys, and another one is drawn with the mouse.
    page.list.setCurrentRow(0)
    QTest.keyClick(page.editor, Qt.Key.Key_PageDown)
    QTest.keyClick(page.editor, Qt.Key.Key_Delete)
    whole = page.editor.box_rect(TextBox(0, 0, 80, 60))
    scale = whole.width() / 80
    for kind, x, y in (
        (QEvent.Type.MouseButtonPress, 50, 40),
        (QEvent.Type.MouseMove, 60, 45),
        (QEvent.Type.MouseButtonRelease, 60, 45),
    ):
        at = QPointF(whole.x() + scale * x, whole.y() + scale * y)
        left = Qt.MouseButton.LeftButton
        event = QMouseEvent(kind, at, page.editor.mapToGlobal(at), left, left, Qt.KeyboardModifier.NoModifier)
        getattr(
            page.editor,
            {"MouseButtonPress": "mousePressEvent", "MouseMove": "mouseMoveEvent"}.get(
                kind.name, "mouseReleaseEvent"
            ),
        )(event)
    assert page.editor.boxes == [TextBox(50, 40, 10, 5)]
    assert page.list.item(0).text() == "Image 1: 1 box, 2 frames"
    run(qtbot, dialog)
    frames = next(one for one in written(tmp_path).values() if one.get("NumberOfFrames"))
    for frame in frames.pixel_array[:2]:
        expected = bright_image()
        expected[40:45, 50:60] = 0
        assert np.array_equal(frame, expected)
    single = next(
        one for one in written(tmp_path).values() if not one.get("NumberOfFrames") and one.pixel_array.max()
    )
    assert single.pixel_array[FOUND.part].max() < 90 == single.pixel_array.max()
    assert "Text was blacked out in 3 images." in dialog.note.text()
    # The images that show the names are gone.
    assert not folder.exists()
    assert dialog._review_folder is None


def test_a_review_that_is_closed_leaves_nothing_behind(qtbot, dialog, tmp_path):
    dialog.pixels.click()
    run(qtbot, dialog)
    folder = Path(dialog._review_folder.name)
    assert any(folder.rglob("*.png"))
    dialog.reject()
    assert not folder.exists()
    assert not (tmp_path / "out").exists()


def test_without_what_finds_text_only_the_person_can_leave_it(qtbot, private_home, monkeypatch):
    monkeypatch.setattr(deidentify_dialog, "is_text_detector_installed", lambda: False)
    for asked in (False, True):
        settings, jobs = Settings(), PromptJobs()
        settings.blacks_out_text = asked
        made = DeidentifyDialog(make_context(jobs, settings))
        qtbot.addWidget(made)
        assert (made.pixels.isEnabled(), made.pixels.isChecked()) == (asked, asked)
        assert "help page Installation" in made.pixels_note.text()
        jobs.shutdown()
