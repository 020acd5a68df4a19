"""The listener of sent objects."""

from __future__ import annotations

import io
import socket
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.uid import ExplicitVRLittleEndian, RLELossless
from pynetdicom import AE

from semblance.core.network.listener import Listener
from semblance.core.network.received_files import ReceivedFiles
from tests.helpers.dicom_files import ct_slice, encoded


def test_one_who_connects_while_another_is_being_accepted_keeps_the_connection():
    listener = Listener("127.0.0.1", 1, "SEMBLANCE", lambda _: None)
    ends = [socket.socketpair() for _ in range(2)]
    for ours, _ in ends:
        # pynetdicom starts the thread of an association only after this.
        thread = threading.Thread()
        machine = SimpleNamespace(do_action=lambda _: None)
        thread.dul = SimpleNamespace(socket=SimpleNamespace(socket=_Plain(ours)), state_machine=machine)
        thread._serve_request = lambda *_: None
        listener._opened(SimpleNamespace(assoc=thread))
    for ours, theirs in ends:
        ours.sendall(b"x")
        assert theirs.recv(1) == b"x"
        ours.close()
        theirs.close()


def compressed(dataset):
    dataset.compress(RLELossless, generate_instance_uid=False)


def corrected(dataset):
    dataset.PatientName, dataset.StudyDescription = "Doe^Jane", "Chest"


def of_another_patient(dataset):
    dataset.PatientID = "another"


def with_other_pixels(dataset):
    dataset.PixelData = bytes(len(dataset.PixelData))


def in_another_series(dataset):
    dataset.SeriesInstanceUID += ".77"


@pytest.mark.parametrize(
    ("change", "status", "kept"),
    [
        (lambda _: None, 0x0000, "first"),
        (compressed, 0x0000, "first"),
        (corrected, 0x0000, "second"),
        (in_another_series, 0x0000, "both"),
        (of_another_patient, 0xC000, "first"),
        (with_other_pixels, 0xC000, "first"),
        (lambda one: (in_another_series(one), with_other_pixels(one)), 0xC000, "first"),
    ],
)
def test_an_object_under_a_uid_that_is_here_is_kept_or_refused_with_the_reason(
    tmp_path, change, status, kept
):
    """Success means that all of the object is on the disk."""
    original = ct_slice(np.arange(64, dtype=np.int16).reshape(8, 8))
    first = encoded(original)
    other = dcmread(io.BytesIO(first))
    change(other)
    second = io.BytesIO()
    other.save_as(second)
    received = ReceivedFiles(tmp_path)
    entity = AE()
    for syntax in (ExplicitVRLittleEndian, RLELossless):
        entity.add_requested_context(other.SOPClassUID, syntax)
    with Listener("127.0.0.1", 0, "SEMBLANCE", received.put) as listener:
        association = entity.associate("127.0.0.1", listener.port, ae_title="SEMBLANCE")
        assert association.send_c_store(dcmread(io.BytesIO(first))).Status == 0x0000
        answer = association.send_c_store(dcmread(io.BytesIO(second.getvalue())))
        association.release()
    assert answer.Status == status
    comment = "Another object with this UID is here: it "
    assert (answer.get("ErrorComment", "").startswith(comment)) == (status != 0)
    files = {path: dcmread(path) for path in tmp_path.glob("*/*/*.dcm")}
    names = sorted(str(one.get("StudyDescription", "")) for one in files.values())
    assert len(files) == (2 if kept == "both" else 1)
    assert names[-1] == ("Chest" if kept == "second" else str(original.get("StudyDescription", "")))
    for one in files.values():
        assert one.PatientID == original.PatientID
        np.testing.assert_array_equal(one.pixel_array, np.arange(64).reshape(8, 8))


class _Plain:
    """A socket without the options of TCP."""

    def __init__(self, of: socket.socket) -> None:
        self.close, self.settimeout, self.setsockopt = of.close, of.settimeout, lambda *_: None
