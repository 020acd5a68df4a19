"""Exports of a collection hold its cases, and name nobody unless they are asked to."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region
from semblance.core.library.collections import CollectionItem
from semblance.core.library.export_log import read_exports
from semblance.core.library.library import Library
from semblance.core.library.schema import cases
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.teaching.export_collection import CollectionExport, export_collection
from tests.helpers.images import striped_folder

NAME, SECRET = "Stripes of PAT-0042", "Mueller, PAT-0042"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A collection of two cases, a place in one of them, and a case that is gone."""
    folder = tmp_path_factory.mktemp("teaching")
    import_source(striped_folder(folder / "images", n=4), folder / "lib")
    with Library.open(folder / "lib", writable=True) as opened:
        ids = sorted(row.case_id for row in opened.catalogue.all_cases())
        with opened.catalogue.transaction() as connection:
            connection.execute(cases.update().where(cases.c.case_id == ids[0]).values(patient="PAT-0042"))
        items = [
            CollectionItem(ids[0], notes=SECRET),
            CollectionItem(ids[-1], Region(2, 2, 9, 9)),
            CollectionItem("gone/Meier.png"),
        ]
        opened.collections.make(NAME, items, f"For {SECRET}")
        opened.notes.set(ids[0], "a note, as in gone/Meier.png")
    return folder / "lib"


def unpacked(file) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_teaching_set_covers_its_findings_and_names_nobody(library, tmp_path):
    (file,) = export_collection(library, NAME, tmp_path / "set.zip")
    files = unpacked(file)
    page, key = files["index.html"].decode(), files["key.csv"].decode("utf-8-sig")
    assert sorted(files) == ["images/case-001.jpg", "images/case-002.png", "index.html", "key.csv"]
    for text in (page, key):
        assert not re.search("Mueller|PAT-0042|a note|p00", text)
    assert page.count("<details>") == 2 and page.count('type="radio"') == 4
    assert "no longer in the library" in page and "http" not in page.replace("http-equiv", "")
    # What a finding is called is under cover, or a choice.
    assert all("level" not in part for part in re.findall(r"<h2.*?</h2>|<img.*?>", page))
    assert [line.split(",")[:2] for line in key.splitlines()[1:]] == [
        ["1", "Case 1"],
        ["2", "Case 2"],
        ["3", "Case 3"],
    ]
    (file,) = export_collection(
        library, NAME, tmp_path / "all.zip", CollectionExport(identified=True, free_text=True)
    )
    page = unpacked(file)["index.html"].decode()
    assert all(text in page for text in (SECRET, "a note", "PAT-0042", "p00"))
    exports = read_exports(library)[-2:]
    assert [(one["what"], one["kind"], one["identified"]) for one in exports] == [
        ("collection", "zip", False),
        ("collection", "zip", True),
    ]


def test_slides_have_a_page_for_each_case(library, tmp_path):
    from pypdf import PdfReader

    (file,) = export_collection(library, NAME, tmp_path / "s.pdf", CollectionExport(free_text=True))
    pages = PdfReader(io.BytesIO(file.read_bytes())).pages
    texts = [page.extract_text() for page in pages]
    assert len(pages) == 4 and all(len(page.images) == 1 for page in pages[1:3])
    assert "Case 1" in texts[1] and "a note" in texts[1] and "no longer in the library" in texts[3]
    assert not any(re.search("PAT-0042|Meier", text) for text in texts)


def test_what_cannot_be_exported_is_said(library, tmp_path):
    with pytest.raises(BadArguments, match=r"\.pptx"):
        export_collection(library, NAME, tmp_path / "s.pptx")
    with pytest.raises(BadInput, match="in a DICOM file"):
        export_collection(library, NAME, tmp_path / "s.dcm")
    with pytest.raises(BadInput, match="not empty"):
        export_collection(library, NAME, library)
    assert len(export_collection(library, NAME, tmp_path / "new folder")) == 4
    with pytest.raises(BadArguments, match="There are: Stripes"):
        export_collection(library, "none", tmp_path / "s.pdf")
