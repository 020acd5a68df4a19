"""A real PACS: Orthanc is asked, and its study comes into a library, by C-GET, C-MOVE and DICOMweb alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.network.servers import find_server
from semblance.core.network.studies import StudyQuery
from semblance.core.workflows.network.find_studies import echo_server, find_studies
from semblance.core.workflows.network.retrieve_study import retrieve_into_library
from semblance.core.workflows.network.send_files import send
from tests.helpers.dicom_files import ROOT, ct_series
from tests.helpers.orthanc import free_port, running_orthanc

STUDY = f"{ROOT}.1"


@pytest.fixture
def orthanc(tmp_path):
    port = free_port()
    modalities = {"semblance": ["SEMBLANCE", "127.0.0.1", port]}
    with running_orthanc(tmp_path / "orthanc", DicomModalities=modalities) as running:
        for file in ct_series(
            tmp_path / "pacs",
            6,
            StudyDate="20240105",
            StudyDescription="Thorax Routine",
            AccessionNumber="A7",
        ):
            running.upload(file)
        yield running, port


def test_a_study_is_found_and_retrieved_by_every_way(orthanc, tmp_path):
    running, port = orthanc
    dimse = find_server(running.dimse)
    for name, server in (
        ("get", dimse),
        ("move", replace(dimse, retrieval="move", listen_port=port)),
        ("web", find_server(running.dicomweb)),
    ):
        echo_server(server)
        for query in (
            StudyQuery(dates="2024-01-01-2024-02-01", description="thorax"),
            StudyQuery(accession="A7", modality="ct"),
            StudyQuery(name="nobody, now"),
            StudyQuery(patient_id="P1"),
        ):
            (study,) = find_studies(server, query, with_series=True)
            assert (study.study_instance_uid, study.instances, study.patient_name) == (
                STUDY,
                6,
                "Nobody^Nowhere",
            )
            assert study.series_list[0].instances == 6
        assert find_studies(server, StudyQuery(dates="20250101-")) == []
        library = tmp_path / f"{name}.semblance"
        assert retrieve_into_library(server, STUDY, library).added == 1
        assert retrieve_into_library(server, STUDY, library).unchanged == 1
        files = sorted(library.glob("received/*/*/*.dcm"))
        assert len(files) == 6
        files[2].unlink()
        assert retrieve_into_library(server, STUDY, library).failed == []
        assert sorted(library.glob("received/*/*/*.dcm")) == files


def test_what_is_sent_is_there_and_promised(orthanc, tmp_path):
    running, port = orthanc
    ct_series(tmp_path / "new", 3, series=f"{ROOT}.6", StudyDescription="New")
    dimse = replace(find_server(running.dimse), listen_port=port)
    by_dimse = send(dimse, tmp_path / "new", commit=True)
    assert (len(by_dimse.sent), by_dimse.confirmed, by_dimse.failed) == (3, 3, [])
    ct_series(tmp_path / "more", 2, series=f"{ROOT}.8")
    (tmp_path / "more" / "note.txt").write_text("no image")
    by_web = send(find_server(running.dicomweb), tmp_path / "more")
    assert (len(by_web.sent), by_web.confirmed, by_web.unconfirmed) == (2, 2, [])
    assert [Path(one["path"]).name for one in by_web.failed] == ["note.txt"]
    assert len(running.get("instances")) == 6 + 3 + 2


def test_orthanc_names_a_wrong_ae_title(orthanc):
    running, _ = orthanc
    with pytest.raises(SemblanceError, match="does not know the AE title WRONG"):
        echo_server(find_server(running.dimse.replace("ORTHANC", "WRONG")))
