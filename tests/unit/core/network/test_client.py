"""Queries and the test of a connection by DIMSE, with a PACS in this process; what is wrong is named."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest
from pynetdicom.sop_class import StudyRootQueryRetrieveInformationModelFind

from semblance.core.errors import SemblanceError
from semblance.core.network import association, client
from semblance.core.network.servers import find_server
from semblance.core.network.studies import StudyQuery
from tests.helpers.dicom_files import ROOT, ct_series
from tests.helpers.orthanc import free_port
from tests.helpers.pacs_scp import running_archive

OTHER = f"{ROOT}.7"


@pytest.fixture
def archive(tmp_path):
    files = ct_series(
        tmp_path / "a",
        3,
        StudyDate="20240105",
        StudyDescription="Thorax",
        SeriesNumber=2,
        SeriesDescription="soft",
    )
    files += ct_series(tmp_path / "b", 2, series=f"{ROOT}.5", StudyDate="20200101")
    with running_archive(files) as running:
        for one in running.datasets[3:]:
            one.StudyInstanceUID, one.PatientName, one.PatientID = OTHER, "Other^Person", "P2"
        yield running


def test_a_pacs_that_filters_nothing_is_filtered_here(archive):
    server = find_server(archive.address)
    client.echo(server)
    (found,) = client.find_studies(server, [StudyQuery(name="nobody"), StudyQuery(patient_id="nobody")])
    assert found.patient_name == "Nobody^Nowhere"
    assert archive.asked[0].PatientName == "nobody*"
    both = client.find_studies(server, [StudyQuery(modality="ct")])
    assert [one.study_instance_uid for one in both] == [f"{ROOT}.1", OTHER]
    assert both.notes == []
    cut = client.find_studies(server, [StudyQuery()], limit=1)
    assert len(cut) == 1
    assert cut.notes == [
        "1 of more than 1 studies are listed. Narrow the query, for example by a patient or a date."
    ]
    (series,) = client.with_series(server, found).series_list
    assert (series.modality, series.description, series.number) == ("CT", "soft", 2)
    listed = client.list_instances(server, OTHER, [f"{ROOT}.5"])
    assert [one.sop_instance_uid for one in listed] == [f"{ROOT}.5.1", f"{ROOT}.5.2"]


def says(address: str) -> str:
    with pytest.raises(SemblanceError) as caught:
        client.echo(find_server(address))
    return caught.value.message


def test_each_reason_why_there_is_no_connection_is_named(archive):
    assert "does not know the AE title WRONG" in says(archive.address.replace("ARCHIVE", "WRONG"))
    assert "refused the connection" in says(f"A@127.0.0.1:{free_port()}")
    assert "no computer named" in says("A@host.invalid:104")
    assert "does not speak TLS" in says(f"https://127.0.0.1:{archive.port}/dicom-web")


def test_a_pacs_that_does_not_know_this_ae_title_is_named():
    def only_others(entity):
        entity.require_calling_aet = ["ELSE"]

    with running_archive(change=only_others) as strict:
        assert "does not accept the AE title SEMBLANCE" in says(strict.address)


def test_a_pacs_without_the_service_is_named():
    def nothing(entity):
        entity.remove_supported_context(StudyRootQueryRetrieveInformationModelFind)

    with running_archive(change=nothing) as strict, pytest.raises(SemblanceError, match="offers none of"):
        client.list_series(find_server(strict.address), "1.2")


#: What a stranger may answer to an association request: nothing of DICOM, a part of it, too much, wrong lengths.
ANSWERS = [
    b"",
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"\x02\x00\x00\x00\x00",
    b"\x02\x00\x00\x00\x00\xb8" + b"\0" * 20,
    b"\x02\x00\xff\xff\xff\xff" + b"\0" * 200,
    b"\x02\x00\x00\x00\x00\x04" + b"\xff" * 4,
    b"\x03\x00\x00\x00\x00\x04\x00\x09\x09\x09",
    b"\x07\x00\x00\x00\x00\x04\x00\x00\x00\x00",
    b"\x05\x00\x00\x00\x00\x04\x00\x00\x00\x00",
    b"\x04\x00\x00\x00\x00\x06\x00\x00\x00\x02\x01\x03",
    b"\x63" * 300,
]


# pynetdicom's thread ends with an exception where a result has a number that the standard does not have.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
@pytest.mark.parametrize("closes", [True, False], ids=["closed", "left open"])
def test_a_malformed_answer_is_an_error_and_never_a_wait_without_end(answer, closes, monkeypatch):
    monkeypatch.setattr(association, "ANSWER_S", 0.5)

    with stranger(answer, closes) as port:
        assert "127.0.0.1" in says(f"A@127.0.0.1:{port}")


@contextlib.contextmanager
def stranger(answer: bytes, closes: bool):
    """A listener that answers whatever comes with ``answer``."""
    done = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        opened = []
        while not done.is_set():
            try:
                one, _ = listening.accept()
            except OSError:
                break
            opened.append(one)
            with contextlib.suppress(OSError):
                one.settimeout(2)
                if one.recv(1 << 16):
                    one.sendall(answer)
                if closes:
                    one.shutdown(socket.SHUT_RDWR)
        for one in opened:
            one.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        done.set()
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
