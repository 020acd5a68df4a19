"""A search as DICOM objects: what they refer to, what they tell, and that others can read them."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from pydicom import Dataset, dcmread
from pypdf import PdfReader

from semblance import resources
from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region
from semblance.core.library.annotations import Annotation
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.library import Library
from semblance.core.purpose import NOT_FOR_PATIENTS, PURPOSE
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.imaging.deidentify_files import deidentify_files
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports.embedded_search import reopen_report
from semblance.core.workflows.reports.write_reports import write_report_files
from tests.helpers.dicom_files import ROOT, save
from tests.helpers.images import striped_folder
from tests.helpers.mammogram_library import PATIENTS, mammogram, mammogram_library
from tests.helpers.tables import table_library

ELLIPSE = Region(2, 3, 12, 10, Ellipse.filling(12, 10))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return mammogram_library(tmp_path_factory.mktemp("objects"))


def written(
    library,
    tmp_path,
    kind: str,
    *,
    identified: bool = False,
    region: Region | None = None,
    clean_pixels: bool = False,
):
    with Library.open(library) as opened:
        case = next(row.case_id for row in opened.catalogue.all_cases())
    options = ReportOptions(identified=identified, dicom=kind, clean_pixels=clean_pixels)
    search = Search("plain", Query(case=case, region=region))
    return search, write_report_files(library, search, tmp_path / f"{kind}.dcm", options)


def query_source(library) -> int:
    """The number of the patient whose image is the first case."""
    with Library.open(library) as opened:
        row = next(iter(opened.catalogue.all_cases()))
        address = opened.catalogue.details([row.id])[row.id].address
    return int(address.container.stem)


def groups(report: Dataset) -> list[Dataset]:
    """The TID 1501 groups of a TID 1500 report."""
    (measurements,) = [
        item for item in report.ContentSequence if item.ConceptNameCodeSequence[0].CodeValue == "126010"
    ]
    return list(measurements.ContentSequence)


def values(group: Dataset) -> dict[tuple[str, str], str]:
    out = {}
    for item in group.ContentSequence:
        name = item.ConceptNameCodeSequence[0] if "ConceptNameCodeSequence" in item else Dataset()
        key = (name.get("CodingSchemeDesignator", ""), name.get("CodeValue", ""))
        if item.ValueType == "NUM":
            out[key] = str(item.MeasuredValueSequence[0].NumericValue)
        elif item.ValueType == "CODE":
            out[key] = item.ConceptCodeSequence[0].CodeValue
        elif item.ValueType == "TEXT":
            out[key] = item.TextValue
        elif item.ValueType == "IMAGE":
            out["image", ""] = item.ReferencedSOPSequence[0].ReferencedSOPInstanceUID
    return out


def referenced(items) -> set[str]:
    """The SOP Instance UIDs that ``items`` refer to, at any depth."""
    found = set()
    for item in items:
        for element in item.iterall():
            if element.keyword == "ReferencedSOPInstanceUID":
                found.add(str(element.value))
    return found


def purpose_of(made: Dataset) -> str:
    """The intended purpose as an object has it, apart from its pixels and its PDF."""
    if made.Modality in ("SR", "KO"):
        return " ".join(item.TextValue for item in made.ContentSequence if item.ValueType == "TEXT")
    if made.Modality == "DOC":
        first, *_ = PdfReader(io.BytesIO(made.EncapsulatedDocument)).pages
        return " ".join(first.extract_text().split())
    return str(made.get("ImageComments") or made.get("ContentDescription"))


def test_every_object_states_the_intended_purpose(library, tmp_path):
    _, files = written(library, tmp_path, "all", identified=True, region=Region(4, 6, 10, 8))
    stated = {made.Modality: purpose_of(made) for made in map(dcmread, files)}
    assert set(stated) == {"SR", "KO", "DOC", "SEG", "OT"}
    # A segmentation has 64 characters for it.
    assert stated.pop("SEG") == NOT_FOR_PATIENTS
    assert [kind for kind, text in stated.items() if PURPOSE not in text] == []


@pytest.mark.parametrize("identified", [False, True])
def test_a_structured_report_has_a_group_for_the_query_and_each_case(library, tmp_path, identified):
    _, (file, *_) = written(library, tmp_path, "sr", identified=identified)
    report = dcmread(file)
    assert (report.ContentTemplateSequence[0].TemplateIdentifier, report.SOPClassUID.name) == (
        "1500",
        "Enhanced SR Storage",
    )
    assert report.CodingSchemeIdentificationSequence[0].CodingSchemeDesignator == "99SEMBLANCE"
    query, *cases = [values(group) for group in groups(report)]
    assert len(cases) == PATIENTS - 1
    category = ("SCT", "276214006")
    assert query[category] == "query"
    assert {case[category] for case in cases} == {"similar-case"}
    assert [float(case["99SEMBLANCE", "rank"]) for case in cases] == list(range(1, PATIENTS))
    assert all(case["DCM", "111001"] == "plain" for case in cases)
    assert all(case["DCM", "112039"].startswith("Case ") for case in cases)


def test_what_was_measured_is_printed_with_units_and_codes(library, tmp_path):
    with Library.open(library) as opened:
        case = next(row.case_id for row in opened.catalogue.all_cases())
        opened.annotations.replace(
            case,
            [
                Annotation("ellipse", Figure.of_region(ELLIPSE).to_json()),
                Annotation("line", {"points": [[1.0, 2.0], [4.0, 6.0]]}),
                Annotation("angle", {"points": [[9, 0], [0, 0], [0, 9], [9, 9]]}),
                Annotation("probe", {"points": [[3.5, 3.5]]}),
            ],
        )
    try:
        _, (report,) = written(library, tmp_path, "sr")
        search, _ = written(library, tmp_path, "kos")
        json_file, html, pdf, table = (tmp_path / f"r.{kind}" for kind in ("json", "html", "pdf", "csv"))
        for out in (json_file, html, pdf, table):
            write_report_files(library, search, out)
    finally:
        with Library.open(library) as opened:
            opened.annotations.replace(case, [])
    drawn = groups(dcmread(report))[-4:]
    ellipse, line, angle, probe = map(values, drawn)
    assert set(ellipse) >= {("SCT", "42798000"), ("SCT", "373098007"), ("SCT", "386136009")}
    assert set(line) >= {("SCT", "410668003")}
    assert float(angle["SCT", "1483009"]) == 0
    assert ("99SEMBLANCE", "value") in probe
    # Each lies on the image of the query.
    graphics = [
        found
        for group in drawn
        for found in [
            *group.ContentSequence,
            *(i for n in group.ContentSequence for i in n.get("ContentSequence", ())),
        ]
        if found.ValueType == "SCOORD"
    ]
    assert [one.GraphicType for one in graphics] == ["POLYLINE"] * 4 + ["POINT"]
    assert list(graphics[1].GraphicData) == [1, 2, 4, 6]
    (image,) = json.loads(json_file.read_text(encoding="utf-8"))["measured"]
    assert image["rank"] is None
    results = {one["key"]: one for row in image["measurements"] for one in row["results"]}
    assert set(results) == {"mean", "sd", "min", "max", "area", "length", "angle", "value"}
    assert results["mean"]["value"] == pytest.approx(float(ellipse["SCT", "373098007"]))
    assert "4 Value" in table.read_text(encoding="utf-8")
    assert html.read_text(encoding="utf-8").count("<h2>Measurements</h2>") == 1
    text = "".join(page.extract_text() for page in PdfReader(pdf).pages)
    assert "Measurements" in text
    assert "Ellipse" in text


def test_an_object_for_a_record_refers_to_its_own_patient_only(library, tmp_path):
    patient = query_source(library)
    _, files = written(library, tmp_path, "all", identified=True)
    objects = [dcmread(file) for file in files]
    assert [made.Modality for made in objects] == ["SR", "KO", "DOC", "OT"]
    for made, file in zip(objects, files, strict=True):
        assert (made.PatientID, made.StudyInstanceUID) == (f"MRN{patient:04d}", f"{ROOT}.5.{patient}")
        assert (made.AccessionNumber, made.PatientName) == (f"ACC{patient:04d}", f"Quixley{patient:02d}^Ann")
        content = file.read_bytes()
        for other in set(range(PATIENTS)) - {patient}:
            for known in (f"{ROOT}.7.{other}\0", f"MRN{other:04d}", f"Quixley{other:02d}"):
                assert known.encode() not in content
    report, key_objects, _, sheet = objects
    for made in (report, key_objects):
        evidence = made.CurrentRequestedProcedureEvidenceSequence
        assert referenced(evidence) == {f"{ROOT}.7.{patient}", sheet.SOPInstanceUID}
        assert referenced(made.ContentSequence) == referenced(evidence)


def test_the_montage_shows_each_case_but_those_with_burnt_in_text_that_was_not_cleaned(
    library, tmp_path, monkeypatch
):
    def cells(sheet: np.ndarray) -> list[bool]:
        """Whether each cell has an image, by the texture in its middle."""
        corners = [(80 + 312 * (n // 5), 12 + 268 * (n % 5)) for n in range(PATIENTS - 1)]
        return [bool(sheet[y + 20 : y + 90, x + 20 : x + 236].std() > 5) for y, x in corners]

    _, files = written(library, tmp_path, "kos", identified=True)
    assert cells(dcmread(files[1]).pixel_array) == [True] * (PATIENTS - 1)
    details = Catalogue.details

    def flagged(self, rows):
        found = details(self, rows)
        if len(rows) < 2:
            return found
        first = replace(found[rows[0]], attributes={**found[rows[0]].attributes, "burnt_in_text": "possible"})
        return found | {rows[0]: first}

    monkeypatch.setattr(Catalogue, "details", flagged)
    _, files = written(library, tmp_path, "kos", identified=True)
    assert cells(dcmread(files[1]).pixel_array) == [False] + [True] * (PATIENTS - 2)
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    _, files = written(library, tmp_path, "kos", identified=True, clean_pixels=True)
    assert cells(dcmread(files[1]).pixel_array) == [True] * (PATIENTS - 1)


def test_a_de_identified_object_refers_to_the_de_identified_files(library, tmp_path):
    deidentify_files(library, tmp_path / "out")
    images = {str(dcmread(file).SOPInstanceUID) for file in (tmp_path / "out").rglob("*.dcm")}
    _, (file,) = written(library, tmp_path, "sr")
    assert {values(group)["image", ""] for group in groups(dcmread(file))} == images
    assert b"MRN" not in file.read_bytes() and ROOT.encode() not in file.read_bytes()


def test_key_objects_of_several_studies_name_each_other(library, tmp_path):
    _, files = written(library, tmp_path, "kos")
    documents = [dcmread(file) for file in files]
    assert len({document.StudyInstanceUID for document in documents}) == len(documents) == PATIENTS
    for document in documents:
        named = {
            instance.ReferencedSOPInstanceUID
            for study in document.IdenticalDocumentsSequence
            for series in study.ReferencedSeriesSequence
            for instance in series.ReferencedSOPSequence
        }
        assert named == {other.SOPInstanceUID for other in documents if other is not document}
        assert document.ConceptNameCodeSequence[0].CodeValue == "113000"
        assert document.ContentTemplateSequence[0].TemplateIdentifier == "2010"


def test_a_region_is_a_segment_of_its_image(library, tmp_path):
    _, (file, *_) = written(library, tmp_path, "seg", identified=True, region=Region(4, 6, 10, 8))
    made = dcmread(file)
    assert made.StudyInstanceUID == f"{ROOT}.5.{query_source(library)}"
    rows, columns = np.nonzero(made.pixel_array.reshape(48, 48))
    assert (columns.min(), rows.min(), columns.max(), rows.max()) == (4, 6, 13, 13)
    with pytest.raises(BadInput, match="region"):
        written(library, tmp_path, "seg", identified=True)


def test_a_structured_report_opens_as_its_search(library, tmp_path):
    search, (file,) = written(library, tmp_path, "sr")
    again = reopen_report(library, file)
    assert (again.query.case, again.metric) == (search.query.case, search.metric)
    save(mammogram(1), tmp_path / "other.dcm")
    with pytest.raises(BadInput, match="structured report"):
        reopen_report(library, tmp_path / "other.dcm")


def test_a_row_of_a_table_is_reported_as_text(tmp_path):
    library = table_library(tmp_path)
    train_metric(library, TrainRequest("euclidean", "plain"))
    _, (file,) = written(library, tmp_path, "sr")
    found = [values(group) for group in groups(dcmread(file))]
    assert len(found) == 21 and not any(("image", "") in group for group in found)


def test_an_image_that_is_in_no_dicom_file_becomes_a_secondary_capture(tmp_path):
    import_source(striped_folder(tmp_path / "images", n=12), tmp_path / "lib")
    extract_features(tmp_path / "lib", "pixels", workers=1)
    train_metric(tmp_path / "lib", TrainRequest("euclidean", "plain"))
    for identified in (False, True):
        _, files = written(tmp_path / "lib", tmp_path, "all", identified=identified)
        objects = [dcmread(file) for file in files]
        made = {str(one.SOPInstanceUID) for one in objects if one.Modality == "OT"}
        report = objects[0]
        # The query and its montage, or the query and each similar case.
        assert len(made) == (2 if identified else len(groups(report))) > 1
        assert referenced(report.CurrentRequestedProcedureEvidenceSequence) <= made
        assert referenced(report.ContentSequence) == made
        assert (
            referenced(one for key in objects if key.Modality == "KO" for one in key.ContentSequence) == made
        )
        # Without a study of its own the report is in that of the captured query.
        assert report.StudyInstanceUID in {one.StudyInstanceUID for one in objects if one.Modality == "OT"}


def test_an_object_is_a_dicom_file(library, tmp_path):
    with pytest.raises(BadArguments, match="DICOM"):
        write_report_files(library, Search("plain", Query()), tmp_path / "r.pdf", ReportOptions(dicom="sr"))
    with pytest.raises(BadArguments, match="'fhir'"):
        ReportOptions(dicom="fhir")


@pytest.mark.skipif(shutil.which("dciodvfy") is None, reason="dciodvfy of dicom3tools is not installed")
@pytest.mark.parametrize("identified", [False, True])
def test_the_objects_are_valid(library, tmp_path, identified):
    _, files = written(library, tmp_path, "all", identified=identified, region=Region(4, 6, 10, 8))
    kinds = [dcmread(file).Modality for file in files]
    assert kinds == (
        ["SR", "KO", "DOC", "SEG", "OT"] if identified else ["SR", *["KO"] * PATIENTS, "DOC", "SEG"]
    )
    page = resources.path("help/conformance.md").read_text(encoding="utf-8")
    for file in files:
        assert f"| `{dcmread(file).SOPClassUID}` |" in page
        said = subprocess.run(["dciodvfy", str(file)], capture_output=True, text=True, check=False).stderr
        assert [line for line in said.splitlines() if line.startswith("Error")] == []


def test_the_files_of_one_set_are_named_by_what_they_are(library, tmp_path):
    _, files = written(library, tmp_path, "all", identified=False, region=Region(4, 6, 10, 8))
    kinds = {"kos": "KO", "pdf": "DOC", "seg": "SEG", "image": "OT"}
    first, *others = files
    assert dcmread(first).Modality == "SR"
    assert {"kos", "pdf", "seg"} <= {
        file.stem.removeprefix(f"{first.stem}-").split("-")[0] for file in others
    }
    for file in others:
        assert dcmread(file).Modality == kinds[file.stem.removeprefix(f"{first.stem}-").split("-")[0]]
