"""Files sent to a PACS in this process: what it refuses, what it does not promise, and what is no DICOM file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.network.servers import find_server
from semblance.core.workflows.network.send_files import send
from tests.helpers.dicom_files import ROOT, ct_series
from tests.helpers.orthanc import free_port
from tests.helpers.pacs_scp import running_archive
from tests.helpers.wait import wait_until


@pytest.fixture
def archive():
    with running_archive() as running:
        running.destination = free_port()
        yield running


@pytest.fixture
def server(archive):
    return replace(find_server(archive.address), listen_port=archive.destination)


@pytest.fixture
def folder(tmp_path):
    ct_series(tmp_path / "out", 3)
    (tmp_path / "out" / "note.txt").write_text("no image")
    return tmp_path / "out"


def test_each_file_is_sent_or_has_a_reason(archive, server, folder):
    result = send(server, folder)
    assert [Path(path).name for path in result.sent] == ["000.dcm", "001.dcm", "002.dcm"]
    assert [Path(one["path"]).name for one in result.failed] == ["note.txt"]
    assert "not a DICOM file" in result.failed[0]["reason"]
    assert result.confirmed is None
    assert {one.SOPInstanceUID for one in archive.datasets} == {f"{ROOT}.2.{n}" for n in (1, 2, 3)}
    assert str(archive.datasets[0].PatientName) == "Nobody^Nowhere"


def test_what_the_pacs_refuses_is_reported_with_its_error(archive, server, folder):
    archive.refuse = 0xA700
    result = send(server, folder)
    assert result.sent == []
    assert {one["reason"] for one in result.failed[1:]} == {"The PACS refused it with the error 0xA700."}


def test_storage_commitment_lists_what_is_not_committed(archive, server, folder):
    archive.uncommitted = (f"{ROOT}.2.2",)
    result = send(server, folder, commit=True)
    assert (len(result.sent), result.confirmed) == (3, 2)
    (missing,) = result.unconfirmed
    assert Path(missing["path"]).name == "001.dcm"
    assert missing["reason"] == "The PACS does not promise to keep it (reason 274)."
    wait_until(lambda: bool(archive.answers), "the PACS has its answer")
    assert archive.answers == [0]


def test_a_commitment_without_a_result_is_not_waited_for_without_end(archive, server, folder, monkeypatch):
    monkeypatch.setattr(type(archive), "_report", lambda *_: None)
    result = send(server, folder, commit=True, commit_seconds=0.2)
    assert (result.confirmed, len(result.unconfirmed)) == (0, 3)
    assert "no result of the storage commitment in time" in result.unconfirmed[0]["reason"]


def test_nothing_to_send_is_an_error(server, tmp_path, folder):
    with pytest.raises(BadInput, match="no file or folder"):
        send(server, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SemblanceError, match="no DICOM file"):
        send(server, tmp_path / "empty")
