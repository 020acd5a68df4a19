"""A search as DICOM objects: what they refer to, what they tell, and that others can read them."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from pydicom import Dataset, dcmread

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
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
from tests.helpers.dicom_files import MG, ROOT, image, save

PATIENTS = 12


def mammogram(patient: int) -> Dataset:
    rng = np.random.default_rng(patient)
    return image(
        (rng.integers(0, 200, (48, 48)) + 1000 * (patient % 2)).astype(np.uint16),
        SOPClassUID=MG,
        Modality="MG",
        PatientID=f"MRN{patient:04d}",
        PatientName=f"Quixley{patient:02d}^Ann",
        StudyInstanceUID=f"{ROOT}.5.{patient}",
        SeriesInstanceUID=f"{ROOT}.6.{patient}",
        SOPInstanceUID=f"{ROOT}.7.{patient}",
        StudyDate="20200101",
        AccessionNumber=f"ACC{patient:04d}",
        PixelSpacing=[0.1, 0.1],
        InstanceNumber=1,
        SeriesNumber=1,
        PatientOrientation=["A", "F"],
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("objects")
    for patient in range(PATIENTS):
        save(mammogram(patient), folder / "in" / f"{patient:02d}.dcm")
    findings = "".join(f"{n:02d}.dcm,{'malignant' if n % 2 else 'benign'}\n" for n in range(PATIENTS))
    (folder / "in" / "labels.csv").write_text(f"file,finding\n{findings}")
    import_source(folder / "in", folder / "lib")
    extract_features(folder / "lib", "pixels", workers=1)
    train_metric(folder / "lib", TrainRequest("euclidean", "plain"))
    return folder / "lib"


def written(library, tmp_path, kind: str, *, identified: bool = False, region: Region | None = None):
    with Library.open(library) as opened:
        case = next(row.case_id for row in opened.catalogue.all_cases())
    options = ReportOptions(identified=identified, dicom=kind)
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


@pytest.mark.parametrize("identified", [False, True])
def test_a_structured_report_has_a_group_for_the_query_and_each_case(library, tmp_path, identified):
    _, (file,) = written(library, tmp_path, "sr", identified=identified)
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


def test_an_object_for_a_record_refers_to_its_own_patient_only(library, tmp_path):
    patient = query_source(library)
    for kind in ("sr", "kos", "pdf"):
        _, (file,) = written(library, tmp_path, kind, identified=True)
        made, content = dcmread(file), file.read_bytes()
        assert (made.PatientID, made.StudyInstanceUID) == (f"MRN{patient:04d}", f"{ROOT}.5.{patient}")
        assert made.AccessionNumber == f"ACC{patient:04d}"
        for other in set(range(PATIENTS)) - {patient}:
            for told in (f"{ROOT}.7.{other}\0", f"MRN{other:04d}", f"Quixley{other:02d}"):
                assert told.encode() not in content
        if kind != "pdf":
            assert f"{ROOT}.7.{patient}".encode() in content


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


def test_an_object_is_a_dicom_file(library, tmp_path):
    with pytest.raises(BadArguments, match="DICOM"):
        write_report_files(library, Search("plain", Query()), tmp_path / "r.pdf", ReportOptions(dicom="sr"))
    with pytest.raises(BadArguments, match="'fhir'"):
        ReportOptions(dicom="fhir")


@pytest.mark.skipif(shutil.which("dciodvfy") is None, reason="dciodvfy of dicom3tools is not installed")
@pytest.mark.parametrize("identified", [False, True])
@pytest.mark.parametrize("kind", ["sr", "kos", "pdf", "seg"])
def test_the_objects_are_valid(library, tmp_path, kind, identified):
    region = Region(4, 6, 10, 8) if kind == "seg" else None
    _, files = written(library, tmp_path, kind, identified=identified, region=region)
    for file in files:
        said = subprocess.run(["dciodvfy", str(file)], capture_output=True, text=True, check=False).stderr
        assert [line for line in said.splitlines() if line.startswith("Error")] == []
