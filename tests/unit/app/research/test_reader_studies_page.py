"""The list of reader studies: what the right of the person does not allow is disabled, and the dialog says why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QLabel

from semblance.app.research.reader_studies_page import ReaderStudiesPage
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.library.location import server_address
from semblance.core.library.records import RIGHTS
from semblance.core.research.reader_study.design import ReadingArm, StudyCase, StudyDesign
from semblance.core.workflows.research import reader_study
from semblance.core.workflows.research.reader_study import ReaderProgress, StudyStatus
from tests.helpers.scored_snapshots import snapshot
from tests.helpers.widgets import show_widget

DESIGN = StudyDesign(
    ("benign", "malignant"),
    "malignant",
    (StudyCase("c0", "benign", 0, {}),),
    (ReadingArm("alone", "none"),),
    ("R1",),
)
STUDY = StudyStatus("pilot", "2026-01-01T00:00:00+00:00", DESIGN, (ReaderProgress("R1", 0, 1, ""),))


@pytest.mark.parametrize("right", RIGHTS)
def test_a_person_sees_which_right_or_server_is_missing(qtbot, context, monkeypatch, right):
    monkeypatch.setattr(reader_study, "studies", lambda *_, **__: (STUDY,))
    path = server_address("postgresql://anna@server/chest")
    context.state.set_library(replace(snapshot(writable=right != "reader"), location=path, right=right))
    dialog = show_widget(
        qtbot, ReaderStudiesPage(context, thumbnails=ThumbnailLoader(lambda _rows, _done: None)), 900, 700
    )
    context.jobs.run_pending()
    edits, answers = right in ("curator", "administrator"), right != "reader"

    def said() -> str:
        return " ".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisible())

    assert dialog.new_button.isEnabled() == dialog.delete_button.isEnabled() == edits
    assert dialog.read_button.isEnabled() == answers and dialog.export_button.isEnabled()
    why = f"Your right in this library is {right}."
    assert (why in said()) == (why in dialog.new_button.toolTip()) == (not edits)
    assert (why in dialog.read_button.toolTip()) == (not answers)
    context.state.set_server_problem("The connection was refused.")
    buttons = (dialog.new_button, dialog.read_button, dialog.export_button, dialog.delete_button)
    assert not any(button.isEnabled() for button in buttons)
    assert all("does not answer" in button.toolTip() for button in buttons) and "does not answer" in said()
    context.state.set_server_problem("")
    assert dialog.new_button.isEnabled() == edits
