"""What all pages of research share: one job at a time with progress, its failure, help, and the open library."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from semblance.app.research.agreement_page import AgreementPage
from semblance.app.research.changes_page import ChangesPage
from semblance.app.research.encoders_page import EncodersPage
from semblance.app.research.experiments_page import ExperimentsPage
from semblance.app.research.outcomes_page import OutcomesPage
from semblance.app.research.reader_studies_page import ReaderStudiesPage
from semblance.app.research.result_page import ResultPage
from semblance.app.research.vault_page import VaultPage
from semblance.core.errors import BadInput
from tests.helpers.scored_snapshots import snapshot
from tests.helpers.widgets import show_widget

KINDS = [
    AgreementPage,
    ChangesPage,
    EncodersPage,
    ExperimentsPage,
    OutcomesPage,
    ReaderStudiesPage,
    VaultPage,
]


def give(value: object, reporter: object = None) -> object:
    if isinstance(value, Exception):
        raise value
    return value


def give_path(path: object, value: object, reporter: object = None) -> object:
    return path, value


def test_every_page_of_results_shows_progress_failures_and_help(qtbot, context):
    assert set(ResultPage.__subclasses__()) == set(KINDS)
    assert len({kind.channel for kind in KINDS}) == len({kind.help_page for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        dialog, helped = show_widget(qtbot, kind(context), 900, 600), []
        dialog.header.help_requested.connect(lambda helped=helped: helped.append(True))
        dialog.header.help_button.click()
        assert helped == [True], kind
        assert not dialog.progress.isVisible(), kind
        dialog.start("Working", print, give, BadInput("It broke.", "Mend it."))
        assert dialog.progress.isVisible(), kind
        context.jobs.run_pending()
        assert not dialog.progress.isVisible(), kind
        dialog.close()


@pytest.fixture
def dialog(qtbot, context):
    return show_widget(qtbot, AgreementPage(context), 900, 600)


def test_a_job_shows_its_progress_until_its_result_arrives_or_it_is_cancelled(dialog, context):
    found = []
    for cancelled in (False, True):
        dialog.start("Working", found.append, give, 7)
        assert dialog.running
        assert dialog.progress.isVisible()
        if cancelled:
            dialog.cancel()
        context.jobs.run_pending()
        assert found == [7]
        assert not dialog.running
        assert not dialog.progress.isVisible()


def test_a_failure_is_shown_with_its_remedy_until_the_next_job(dialog, context):
    dialog.start("Working", print, give, BadInput("It broke.", "Mend it."))
    context.jobs.run_pending()
    assert dialog.error_line.isVisible()
    assert dialog.error_line.text == "It broke. Mend it."
    dialog.start("Working", lambda _: None, give, 7)
    assert not dialog.error_line.isVisible()


def test_jobs_on_the_library_run_on_the_open_one(dialog, context):
    found = []
    assert dialog.run("Working", found.append, give_path, 7) is None
    dialog.read("Reading", found.append, give_path, 8)
    assert found == [None]
    context.state.set_library(snapshot())
    context.jobs.run_pending()
    dialog.run("Working", found.append, give_path, 7)
    context.jobs.run_pending()
    dialog.read("Reading", found.append, give_path, 8)
    context.jobs.run_pending()
    assert found[1:] == [(context.state.location, 7), (context.state.location, 8)]


def test_enter_and_a_double_click_enter_a_row_and_escape_is_left_to_the_page(qtbot, context):
    page, entered = show_widget(qtbot, AgreementPage(context), 900, 600), []
    table = page.subjects
    table.set_rows(["subject"], [["a"], ["b"]])
    table.entered.connect(entered.append)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    at = table.visualItemRect(table.item(1, 0)).center()
    for click in (qtbot.mouseClick, qtbot.mouseDClick):
        click(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert entered == [0, 1]
    with qtbot.waitSignal(page.closed):
        qtbot.keyClick(table, Qt.Key.Key_Escape)
