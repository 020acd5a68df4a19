"""A common client for PACS servers with DIMSE or DICOMweb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from semblance.core.network import association, dimse
from semblance.core.network.dicomweb import DicomWeb
from semblance.core.network.servers import DICOMWEB, Server
from semblance.core.network.studies import (
    MAX_STUDIES,
    FoundStudies,
    Instance,
    Series,
    Study,
    StudyQuery,
    in_all_cases,
    in_order,
)
from semblance.core.tasks import SILENT, Reporter


def echo(server: Server) -> None:
    """Test the connection to ``server``, and that it answers as a PACS.

    Raises:
        SemblanceError: it does not, and why.
    """
    if server.kind == DICOMWEB:
        with DicomWeb(server) as web:
            web.echo()
    else:
        association.echo(server)


def find_studies(
    server: Server, queries: Sequence[StudyQuery], *, limit: int = MAX_STUDIES, reporter: Reporter = SILENT
) -> FoundStudies:
    """The studies that fit any of ``queries``, the newest first, at most ``limit``.

    Raises:
        SemblanceError: there is no connection or answer.
    """
    found: list[Study] = []
    is_cut = False
    for query in (one for asked in queries for one in in_all_cases(asked)):
        reporter.check_cancelled()
        if server.kind == DICOMWEB:
            with DicomWeb(server) as web:
                some = web.find_studies(query, limit=limit)
        else:
            some = dimse.find_studies(server, query, limit=limit)
        found, is_cut = [*found, *some], is_cut or some.is_cut
    studies = in_order(found)
    return FoundStudies(studies[:limit], is_cut=is_cut or len(studies) > limit)


def list_series(server: Server, study: str) -> list[Series]:
    """The series of a study by their numbers.

    Raises:
        SemblanceError: there is no connection or answer.
    """
    if server.kind == DICOMWEB:
        with DicomWeb(server) as web:
            found = web.list_series(study)
    else:
        found = dimse.list_series(server, study)
    unique = {one.series_instance_uid: one for one in found}
    return sorted(
        unique.values(), key=lambda one: (one.number is None, one.number or 0, one.series_instance_uid)
    )


def with_series(server: Server, study: Study) -> Study:
    """``study`` with its series.

    Raises:
        SemblanceError: there is no connection or answer.
    """
    return replace(study, series_list=tuple(list_series(server, study.study_instance_uid)))


def list_instances(server: Server, study: str, series: Sequence[str]) -> list[Instance]:
    """The objects of some ``series`` of a study, each once.

    Raises:
        SemblanceError: there is no connection or answer.
    """
    if server.kind == DICOMWEB:
        with DicomWeb(server) as web:
            found = web.list_instances(study, series)
    else:
        found = dimse.list_instances(server, study, series)
    return list({one.sop_instance_uid: one for one in found}.values())
