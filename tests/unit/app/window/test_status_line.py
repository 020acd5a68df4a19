from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QLabel, QToolButton
from shiboken6 import isValid

from semblance.app.widgets.progress_line import ProgressLine
from semblance.app.window.status_line import JobsDialog
from semblance.core.engine import Progress

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def dialog(jobs, context):
    jobs.run("Importing images", list)
    made = JobsDialog(context)
    made.show()
    yield made
    if isValid(made):
        made.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def titles(dialog) -> list[str]:
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    return [line.bar.accessibleName() for line in dialog.findChildren(ProgressLine)]


def nothing(dialog) -> QLabel:
    return next(label for label in dialog.findChildren(QLabel) if label.text() == "No jobs running")


def press(qtbot, line, name):
    button = next(b for b in line.findChildren(QToolButton) if b.accessibleName() == name)
    assert not button.isHidden()
    qtbot.mouseClick(button, LEFT)


def test_the_list_follows_the_jobs(dialog, jobs):
    assert titles(dialog) == ["Importing images"]
    assert not nothing(dialog).isVisible()
    jobs.run("Thumbnails", list, quiet=True)
    jobs.run("Training bdm", list)
    assert titles(dialog) == ["Importing images", "Training bdm"]
    jobs.run_pending()
    assert titles(dialog) == []
    assert nothing(dialog).isVisible()


def test_each_job_can_be_ended(qtbot, dialog, jobs, monkeypatch):
    stopped = []
    jobs.run("Training bdm", list, can_stop=True)
    monkeypatch.setattr(jobs.pending[-1], "stop", lambda: stopped.append("Training bdm"))
    plain, training = dialog.findChildren(ProgressLine)
    press(qtbot, training, "Stop and keep the best so far")
    assert stopped == ["Training bdm"]
    press(qtbot, training, "Cancel")
    assert titles(dialog) == ["Importing images"]
    press(qtbot, plain, "Cancel")
    assert jobs.listed == []


def test_progress_is_shown(qtbot, dialog, jobs):
    with qtbot.waitSignal(jobs.listed[0].changed):
        jobs.listed[0].receive("progress", Progress(1, 4, "Reading"))
    dialog._renew()
    assert "25 %" in [label.text() for label in dialog.findChildren(QLabel)]


def test_after_closing_no_progress_is_received(dialog, jobs):
    dialog.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    jobs.run("Training bdm", list)
    jobs.run_pending()
