"""The conformance statement says what the code does."""

from __future__ import annotations

import re

import pytest
from pynetdicom import AllStoragePresentationContexts

from semblance.app.window import help_files
from semblance.core.network import association, connection, dimse, listener, servers
from semblance.core.network.sending import COMMIT_S
from semblance.core.reports.dicom import image_objects, structured_report
from semblance.core.reports.dicom.common import SCHEME


def sections(language: str) -> list[str]:
    page = (
        help_files.english("conformance")
        if language == "en"
        else help_files.translated("conformance", language)
    )
    return re.split(r"^## ", page, flags=re.MULTILINE)


def uids(section: str) -> list[str]:
    return re.findall(r"`(1\.2\.840\.10008[.\d]*)`", section)


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_page_and_the_code_agree(language):
    _, services, associations, syntaxes, _, objects, *_ = sections(language)
    assert f" {len(AllStoragePresentationContexts)} " in services
    assert f" {COMMIT_S:g} s" in services
    assert uids(syntaxes) == list(dimse.SYNTAXES)
    assert re.findall(r"`([^`]+)`", associations) == [
        servers.OWN_AE_TITLE,
        str(servers.LISTEN_PORT),
        servers.LOOPBACK,
        str(association.MAX_PDU),
        f"{connection.CONNECT_S:g}",
        f"{connection.ANSWER_S:g}",
        f"{listener.REQUEST_S:g}",
        str(listener.MAX_CONNECTIONS),
        str(listener.MAX_OF_ADDRESS),
    ]
    assert {image_objects.SECONDARY_CAPTURE, image_objects.ENCAPSULATED_PDF} < set(uids(objects))
    assert f"`{SCHEME}`" in objects
    assert f"`{structured_report.PRIVATE_CREATOR}`" in objects
    place = f"({structured_report.PRIVATE_GROUP:04X},xx{structured_report.PRIVATE_ELEMENT:02X})"
    assert place in objects
