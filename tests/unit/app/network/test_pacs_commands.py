"""From the command to cases in the open library and to a query, in a window, against a PACS in this process."""

from __future__ import annotations

import pytest

from semblance.app.network.pacs_dialog import PacsDialog
from semblance.app.window.help_dialog import HelpDialog
from semblance.core.network.servers import DIMSE, Server, save_server
from tests.helpers.dicom_files import ct_series
from tests.helpers.pacs_scp import AE_TITLE, running_archive
from tests.helpers.striped_library import striped_library
from tests.helpers.windows import open_window, wait_for


@pytest.fixture
def window(tmp_path, without_processes):
    library = striped_library(tmp_path)
    with running_archive(ct_series(tmp_path / "pacs", 4, StudyDate="20240105")) as archive:
        save_server(Server("archive", DIMSE, host="127.0.0.1", port=archive.port, ae_title=AE_TITLE))
        with open_window(library) as main_window:
            yield main_window


def test_a_retrieved_study_is_shown_and_measured_and_a_series_becomes_the_query(qtbot, window):
    window.context.actions["pacs"].trigger()
    dialog = window.findChild(PacsDialog)
    dialog.search_button.click()
    wait_for(window, dialog.query_button.isEnabled)
    dialog.query_button.click()
    wait_for(window, lambda: window.state.query is not None and window.state.query.image is not None)
    assert window.state.query.image.suffix == ".dcm"
    wait_for(window, lambda: window.state.ranking is not None and dialog.retrieve_button.isEnabled())
    dialog.retrieve_button.click()
    wait_for(window, lambda: len(window.state.columns) == 25)
    assert len(window.state.library.metrics) >= 1
    window.context.actions["pacs"].trigger()
    assert window.findChildren(PacsDialog) == [dialog]
    dialog._help_button.click()
    assert window.findChild(HelpDialog).isVisible()
