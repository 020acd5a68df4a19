"""Watching a folder and a port: one copy of each object, parts of files, a full disk, and the next start."""

from __future__ import annotations

import socket
from dataclasses import replace

import numpy as np
import pytest
from pydicom import dcmread

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.library.location import library_location
from semblance.core.library.open_library import open_library
from semblance.core.network import received_files
from semblance.core.network.received_files import FOLDER, ReceivedFiles
from semblance.core.network.servers import find_server
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.library.describe_library import describe_library
from semblance.core.workflows.library.local_copies import limit_copies, remove_copies
from semblance.core.workflows.network import watch_incoming as module
from semblance.core.workflows.network.send_files import send
from semblance.core.workflows.network.watch_incoming import watch
from tests.helpers.certificates import pair
from tests.helpers.dicom_files import ROOT, ct_series, encoded, image
from tests.helpers.orthanc import free_port

STUDY = f"{ROOT}.1"
SR = "1.2.840.10008.5.1.4.1.1.88.22"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(module, "_POLL_S", 0.1)
    monkeypatch.setattr(module, "_RETRY_S", 0.0)


@pytest.fixture
def folder(tmp_path):
    ct_series(tmp_path / "in", 4)
    return tmp_path / "in"


def cases(library):
    return describe_library(library)["cases"]


def test_each_object_is_taken_once_and_the_rest_has_a_reason(folder, tmp_path):
    (folder / "copy").mkdir()
    (folder / "copy" / "again.dcm").write_bytes((folder / "000.dcm").read_bytes())
    half = folder / "003.dcm"
    whole = half.read_bytes()
    half.write_bytes(whole[:-200])
    (folder / "note.txt").write_text("no image")
    library = tmp_path / "lib.semblance"
    first = watch(library, folder=folder, once=True)
    assert (first.taken, first.duplicates, first.studies, cases(library)) == (3, 1, 1, 1)
    assert "ends within its pixels" in first.refused[str(half)]
    assert "not a DICOM file" in first.refused[str(folder / "note.txt")]
    half.write_bytes(whole)
    second = watch(library, folder=folder, once=True)
    assert (second.taken, second.duplicates, second.studies, cases(library)) == (1, 4, 1, 1)
    assert len(list(library.glob(f"{FOLDER}/{STUDY}/*/*.dcm"))) == 4
    assert watch(library, folder=folder, once=True).studies == 0


def test_images_received_for_a_server_stay_when_its_copies_are_removed(folder, database):
    library = library_location(database)
    assert watch(library, folder=folder, once=True).taken == 4
    remove_copies()
    limit_copies(0)
    with open_library(library) as opened:
        (case,) = opened.catalogue.details(opened.catalogue.case_rows().tolist()).values()
    assert case.address is not None
    assert all(one.container.is_file() for one in (case.address, *case.address.slices))
    # Nothing is taken twice.
    again = watch(library, folder=folder, once=True)
    assert (again.taken, again.duplicates) == (0, 4)


def test_what_was_received_before_a_restart_is_imported(folder, tmp_path):
    library = tmp_path / "lib.semblance"
    (tmp_path / "empty").mkdir()
    watch(library, folder=tmp_path / "empty", once=True)
    received = ReceivedFiles(library / FOLDER)
    for file in sorted(folder.iterdir()):
        received.put(file.read_bytes())
    assert received.waiting() == [STUDY]
    assert watch(library, folder=tmp_path / "empty", once=True).studies == 1
    assert (received.waiting(), cases(library)) == ([], 1)


def test_a_full_disk_is_reported_and_tried_again(folder, tmp_path, monkeypatch):
    library = tmp_path / "lib.semblance"
    write = received_files.write_file

    def full(path, content, **more):
        if content:
            raise SemblanceError("The disk is full.")
        write(path, content, **more)

    monkeypatch.setattr(received_files, "write_file", full)
    result = watch(library, folder=folder, once=True)
    assert (result.taken, result.studies) == (0, 0)
    assert set(result.refused.values()) == {"The disk is full."}
    monkeypatch.setattr(received_files, "write_file", write)
    assert watch(library, folder=folder, once=True).taken == 4


