"""From a study in a real PACS to similar cases, marks, a report in the patient's record, and back into the search."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from pydicom import dcmread

from semblance.core.library.library import Library
from semblance.core.network.servers import find_server
from semblance.core.network.studies import StudyQuery
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.feedback.ledger import Ledger
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search, new_ledger
from semblance.core.workflows.network.find_studies import find_studies
from semblance.core.workflows.network.retrieve_study import retrieve_query
from semblance.core.workflows.network.send_results import send_report
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.dicom_files import ROOT, save
from tests.helpers.mammogram_library import METRIC, PATIENTS, mammogram, mammogram_library
from tests.helpers.orthanc import free_port, running_orthanc

#: Not in the library.
PATIENT = 21


@pytest.mark.parametrize("way", ["dimse", "dicomweb"])
def test_a_search_goes_into_the_record_of_its_patient_and_is_read_back(tmp_path, way):
    port = free_port()
    modalities = {"semblance": ["SEMBLANCE", "127.0.0.1", port]}
    with running_orthanc(tmp_path / "orthanc", DicomModalities=modalities) as orthanc:
        orthanc.upload(save(mammogram(PATIENT), tmp_path / "new.dcm"))
        server = replace(find_server(getattr(orthanc, way)), listen_port=port)
        library = mammogram_library(tmp_path)

        (study,) = find_studies(server, StudyQuery(modality="MG"), patient="quixley")
        query = retrieve_query(server, study.study_instance_uid, tmp_path / "query", library)
        assert isinstance(query, Query)
        search = Search(METRIC, query, new_ledger())
        before = [case.case_id for case in rank_cases(library, search, k=PATIENTS).result.ranked]
        marks = ((JudgementKind.ALIKE, before[3]), (JudgementKind.NOT_ALIKE, before[0]))
        with Library.open(library) as opened_library:
            ledger = Ledger(opened_library.judgements(search.ledger))
            ledger.add([Judgement(kind, str(query.image), case) for kind, case in marks])
        marked = rank_cases(library, search, k=PATIENTS).result
        ranked = [case.case_id for case in marked.ranked]
        assert ranked != before and ranked[-1] == before[0]

        sent = send_report(server, library, search, ReportOptions(dicom="all", identified=True), commit=True)
        assert (len(sent.sent), sent.confirmed, sent.failed, sent.unconfirmed) == (4, 4, [], [])
        (study,) = find_studies(server, StudyQuery(patient_id=f"MRN{PATIENT:04d}"), with_series=True)
        assert sorted(series.modality for series in study.series_list) == ["DOC", "KO", "MG", "OT", "SR"]

        # The whole study is still a query by its image, and its report is the search.
        shutil.rmtree(tmp_path / "query")
        again = retrieve_query(server, study.study_instance_uid, tmp_path / "again", library)
        assert isinstance(again, Query) and again.image is not None
        assert dcmread(again.image).SOPInstanceUID == f"{ROOT}.7.{PATIENT}"
        report = next(series for series in study.series_list if series.modality == "SR")
        opened = retrieve_query(
            server,
            study.study_instance_uid,
            tmp_path / "report",
            library,
            series=[report.series_instance_uid],
        )
        assert isinstance(opened, Search)
        assert [case.case_id for case in rank_cases(library, opened, k=PATIENTS).result.ranked] == ranked
