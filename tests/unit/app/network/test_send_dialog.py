"""The dialog that sends, against a PACS in this process, in a whole window."""

from __future__ import annotations

import pytest

from semblance.app.network.pacs_dialog import PacsDialog
from semblance.app.shell import search_operations
from semblance.core.network.servers import DIMSE, Server, save_server
from semblance.core.searches.query import Query
from tests.helpers.dicom_files import ROOT
from tests.helpers.orthanc import free_port
from tests.helpers.pacs_scp import AE_TITLE, running_archive
from tests.helpers.windows import open_window, wait_for


@pytest.fixture
def archive(tmp_path):
    with running_archive() as running:
        running.destination = free_port()
        yield running


@pytest.fixture
def window(mammograms, archive, without_processes):
    address = {"host": "127.0.0.1", "port": archive.port, "listen_port": archive.destination}
    save_server(Server("archive", DIMSE, ae_title=AE_TITLE, **address))
    with open_window(mammograms) as main_window:
        yield main_window


def test_a_report_goes_into_the_record_of_its_patient(qtbot, window, archive):
    search_operations.submit_query(window.context, Query(case=str(window.state.columns.ids[0])))
    wait_for(window, lambda: window.state.ranking is not None)
    dialog = window.parts.commands.pacs.show_send()
    assert dialog.what.currentData() == "report"
    assert "without names" in dialog.contents.text()
    assert archive.datasets == []
    dialog.commit.setChecked(True)
    dialog.send_button.click()
    wait_for(window, dialog.note.text)
    assert dialog.note.text() == "4 objects were sent. The PACS confirms 4."
    assert sorted(one.Modality for one in archive.datasets) == ["DOC", "KO", "OT", "SR"]
    (study,) = {one.StudyInstanceUID for one in archive.datasets}
    assert study.startswith(f"{ROOT}.5.")


def test_selected_cases_are_sent_as_their_files(qtbot, window, archive):
    rows = window.state.columns.case_row[:2]
    window.parts.commands.pacs._selected_cases = lambda: rows
    dialog = window.parts.commands.pacs.show_send()
    dialog.what.setCurrentText("The DICOM files of 2 selected cases")
    assert dialog.what.currentData() == "cases"
    dialog.send_button.click()
    wait_for(window, dialog.note.text)
    assert dialog.note.text() == "2 objects were sent."
    assert {one.Modality for one in archive.datasets} == {"MG"}
    archive.refuse = 0xA700
    dialog.send_button.click()
    wait_for(window, lambda: "0xA700" in dialog.note.text())
    assert dialog.note.text().startswith(
        "0 objects were sent.\nNot sent: 2 × Digital Mammography X-Ray Image"
    )


def test_servers_are_added_in_their_own_dialog(qtbot, window):
    dialog = window.parts.commands.pacs.show_send()
    dialog.servers_button.click()
    servers = window.findChild(PacsDialog)
    assert servers.isVisible()
    save_server(Server("second", DIMSE, host="127.0.0.1", port=104, ae_title="SECOND"))
    servers.accept()
    assert dialog.server_box.count() == 2
