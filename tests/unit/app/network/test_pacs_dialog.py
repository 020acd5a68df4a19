"""The dialog of PACS servers, against a PACS in this process."""

from __future__ import annotations

import socket

import pytest
from PySide6.QtCore import QItemSelectionModel

from semblance.app.network.pacs_dialog import PacsDialog
from semblance.app.shell.state import WindowState
from semblance.core.network.servers import DIMSE, Server, read_servers, save_server
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.dicom_files import ROOT, ct_series
from tests.helpers.pacs_scp import AE_TITLE, running_archive
from tests.helpers.widgets import show_widget

STUDY, SERIES = f"{ROOT}.1", f"{ROOT}.2"


@pytest.fixture
def archive(tmp_path):
    files = ct_series(tmp_path / "pacs", 4, StudyDate="20240105", StudyDescription="Thorax")
    with running_archive(files) as running:
        save_server(Server("archive", DIMSE, host="127.0.0.1", port=running.port, ae_title=AE_TITLE))
        yield running


@pytest.fixture
def opened(context, qtbot):
    def make():
        return show_widget(qtbot, PacsDialog(context), 980, 680)

    return make


def select(tree, item):
    """Select ``item`` alone, whatever keys an earlier test left pressed."""
    tree.setCurrentItem(item, 0, QItemSelectionModel.SelectionFlag.ClearAndSelect)


def searched(dialog, context):
    dialog.search_button.click()
    context.jobs.run_pending()
    return dialog


def test_nothing_is_connected_before_search_and_the_tree_has_the_series(
    archive, opened, context, monkeypatch
):
    opened_sockets = []
    connect = socket.socket.connect
    monkeypatch.setattr(
        socket.socket,
        "connect",
        lambda self, address: opened_sockets.append(address) or connect(self, address),
    )
    dialog = opened()
    context.jobs.run_pending()
    dialog.patient.setText("no*")
    dialog.date_from.setText("2024-01-05")
    dialog.date_to.setText("2024-01-05")
    assert opened_sockets == []
    assert archive.threads == []
    assert not dialog.retrieve_button.isEnabled()
    searched(dialog, context)
    assert archive.asked
    assert opened_sockets
    patient = dialog.tree.topLevelItem(0)
    study = patient.child(0)
    assert (study.text(0), study.text(1), study.text(2)) == ("Thorax", "2024-01-05", "CT")
    assert dialog.tree.chosen() == [(STUDY, [])]
    study.setExpanded(True)
    context.jobs.run_pending()
    assert study.childCount() == 1
    select(dialog.tree, study.child(0))
    assert dialog.tree.chosen() == [(STUDY, [SERIES])]
    select(dialog.tree, patient)
    assert dialog.tree.chosen() == [(STUDY, [])]


def test_a_study_is_retrieved_into_a_library(archive, opened, context, tmp_path):
    dialog = searched(opened(), context)
    library, told = tmp_path / "lib.semblance", []
    dialog.retrieved.connect(told.append)
    assert "new library" in dialog.retrieve_button.text()
    dialog.retrieve_into(library)
    assert dialog.progress.isVisible()
    context.jobs.run_pending()
    assert told == [library]
    assert "1 case was added to lib." in dialog.note.text()
    assert not dialog.progress.isVisible()
    assert len(read_snapshot(library).columns) == 1
    dialog.retrieve_into(library)
    context.jobs.run_pending()
    assert told == [library]
    assert "1 was there already" in dialog.note.text()


def test_a_series_becomes_the_query_and_its_files_are_not_in_the_library(
    archive, opened, context, monkeypatch, tmp_path
):
    asked = []
    monkeypatch.setattr("semblance.app.network.pacs_dialog.available", lambda _: {"metric"})
    monkeypatch.setattr(WindowState, "location", tmp_path / "none.semblance", raising=False)
    monkeypatch.setattr(
        "semblance.app.shell.search_operations.submit_query", lambda _, query: asked.append(query)
    )
    dialog = searched(opened(), context)
    dialog.query_button.click()
    context.jobs.run_pending()
    (query,) = asked
    assert query.image.is_file()
    assert query.image.parent.name == SERIES


def test_a_failure_shows_its_diagnosis_and_leaves_the_dialog_usable(archive, opened, context):
    save_server(Server("archive", DIMSE, host="127.0.0.1", port=archive.port, ae_title="OTHER"))
    dialog = opened()
    dialog.test_button.click()
    context.jobs.run_pending()
    assert "AE title" in dialog.error.text
    dialog.date_from.setText("soon")
    searched(dialog, context)
    assert "not a date" in dialog.error.text
    assert dialog.search_button.isEnabled()
    save_server(Server("archive", DIMSE, host="127.0.0.1", port=archive.port, ae_title=AE_TITLE))
    dialog.load_servers()
    dialog.test_button.click()
    context.jobs.run_pending()
    assert dialog.error.text == ""
    assert dialog.note.text() == f"{AE_TITLE}@127.0.0.1:{archive.port} answers."


def test_servers_are_added_renamed_and_removed(opened, context):
    dialog = opened()
    assert dialog.empty.accessibleName() == "No PACS is set up"
    assert not dialog.search_button.isEnabled()
    form = dialog.add_server()
    form.name.setText("archive")
    form.host.setText("10.0.0.7")
    form.ae_title.setText("ARCHIVE")
    form.save_button.click()
    context.jobs.run_pending()
    assert dialog.server().name == "archive"
    assert dialog.search_button.isEnabled()
    form = dialog.edit_server()
    form.name.setText("other")
    form.save_button.click()
    context.jobs.run_pending()
    assert [one.name for one in read_servers()] == ["other"]
    dialog.remove_server()
    context.jobs.run_pending()
    assert read_servers() == []
    assert dialog.empty.accessibleName() == "No PACS is set up"


def test_the_error_names_what_to_install_without_the_extra(opened, monkeypatch):
    save_server(Server("archive", DIMSE, host="10.0.0.7", port=104, ae_title="ARCHIVE"))
    monkeypatch.setattr("semblance.app.network.pacs_dialog.find_spec", lambda _: None)
    dialog = opened()
    assert 'pip install "semblance-retrieval[app,pacs]"' in dialog.empty._text.text()
    assert not dialog.search_button.isEnabled()
    assert not dialog.test_button.isEnabled()
