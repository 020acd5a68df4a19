"""Test a PACS, and find studies and series in it."""

from __future__ import annotations

from dataclasses import replace

from semblance.core.network import client
from semblance.core.network.servers import Server
from semblance.core.network.studies import (
    MAX_STUDIES,
    FoundStudies,
    Series,
    StudyQuery,
    check_uid,
    date_range,
    queries_for_patient,
)
from semblance.core.tasks import SILENT, Reporter


def echo_server(server: Server, *, reporter: Reporter = SILENT) -> None:
    """Test the connection to ``server``, and that it answers as a PACS.

    Raises:
        SemblanceError: it does not, and why.
    """
    client.echo(server)


def find_studies(
    server: Server,
    query: StudyQuery,
    *,
    patient: str = "",
    with_series: bool = False,
    limit: int = MAX_STUDIES,
    reporter: Reporter = SILENT,
) -> FoundStudies:
    """The studies that fit ``query`` and whose patient has the name or id ``patient``, the newest first.

    Raises:
        BadArguments: the dates or the UID of the study cannot be read.
        SemblanceError: there is no connection or answer.
    """
    query = replace(query, dates=date_range(query.dates))
    if query.study:
        check_uid(query.study)
    studies = client.find_studies(server, queries_for_patient(query, patient), limit=limit, reporter=reporter)
    if not with_series:
        return studies
    found = FoundStudies(is_cut=studies.is_cut)
    for study in studies:
        reporter.check_cancelled()
        found.append(client.with_series(server, study))
    return found


def list_series(server: Server, study: str, *, reporter: Reporter = SILENT) -> list[Series]:
    """The series of a study by their numbers.

    Raises:
        BadArguments: ``study`` is not a UID.
        SemblanceError: there is no connection or answer.
    """
    return client.list_series(server, check_uid(study))
