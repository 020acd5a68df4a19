"""The commands of PACS, against a PACS in this process."""

from __future__ import annotations

import pytest

from tests.helpers.dicom_files import ROOT, ct_series
from tests.helpers.pacs_scp import running_archive

STUDY = f"{ROOT}.1"


@pytest.fixture
def archive(tmp_path):
    with running_archive(ct_series(tmp_path / "pacs", 4, StudyDate="20240105")) as running:
        yield running


def test_from_a_saved_server_to_a_case_of_a_library(archive, tmp_path, document, run_command):
    saved = document("pacs", "add", "archive", archive.address)
    assert (saved["ae_title"], saved["port"]) == ("ARCHIVE", archive.port)
    assert [one["name"] for one in document("pacs", "servers")["servers"]] == ["archive"]
    assert document("pacs", "echo", "--server", "archive")["answers"] is True
    query = ("--patient", "nobody", "--date", "2024-01-05", "--series")
    (study,) = document("pacs", "find", "--server", "archive", *query)["studies"]
    assert (study["study_instance_uid"], study["modalities"]) == (STUDY, ["CT"])
    assert study["series_list"][0]["series_instance_uid"] == f"{ROOT}.2"
    library = tmp_path / "lib.semblance"
    arguments = ("pacs", "get", "--server", "archive", "--study", STUDY, "--library", library)
    assert document(*arguments)["added"] == 1
    again = document(*arguments)
    assert (again["added"], again["unchanged"], again["cases"]) == (0, 1, 1)
    assert len(list(library.glob(f"received/{STUDY}/*/*.dcm"))) == 4
    files = document("pacs", "get", "--server", "archive", "--study", STUDY, "--out", tmp_path / "out")[
        "files"
    ]
    assert len(files) == 4
    sent = document("pacs", "send", tmp_path / "out" / STUDY, "--server", "archive")
    assert (len(sent["sent"]), sent["failed"], len(archive.datasets)) == (4, [], 8)
    _, out, _ = run_command("pacs", "find", "--server", "archive")
    assert STUDY in out
    assert document("pacs", "remove", "archive") == {"removed": "archive"}
    assert run_command("pacs", "servers")[1].startswith("No PACS server is saved")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["find", "--server", "nowhere"], 2, "no PACS server 'nowhere'"),
        (["find", "--server", "A@127.0.0.1:1", "--date", "soon"], 2, "not a date"),
        (["get", "--server", "A@127.0.0.1:1", "--study", "../x", "--out", "x"], 2, "not a UID"),
        (["get", "--server", "A@127.0.0.1:1", "--study", "1.2"], 2, "either --library or --out"),
        (["echo", "--server", "A@127.0.0.1:1"], 1, "nothing listens there"),
        (["add", "x", "A@127.0.0.1:1", "--listen", "here"], 2, "not an address to listen on"),
        (["add", "x", "http://h/", "--user", "u", "--bearer"], 2, "either --user or --bearer"),
        (["remove", "x"], 2, "no PACS server 'x'"),
    ],
)
def test_errors_are_one_line(run_command, arguments, status, says):
    ended, _, error = run_command("pacs", *arguments)
    assert (ended, error.count("\n")) == (status, 1)
    assert says in error