def test_what_is_sent_to_the_port_is_in_the_library(folder, tmp_path):
    port, library = free_port(), tmp_path / "lib.semblance"

    class SendsThenEnds(Reporter):
        """Sends when the port is open, and ends the watch when the study is imported."""

        sent = None

        def check_cancelled(self):
            if SendsThenEnds.sent is None:
                SendsThenEnds.sent = []
                SendsThenEnds.sent = send(find_server(f"SEMBLANCE@127.0.0.1:{port}"), folder).sent
            elif library.exists() and cases(library) and not ReceivedFiles(library / FOLDER).waiting():
                raise Cancelled

    result = watch(library, listen=("127.0.0.1", port), quiet_seconds=0.0, reporter=SendsThenEnds())
    assert (result.taken, len(SendsThenEnds.sent), result.refused) == (4, 4, {})
    assert cases(library) == 1


def test_only_those_who_may_send_are_taken(folder, tmp_path):
    port, library = free_port(), tmp_path / "lib.semblance"
    problems = []

    class Tries(Reporter):
        def check_cancelled(self):
            with pytest.raises(SemblanceError) as caught:
                send(find_server(f"SEMBLANCE@127.0.0.1:{port}"), folder)
            problems.append(str(caught.value))
            raise Cancelled

    assert watch(library, listen=("127.0.0.1", port), allowed=["SCANNER"], reporter=Tries()).taken == 0
    assert "does not accept the AE title SEMBLANCE" in problems[0]


def test_with_certificates_only_a_trusted_sender_gets_through(folder, tmp_path):
    """Also while another connection says nothing: the handshakes do not wait for each other."""
    port, library = free_port(), tmp_path / "lib.semblance"
    authority = pair(tmp_path, "authority")
    ours, theirs = (pair(tmp_path, name, signer=authority) for name in ("ours", "theirs"))
    stranger = pair(tmp_path, "stranger")
    plain = find_server(f"SEMBLANCE@localhost:{port}")
    unknown = replace(plain, tls=True, authority=str(stranger.certificate))
    without = replace(plain, tls=True, authority=str(authority.certificate))
    wrong = replace(without, certificate=str(stranger.certificate), key=str(stranger.key))
    right = replace(without, certificate=str(theirs.certificate), key=str(theirs.key))
    problems, sent, silent = [], [], []

    class Sends(Reporter):
        def check_cancelled(self):
            if not sent:
                silent.append(socket.create_connection(("127.0.0.1", port)))
                for server in (plain, unknown, without, wrong):
                    with pytest.raises(SemblanceError) as caught:
                        send(server, folder)
                    problems.append(str(caught.value))
                sent.extend(send(right, folder).sent)
            elif library.exists() and cases(library) and not ReceivedFiles(library / FOLDER).waiting():
                raise Cancelled

    result = watch(
        library,
        listen=("127.0.0.1", port),
        quiet_seconds=0.0,
        certificate=ours.certificate,
        key=ours.key,
        authority=authority.certificate,
        reporter=Sends(),
    )
    silent[0].close()
    assert result.refused.keys() == {"a connection"}
    assert (result.taken, len(sent), cases(library)) == (4, 4, 1)
    assert "is not trusted" in problems[1]
    assert all("certificate of this computer" in one for one in problems[2:])
    assert "TLS failed: certificate verify failed" in result.refused["a connection"]


