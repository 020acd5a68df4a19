"""What all dialogs of research share: one job at a time with progress, its failure, Help, and the open library."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QPushButton

from semblance.app.research.agreement_dialog import AgreementDialog
from semblance.app.research.encoders_dialog import EncodersDialog
from semblance.app.research.experiments_dialog import ExperimentsDialog
from semblance.app.research.outcomes_dialog import OutcomesDialog
from semblance.app.research.reader_studies_dialog import ReaderStudiesDialog
from semblance.app.research.result_dialog import ResultDialog
from semblance.app.research.vault_dialog import VaultDialog
from semblance.app.widgets.message_lines import ErrorLine
from semblance.core.errors import BadInput
from tests.helpers.widgets import show_widget

KINDS = [
    AgreementDialog,
    EncodersDialog,
    ExperimentsDialog,
    OutcomesDialog,
    ReaderStudiesDialog,
    VaultDialog,
]


def give(value: object, reporter: object = None) -> object:
    if isinstance(value, Exception):
        raise value
    return value


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def dialog(request, qtbot, context):
    return show_widget(qtbot, request.param(context), 900, 600)


def test_every_dialog_of_results_is_tested_here():
    assert set(ResultDialog.__subclasses__()) == set(KINDS)
    assert len({kind.channel for kind in KINDS}) == len({kind.help_page for kind in KINDS}) == len(KINDS)


def test_a_job_shows_its_progress_until_its_result_arrives(dialog, context):
    found = []
    assert not dialog.progress.isVisible()
    dialog.start("Working", found.append, give, 7)
    assert dialog.running
    assert dialog.progress.isVisible()
    context.jobs.run_pending()
    assert found == [7]
    assert not dialog.running
    assert not dialog.progress.isVisible()


def test_a_job_can_be_cancelled(dialog, context):
    found = []
    dialog.start("Working", found.append, give, 7)
    dialog.cancel()
    context.jobs.run_pending()
    assert not found
    assert not dialog.running
    assert not dialog.progress.isVisible()


def test_a_failure_is_shown_with_its_remedy_until_the_next_job(dialog, context):
    dialog.start("Working", print, give, BadInput("It broke.", "Mend it."))
    context.jobs.run_pending()
    shown = " ".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisible())
    assert "It broke." in shown
    assert "Mend it." in shown
    dialog.start("Working", lambda _: None, give, 7)
    errors = [line.text for line in dialog.findChildren(ErrorLine)]
    assert not any(errors)


def test_help_shows_the_page_of_the_dialog(dialog, qtbot):
    button = next(one for one in dialog.findChildren(QPushButton) if one.text() == "Help")
    with qtbot.waitSignal(dialog.help_requested):
        button.click()
