"""The fields of a PACS server: those of its kind, checked before it is saved."""

from __future__ import annotations

import pytest

from semblance.app.network.server_dialog import ServerDialog
from semblance.core.network.servers import DICOMWEB, DIMSE, Server
from tests.helpers.widgets import show_widget


@pytest.fixture
def opened(qtbot):
    def make(server=None):
        dialog = show_widget(qtbot, ServerDialog(server), 600, 600)
        saved = []
        dialog.save_requested.connect(lambda *one: saved.append(one))
        return dialog, saved

    return make


def test_a_dimse_server_is_entered(opened):
    dialog, saved = opened()
    dialog.name.setText("archive")
    dialog.host.setText("10.0.0.7")
    dialog.port.setValue(4242)
    dialog.ae_title.setText("BAD\\TITLE")
    dialog.save_button.click()
    assert "is not an AE title" in dialog.error.text
    assert saved == []
    dialog.ae_title.setText("ARCHIVE")
    dialog.save_button.click()
    assert saved == [(Server("archive", DIMSE, host="10.0.0.7", port=4242, ae_title="ARCHIVE"), "")]
    assert not dialog.error.isVisible()
    assert not dialog.url.isVisible()


def test_only_the_fields_of_the_kind_are_shown_and_the_password_never(opened):
    web = Server("web", DICOMWEB, url="https://h/dicom-web", authentication="basic", user="reader")
    dialog, saved = opened(web)
    assert dialog.url.isVisible()
    assert dialog.user.isVisible()
    assert not dialog.host.isVisible()
    assert dialog.password.text() == ""
    dialog.save_button.click()
    dialog.password.setText("secret")
    dialog.save_button.click()
    assert saved == [(web, ""), (web, "secret")]
    dialog.authentication.setCurrentIndex(dialog.authentication.findData("none"))
    assert not dialog.password.isVisible()
    dialog.save_button.click()
    assert saved[-1] == (Server("web", DICOMWEB, url="https://h/dicom-web"), "")
    dialog.kind.setCurrentIndex(dialog.kind.findData(DIMSE))
    # Also with C-GET, for storage commitment.
    assert dialog.listen_host.isVisible()