def test_certificates_that_cannot_be_used_are_named(folder, tmp_path):
    library, listen = tmp_path / "lib.semblance", ("127.0.0.1", free_port())
    ours, other = pair(tmp_path, "ours"), pair(tmp_path, "other")
    with pytest.raises(SemblanceError, match=r"none\.pem is not there"):
        watch(library, listen=listen, certificate=tmp_path / "none.pem")
    with pytest.raises(SemblanceError, match=r"ours\.pem cannot be used") as error:
        watch(library, listen=listen, certificate=ours.certificate, key=other.key)
    assert "the key must fit" in str(error.value.hint)
    with pytest.raises(BadArguments, match="name the certificate"):
        watch(library, listen=listen, authority=ours.certificate)
    with pytest.raises(BadArguments, match="address to listen on"):
        watch(library, folder=folder, certificate=ours.certificate)
    assert not library.exists()


def test_what_cannot_be_watched_is_an_error(tmp_path):
    with pytest.raises(BadArguments):
        watch(tmp_path / "lib.semblance")
    with pytest.raises(BadInput, match="no folder"):
        watch(tmp_path / "lib.semblance", folder=tmp_path / "nowhere")
    with pytest.raises(BadArguments, match="looked at once"):
        watch(tmp_path / "lib.semblance", listen=("127.0.0.1", 1), once=True)
    assert not (tmp_path / "lib.semblance").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "127.0.0.1.evil.example", "pacs.example"])
@pytest.mark.parametrize("certificate", [False, True])
@pytest.mark.parametrize("known", ["nobody", "AE titles", "authority"])
def test_other_computers_send_with_tls_and_only_known_ones(tmp_path, monkeypatch, host, certificate, known):
    class Opened(Exception):
        """It would listen."""

    def listener(*_: object, **__: object) -> None:
        raise Opened

    monkeypatch.setattr(module, "Listener", listener)
    own = pair(tmp_path, "own")
    named = {"certificate": own.certificate, "key": own.key} if certificate else {}
    named |= {"allowed": ["SCANNER"]} if known == "AE titles" else {}
    named |= {"authority": own.certificate} if known == "authority" else {}
    if certificate and known != "nobody":
        error, text = Opened, None
    elif certificate:
        error, text = BadArguments, "every one of them could send"
    else:
        error, text = BadArguments, "not be encrypted|[Nn]ame the certificate"
    with pytest.raises(error, match=text) as caught:
        watch(tmp_path / "lib.semblance", listen=(host, 11112), **named)
    if error is BadArguments and "certificate of this computer" not in str(caught.value):
        assert "Or listen on 127.0.0.1" in caught.value.hint
    assert (tmp_path / "lib.semblance").exists() == (error is Opened)


def test_a_file_that_would_fill_the_memory_is_refused_by_its_size(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SEMBLANCE_MEMORY_MB", "1")
    large = folder / "large.dcm"
    with large.open("wb") as file:
        file.truncate(1 << 40)
    result = watch(tmp_path / "lib.semblance", folder=folder, once=True)
    assert (result.taken, list(result.refused)) == (4, [str(large)])
    assert "the limit is 1 MB" in result.refused[str(large)]


def test_a_file_that_ends_in_its_header_is_taken_when_it_is_whole(folder, tmp_path):
    half = folder / "003.dcm"
    whole = half.read_bytes()
    place = dcmread(half).get_item("Rows").value_tell
    library = tmp_path / "lib.semblance"
    for length in (place - 8, place + 2):
        half.write_bytes(whole[:length])
        refused = watch(library, folder=folder, once=True).refused
        assert "ends before its pixels" in refused[str(half)]
    half.write_bytes(whole)
    assert watch(library, folder=folder, once=True).taken == 1
    (kept,) = library.glob(f"{FOLDER}/{STUDY}/*/*.4.dcm")
    assert kept.read_bytes() == whole


def test_the_start_of_an_object_is_replaced_by_the_whole(tmp_path):
    received = ReceivedFiles(tmp_path)
    document = image(np.zeros((4, 4)), SOPClassUID=SR, StudyInstanceUID="1.2", SeriesInstanceUID="1.3")
    del document.PixelData
    report = encoded(document)
    for content, is_new in ((report[:-10], True), (report, True), (report[:-10], False)):
        kept = received.put(content)
        assert kept.is_new == is_new
    assert received.path(kept.ids).read_bytes() == report
