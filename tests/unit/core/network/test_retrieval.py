"""Retrieval by C-GET and C-MOVE from a PACS in this process: exactly one copy, broken connections, cancelling."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np
import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.network import association, retrieval
from semblance.core.network.received_files import ReceivedFiles, object_ids
from semblance.core.network.retrieval import retrieve_study
from semblance.core.network.servers import find_server
from semblance.core.tasks import Cancelled, Reporter
from tests.helpers.dicom_files import ROOT, ct_series, ct_slice, encoded
from tests.helpers.orthanc import free_port
from tests.helpers.pacs_scp import Archive, running_archive

STUDY = f"{ROOT}.1"
UIDS = {f"{ROOT}.2.{number}" for number in range(1, 8)}


@pytest.fixture
def archive(tmp_path):
    with running_archive(ct_series(tmp_path / "pacs", 7)) as running:
        yield running


@pytest.fixture(params=["get", "move"])
def server(archive, request):
    archive.destination = free_port()
    return replace(find_server(archive.address), retrieval=request.param, listen_port=archive.destination)


def test_a_second_retrieval_asks_only_for_what_is_missing(archive, server, tmp_path):
    received = ReceivedFiles(tmp_path / "got")
    first = retrieve_study(server, STUDY, [], received)
    assert (first.new, first.already, first.missing) == (7, 0, [])
    files = received.instances(STUDY)
    assert set(files) == UIDS
    assert object_ids(files[f"{ROOT}.2.3"].read_bytes()).instance == f"{ROOT}.2.3"
    files[f"{ROOT}.2.3"].unlink()
    archive.sent.clear()
    again = retrieve_study(server, STUDY, [], received)
    assert (again.new, again.already) == (1, 6)
    assert archive.sent == [f"{ROOT}.2.3"]


def test_after_a_broken_connection_no_object_is_lost_or_duplicated(archive, server, tmp_path):
    archive.break_after = 2
    received = ReceivedFiles(tmp_path / "got")
    result = retrieve_study(server, STUDY, [], received, waits=(0.0, 0.0))
    assert (result.new, result.missing) == (7, [])
    assert set(received.instances(STUDY)) == UIDS
    assert received.waiting() == [STUDY]


def test_objects_that_the_pacs_does_not_send_are_reported(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(Archive, "retrieve", lambda self, event: iter([0]))
    with running_archive() as silent:
        silent.datasets = archive.datasets
        with pytest.raises(SemblanceError, match="did not send"):
            retrieve_study(find_server(silent.address), STUDY, [], ReceivedFiles(tmp_path / "got"), waits=())


def test_another_study_than_was_asked_for_is_not_kept(archive, tmp_path):
    received = ReceivedFiles(tmp_path / "got")
    other = encoded(archive.datasets[0])
    with pytest.raises(BadInput, match="another study"):
        received.put(other, study="1.2.3")
    assert received.waiting() == []


def test_cancelling_keeps_what_came(archive, server, tmp_path):
    class CancelSoon(Reporter):
        def check_cancelled(self):
            if archive.sent:
                raise Cancelled

    received = ReceivedFiles(tmp_path / "got")
    with pytest.raises(Cancelled):
        retrieve_study(server, STUDY, [], received, reporter=CancelSoon())
    assert retrieve_study(server, STUDY, [], received).missing == []
    assert set(received.instances(STUDY)) == UIDS


def test_objects_are_taken_from_several_connections(tmp_path, monkeypatch):
    monkeypatch.setattr(retrieval, "BATCH", 2)
    with running_archive(ct_series(tmp_path / "pacs", 7)) as running:
        received = ReceivedFiles(tmp_path / "got")
        assert retrieve_study(find_server(running.address), STUDY, [], received).new == 7
        assert sorted(running.sent) == sorted(UIDS)


@pytest.mark.filterwarnings("ignore:Invalid value for VR UI")
def test_an_object_without_uids_or_of_nothing_is_refused(tmp_path):
    received = ReceivedFiles(tmp_path / "got")
    nameless = ct_slice(np.zeros((4, 4), np.int16))
    nameless.StudyInstanceUID = "../../elsewhere"
    for stranger in (b"", b"not DICOM" * 40, encoded(nameless)):
        with pytest.raises(BadInput):
            received.put(stranger)
    assert not received.folder.exists()


def test_a_study_waits_on_if_more_came_during_its_import(tmp_path, archive):
    received = ReceivedFiles(tmp_path / "got")
    received.put(encoded(archive.datasets[0]))
    before = list(received.instances(STUDY))
    received.put(encoded(archive.datasets[1]))
    received.imported(STUDY, before)
    assert received.waiting() == [STUDY]
    received.imported(STUDY, list(received.instances(STUDY)))
    assert received.waiting() == []


def test_a_pacs_that_sends_without_end_is_stopped(tmp_path, monkeypatch):
    def endless(self, event):
        yield 65535
        while True:
            yield 0xFF00, archive.datasets[0]

    monkeypatch.setattr(retrieval, "BATCH", 1)
    monkeypatch.setattr(Archive, "retrieve", endless)
    with (
        running_archive(ct_series(tmp_path / "pacs", 2)) as archive,
        pytest.raises(SemblanceError, match="more than it lists"),
    ):
        retrieve_study(find_server(archive.address), STUDY, [], ReceivedFiles(tmp_path / "got"), waits=())


def test_a_pacs_that_sends_one_object_again_and_again_is_stopped_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(association, "ANSWER_S", 600.0)
    start = time.monotonic()
    with running_archive(ct_series(tmp_path / "pacs", 1)) as archive:
        archive.datasets *= 500
        server = find_server(archive.address)
        result = retrieve_study(server, STUDY, [], ReceivedFiles(tmp_path / "got"), waits=())
        # What was asked for is there all the same.
        assert result.missing == []
        assert len(archive.sent) < 500
    assert time.monotonic() - start < association.ANSWER_S


def test_a_part_that_a_killed_program_left_is_removed_after_a_day(tmp_path):
    received = ReceivedFiles(tmp_path / "got")
    received.put(encoded(ct_slice(np.zeros((4, 4), np.int16))))
    (file,) = received.instances(STUDY).values()
    old, new = (file.with_name(f".{name}.dcm.0.part") for name in ("old", "new"))
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    ReceivedFiles(tmp_path / "got")
    assert (old.exists(), new.exists(), file.exists()) == (False, True, True)
