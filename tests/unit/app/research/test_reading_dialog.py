"""The reading of a reader study: blinded, by keyboard alone, timed without pauses."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from semblance.app.research import reading_dialog
from semblance.app.research.reading_dialog import ReadingDialog
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.errors import BadInput
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.research import reader_study
from semblance.core.workflows.research.reader_study import NextCase
from tests.helpers.bad_images import encoded, pattern
from tests.helpers.scored_snapshots import snapshot
from tests.helpers.widgets import show_widget


class Study:
    """Three readings, the second without similar cases; takes answers like a library."""

    def __init__(self, rows):
        self.rows, self.answers, self.error = rows, [], None

    def next_case(self, _library, _name, reader, **_):
        n = len(self.answers)
        if n == 3:
            return NextCase(reader, ("benign", "malignant"), 3, 3)
        similar = () if n == 1 else tuple(self.rows[1:4])
        return NextCase(reader, ("benign", "malignant"), n, 3, n, 0, 1, self.rows[0], similar)

    def record_answer(self, _library, _name, *answer, **_):
        if self.error is not None:
            raise self.error
        self.answers.append(answer)


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(reading_dialog.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def study(context, monkeypatch, tmp_path):
    context.state.set_library(snapshot())
    study = Study(context.state.columns.case_row[:4].tolist())
    image = tmp_path / "malignant patient Miller.png"
    image.write_bytes(encoded(pattern(40, 40), "PNG"))
    monkeypatch.setattr(reader_study, "next_case", study.next_case)
    monkeypatch.setattr(reader_study, "record_answer", study.record_answer)
    monkeypatch.setattr(view_images, "view_case", lambda *_, **__: view_images.view_file(image))
    return study


@pytest.fixture
def dialog(qtbot, context, study, clock):
    thumbnails = ThumbnailLoader(lambda _rows, _done: None)
    dialog = show_widget(qtbot, ReadingDialog(context, thumbnails, "pilot", "R1"), 900, 700)
    context.jobs.run_pending()
    return dialog


def press(dialog, *keys):
    for key in keys:
        QTest.keyClick(dialog, key)


def test_three_cases_are_read_by_keys_alone(dialog, study, context, clock):
    clock[0] += 7.0
    press(dialog, Qt.Key.Key_B, Qt.Key.Key_4, Qt.Key.Key_Return)
    context.jobs.run_pending()
    press(dialog, Qt.Key.Key_A, Qt.Key.Key_B, Qt.Key.Key_A, Qt.Key.Key_1, Qt.Key.Key_5, Qt.Key.Key_Enter)
    context.jobs.run_pending()
    assert study.answers == [("R1", 0, "malignant", 4, 7.0), ("R1", 1, "benign", 5, 0.0)]


def test_nothing_is_saved_without_finding_and_confidence(dialog, study, context):
    press(dialog, Qt.Key.Key_Return, Qt.Key.Key_B, Qt.Key.Key_Return)
    context.jobs.run_pending()
    assert study.answers == []
    assert dialog.save_button.toolTip() == "Choose a finding and a confidence first"


def test_the_choice_of_the_last_case_is_cleared(dialog, study, context):
    press(dialog, Qt.Key.Key_B, Qt.Key.Key_4, Qt.Key.Key_Return)
    context.jobs.run_pending()
    press(dialog, Qt.Key.Key_Return)
    context.jobs.run_pending()
    assert len(study.answers) == 1


def test_pauses_hide_the_image_and_do_not_count(dialog, study, context, clock):
    clock[0] += 2.0
    press(dialog, Qt.Key.Key_Space)
    clock[0] += 60.0
    assert not dialog.pane.isVisible()
    press(dialog, Qt.Key.Key_B, Qt.Key.Key_4, Qt.Key.Key_Return, Qt.Key.Key_Space)
    clock[0] += 3.0
    assert dialog.pane.isVisible()
    press(dialog, Qt.Key.Key_B, Qt.Key.Key_4, Qt.Key.Key_Return)
    context.jobs.run_pending()
    assert [answer[-1] for answer in study.answers] == [5.0]


def test_the_case_is_blinded_and_the_unaided_reading_shows_no_similar_cases(dialog, study, context):
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    assert not any("Miller" in text for text in [*texts, dialog.windowTitle()])
    assert len(dialog.similar.model()) == 3
    # Distances and ranks would tell one arm from another.
    assert not dialog.similar.model().ranked
    assert dialog.similar.isVisible()
    press(dialog, Qt.Key.Key_B, Qt.Key.Key_4, Qt.Key.Key_Return)
    context.jobs.run_pending()
    assert not dialog.similar.isVisible()


def test_an_answer_that_cannot_be_saved_stays_and_can_be_saved_again(dialog, study, context, clock):
    study.error = BadInput("The disk is full.", "Free some space.")
    clock[0] += 4.0
    press(dialog, Qt.Key.Key_B, Qt.Key.Key_4, Qt.Key.Key_Return)
    context.jobs.run_pending()
    assert "The disk is full. Free some space." in [label.text() for label in dialog.findChildren(QLabel)]
    study.error = None
    clock[0] += 1.0
    press(dialog, Qt.Key.Key_Return)
    context.jobs.run_pending()
    assert study.answers == [("R1", 0, "malignant", 4, 5.0)]


def test_the_end_is_reported(dialog, study, context):
    for _ in range(3):
        press(dialog, Qt.Key.Key_A, Qt.Key.Key_3, Qt.Key.Key_Return)
        context.jobs.run_pending()
    assert dialog.message.accessibleName() == "All cases are read"
    assert not dialog.save_button.isEnabled()
