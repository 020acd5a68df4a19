"""The dialog that watches: off until it is switched on, its state, what it takes, and its end."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import replace

import pytest

from semblance.app.network.watch_dialog import LISTENER, WatchDialog
from semblance.core.errors import SemblanceError
from semblance.core.network.servers import find_server
from semblance.core.workflows.network.send_files import send
from tests.helpers.certificates import pair
from tests.helpers.dicom_files import ct_series
from tests.helpers.mammogram_library import PATIENTS
from tests.helpers.orthanc import free_port
from tests.helpers.windows import open_window, wait_for


@pytest.fixture
def window(mammograms):
    with open_window(mammograms) as main_window:
        yield main_window


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), contextlib.closing(socket.create_connection(("127.0.0.1", port), 5)):
        return True
    return False


def test_a_listener_runs_from_start_to_stop_and_its_images_come_into_the_library(qtbot, window, tmp_path):
    dialog = window.parts.commands.pacs.show_watch()
    port = free_port()
    dialog.source.setCurrentIndex(dialog.source.findData(LISTENER))
    dialog.port.setValue(port)
    assert dialog.host.text() == "127.0.0.1"
    assert "Off." in dialog.status.text() and not listens(port)
    dialog.quiet.setValue(1)
    dialog.switch_button.click()
    # The window does not come to rest while it watches.
    wait = qtbot.waitUntil
    wait(lambda: dialog.status.text().startswith("On."))
    assert f"127.0.0.1:{port}" in dialog.status.text()
    assert dialog.switch_button.text() == "Stop watching"
    assert [job.title for job in window.jobs.listed] == [f"Listening on 127.0.0.1:{port} for mammograms"]
    ct_series(tmp_path / "new", 3)
    server = find_server(f"SEMBLANCE@127.0.0.1:{port}")
    assert len(send(server, tmp_path / "new").sent) == 3
    wait(lambda: len(window.state.columns) == PATIENTS + 1)
    assert "3 images were taken, 1 import into the library." in dialog.status.text()
    # Closing the dialog leaves it running.
    dialog.accept()
    assert window.parts.commands.pacs.show_watch() is dialog and dialog.is_running
    dialog.switch_button.click()
    assert dialog.status.text().startswith("Off.")
    wait(lambda: not listens(port))


def test_with_certificates_only_senders_with_tls_and_a_signed_certificate_are_heard(qtbot, window, tmp_path):
    authority = pair(tmp_path, "authority")
    own, known = (pair(tmp_path, name, signer=authority) for name in ("own", "known"))
    dialog = window.parts.commands.pacs.show_watch()
    dialog.source.setCurrentIndex(dialog.source.findData(LISTENER))
    dialog.port.setValue(port := free_port())
    dialog.key.line.setText(str(own.key))
    dialog.switch_button.click()
    wait_for(window, lambda: "certificate of this computer" in dialog.error.text)
    dialog.certificate.line.setText(str(own.certificate))
    dialog.authority.line.setText(str(authority.certificate))
    assert "encrypted with TLS" in dialog.warning.text()
    dialog.switch_button.click()
    qtbot.waitUntil(lambda: dialog.status.text().startswith("On."))
    ct_series(tmp_path / "new", 3)
    plain = replace(find_server(f"SEMBLANCE@localhost:{port}"), authority=str(authority.certificate))
    named = replace(plain, tls=True, certificate=str(known.certificate), key=str(known.key))
    for server in (plain, replace(plain, tls=True)):
        with pytest.raises(SemblanceError):
            send(server, tmp_path / "new")
    assert len(send(named, tmp_path / "new").sent) == 3
    dialog.switch_button.click()
    assert dialog.status.text().startswith("Off.")


def test_what_cannot_be_listened_on_has_a_reason(qtbot, window):
    dialog = window.parts.commands.pacs.show_watch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        dialog.source.setCurrentIndex(dialog.source.findData(LISTENER))
        dialog.port.setValue(taken.getsockname()[1])
        dialog.ae_title.setText("")
        dialog.switch_button.click()
        assert "AE title" in dialog.error.text
        dialog.ae_title.setText("SEMBLANCE")
        dialog.switch_button.click()
        wait_for(window, lambda: "Cannot listen" in dialog.error.text)
    assert not dialog.is_running


def test_other_computers_are_not_heard_without_tls_and_names(qtbot, window, tmp_path):
    own = pair(tmp_path, "own")
    dialog = window.parts.commands.pacs.show_watch()
    dialog.source.setCurrentIndex(dialog.source.findData(LISTENER))
    dialog.port.setValue(port := free_port())
    for host in ("0.0.0.0", "127.0.0.1.example"):
        dialog.host.setText(host)
        assert "That needs a certificate" in dialog.warning.text()
        dialog.switch_button.click()
        assert "not be encrypted" in dialog.error.text and "127.0.0.1" in dialog.error.text
    dialog.host.setText("0.0.0.0")
    dialog.certificate.line.setText(str(own.certificate))
    dialog.key.line.setText(str(own.key))
    assert "That needs a certificate" in dialog.warning.text()
    dialog.switch_button.click()
    assert "every one of them could send" in dialog.error.text
    assert not dialog.is_running and not listens(port)
    dialog.allowed.setText("SCANNER")
    assert "encrypted with TLS" in dialog.warning.text()
    dialog.switch_button.click()
    qtbot.waitUntil(lambda: dialog.status.text().startswith("On."))
    dialog.switch_button.click()


def test_a_host_for_other_computers_says_so(context, qtbot):
    dialog = WatchDialog(context)
    qtbot.addWidget(dialog)
    dialog.source.setCurrentIndex(dialog.source.findData(LISTENER))
    assert "Only programs on this computer" in dialog.warning.text()
    dialog.host.setText("0.0.0.0")
    assert "Other computers" in dialog.warning.text()
    assert not dialog.switch_button.isEnabled()
    assert "library" in dialog.switch_button.toolTip()
