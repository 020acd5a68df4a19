"""Planted names, ids and dates: none reaches a case, a report or what the program prints of a library."""

from __future__ import annotations

import contextlib
import datetime
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from pydicom import Dataset

from semblance.app.cli.main import run
from semblance.core.errors import BadArguments
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports.write_reports import write_search_report
from tests.helpers.dicom_files import ROOT, SECONDARY, ct_slice, encoded, image, save

DX = "1.2.840.10008.5.1.4.1.1.1.1"
#: Parts of everything by which the two patients could be found.
PLANTED = (
    "zebrovich", "quentin", "ourania", "778812", "778813", "19530417", "acc-9912", "larkspur",
    "st. elsewhere", "20190308", "2019-03-08", "20190418", "2019-04-18", "555-0142", ROOT,
)  # fmt: skip


def identified(dataset: Dataset, number: int, day: str) -> Dataset:
    dataset.PatientName = ("Zebrovich^Quentin", "Zebrovich^Ourania")[number % 2]
    dataset.PatientID = f"HOSP-{778812 + number % 2}"
    dataset.PatientBirthDate, dataset.AccessionNumber = "19530417", f"ACC-9912{number}"
    dataset.PatientAddress, dataset.InstitutionName = "4 Larkspur WorkerPool", "St. Elsewhere"
    dataset.PatientTelephoneNumbers, dataset.StudyDate = "555-0142", day
    return dataset


def film(number: int, day: str = "20190308", **more: object) -> Dataset:
    rng = np.random.default_rng(number)
    pixels = (2000 + 300 * (number % 4 // 2) + rng.integers(0, 400, (48, 48))).astype(np.uint16)
    uid = f"{ROOT}.{900 + number}"
    dataset = image(
        pixels,
        Modality="DX",
        SOPClassUID=DX,
        SOPInstanceUID=uid,
        SeriesInstanceUID=f"{uid}.1",
        StudyInstanceUID=f"{uid}.2",
    )
    for keyword, value in more.items():
        setattr(dataset, keyword, value)
    return identified(dataset, number, day)


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """Sixteen films and a series of two patients in folders and files called after them; a broken file."""
    folder = tmp_path_factory.mktemp("films") / "ZEBROVICH QUENTIN 19530417"
    lines = ["file,finding,patient_name,view\n"]
    for number in range(16):
        name = f"ACC-9912/Zebrovich^{number}.dcm"
        save(film(number), folder / name)
        lines.append(f"{name},{'benign' if number % 4 // 2 else 'malignant'},Quentin Zebrovich,CC\n")
    for number in range(3):
        dataset = ct_slice(np.full((24, 24), 50 * number, np.int16), number)
        save(identified(dataset, 1, "20190418"), folder / "Ourania" / f"{number}.dcm")
    (folder / "Zebrovich broken.dcm").write_bytes(encoded(film(40))[:-300])
    (folder / "labels.csv").write_text("".join(lines), encoding="utf-8")
    return folder


def planted_in(content: str | bytes) -> list[str]:
    text = (content if isinstance(content, str) else content.decode("latin-1")).casefold()
    return [word for word in PLANTED if word in text]


def cases_as_written(library: Path) -> str:
    with contextlib.closing(sqlite3.connect(library / CATALOGUE)) as connection:
        rows = connection.execute("SELECT case_id, finding, patient, attributes FROM cases").fetchall()
        names = connection.execute("SELECT name FROM sources").fetchall()
    assert rows
    return repr((rows, names))


def details(library: Path):
    with Library.open(library) as opened:
        rows = [r.id for r in opened.catalogue.all_cases()]
        return {case.address.container.name: case for case in opened.catalogue.details(rows).values()}


def test_no_case_contains_the_patient(tree, tmp_path):
    result = import_source(tree, tmp_path / "lib")
    assert (result.kind, result.added, result.patients) == ("dicom", 17, 2)
    assert len(result.failed) == 1
    assert "ZEBROVICH" not in cases_as_written(tmp_path / "lib").upper()
    assert planted_in(cases_as_written(tmp_path / "lib")) == []
    assert planted_in(json.dumps(result.to_json() | {"failed": [], "ignored": []})) == []
    notes = " ".join(result.notes)
    assert "patient ids and UIDs are replaced by codes" in notes
    assert "Left out because they may identify a patient: patient_name." in notes


def test_importing_again_gives_the_same_codes_and_another_library_others(tree, tmp_path):
    import_source(tree, tmp_path / "lib")
    before = cases_as_written(tmp_path / "lib")
    again = import_source(tree, tmp_path / "lib")
    assert (again.added, again.unchanged, again.relabelled) == (0, 17, 0)
    assert cases_as_written(tmp_path / "lib") == before
    import_source(tree, tmp_path / "other")
    ours, theirs = details(tmp_path / "lib"), details(tmp_path / "other")
    for name in ours:
        assert ours[name].patient != theirs[name].patient
        assert ours[name].case_id != theirs[name].case_id


def test_a_patient_stays_one_over_sources_and_dates_keep_their_intervals(tmp_path):
    save(film(0, "20190308"), tmp_path / "first" / "a.dcm")
    save(film(2, "20190418"), tmp_path / "second" / "b.dcm")
    save(film(1, "20190308"), tmp_path / "second" / "c.dcm")
    for folder in ("first", "second"):
        import_source(tmp_path / folder, tmp_path / "lib")
    found = details(tmp_path / "lib")
    assert found["a.dcm"].patient == found["b.dcm"].patient != found["c.dcm"].patient
    days = {name: datetime.date.fromisoformat(case.attributes["date"]) for name, case in found.items()}
    assert (days["b.dcm"] - days["a.dcm"]).days == 41
    assert days["a.dcm"] < datetime.date(2019, 3, 8)
    assert {case.case_id.split("/")[0] for case in found.values()} == {"dicom", "dicom 2"}


def test_ids_stay_on_request_and_names_never(tree, tmp_path):
    result = import_source(tree, tmp_path / "lib", identified=True)
    found = details(tmp_path / "lib")
    case = found["Zebrovich^0.dcm"]
    assert (case.patient, case.attributes["date"]) == ("HOSP-778812", "2019-03-08")
    assert case.case_id == "ZEBROVICH QUENTIN 19530417/ACC-9912/Zebrovich^0.dcm"
    assert case.attributes["patient_name"] == "Quentin Zebrovich"
    assert not {"larkspur", "st. elsewhere", "555-0142"} & set(planted_in(cases_as_written(tmp_path / "lib")))
    assert result.notes == []
    again = import_source(tree, tmp_path / "lib")
    assert (again.unchanged, again.relabelled) == (17, 0)
    assert again.notes == ["Patient ids are kept: this source was imported with them before."]


def test_a_source_without_ids_does_not_get_them_later(tree, tmp_path):
    import_source(tree, tmp_path / "lib")
    before = cases_as_written(tmp_path / "lib")
    with pytest.raises(BadArguments, match=r"without patient ids.*into a new library"):
        import_source(tree, tmp_path / "lib", identified=True)
    assert cases_as_written(tmp_path / "lib") == before


def test_labels_match_the_patients_of_the_headers(tmp_path):
    save(film(0), tmp_path / "t" / "a.dcm")
    save(film(1), tmp_path / "t" / "b.dcm")
    (tmp_path / "t" / "labels.csv").write_text("file,patient\nb.dcm,HOSP-778812\n", encoding="utf-8")
    assert import_source(tmp_path / "t", tmp_path / "lib").patients == 1


@pytest.fixture(scope="module")
def with_metric(tree, tmp_path_factory) -> tuple[Path, str]:
    """A library with a metric, and one of its cases."""
    library = tmp_path_factory.mktemp("with_metric") / "lib"
    import_source(tree, library)
    extract_features(library, "colour_edge_texture")
    train_metric(library, TrainRequest("euclidean", "plain"))
    with Library.open(library) as opened:
        case = next(r.case_id for r in opened.catalogue.all_cases() if r.finding)
    return library, case


@pytest.mark.parametrize("suffix", ["html", "pdf", "csv", "json", "dcm"])
def test_no_report_contains_the_patient(with_metric, tree, tmp_path, suffix):
    library, case = with_metric
    outside = tmp_path / "Zebrovich^Quentin.dcm"
    outside.write_bytes((tree / "ACC-9912" / "Zebrovich^3.dcm").read_bytes())
    for number, query in enumerate((Query(case), Query(image=outside))):
        out = write_search_report(library, Search("plain", query), tmp_path / f"r{number}.{suffix}")
        assert planted_in(out.read_bytes()) == []
        if suffix == "pdf":
            import pypdf

            reader = pypdf.PdfReader(out)
            text = "".join(page.extract_text() for page in reader.pages)
            assert "Retrieval report" in text
            assert planted_in(text + repr(reader.metadata)) == []


def test_no_report_of_an_identified_library_does_by_default(tree, tmp_path):
    library = tmp_path / "lib"
    import_source(tree, library, identified=True)
    extract_features(library, "colour_edge_texture")
    train_metric(library, TrainRequest("euclidean", "plain"))
    case = "ZEBROVICH QUENTIN 19530417/ACC-9912/Zebrovich^0.dcm"
    out = write_search_report(library, Search("plain", Query(case)), tmp_path / "r.html")
    # What is left are names of files, which the person gave or chose.
    assert set(planted_in(out.read_bytes())) <= {"zebrovich"}
    report = write_search_report(
        library, Search("plain", Query(case)), tmp_path / "i.html", ReportOptions(identified=True)
    )
    assert {"778812", "2019-03-08"} <= set(planted_in(report.read_bytes()))


def test_what_the_program_prints_of_a_library(with_metric, capsys):
    library, case = with_metric
    for arguments in (
        ["info", str(library), "--json"],
        ["info", str(library)],
        ["features", str(library), "--extractor", "pixels", "--json"],
        ["search", str(library), "--metric", "plain", "--case", case],
        ["evaluate", str(library), "--features", "colour_edge_texture", "--learner", "euclidean",
         "--protocol", "bdm", "--repeats", "1", "--json"],
    ):  # fmt: skip
        assert run(arguments) == 0
        captured = capsys.readouterr()
        assert planted_in(captured.out + captured.err) == []


def test_thumbnails_hold_pixels_only(with_metric):
    library, _ = with_metric
    for name in ("thumbnails.sqlite", "features", "metrics"):
        place = library / name
        for file in [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()]:
            assert planted_in(file.read_bytes()) == []


def burnt_in(tmp_path: Path, **header: object) -> tuple[str, list[str]]:
    pixels = np.arange(400, dtype=np.uint16).reshape(20, 20)
    dataset = image(pixels, **({"SOPClassUID": DX} | header))
    save(dataset, tmp_path / "t" / "a.dcm")
    result = import_source(tmp_path / "t", tmp_path / "lib")
    (case,) = details(tmp_path / "lib").values()
    return case.attributes.get("burnt_in_text", ""), result.notes


@pytest.mark.parametrize(
    ("header", "warning"),
    [
        ({"Modality": "DX"}, ""),
        ({"Modality": "DX", "BurnedInAnnotation": "YES"}, "yes"),
        ({"Modality": "US", "BurnedInAnnotation": "NO"}, ""),
        ({"Modality": "US"}, "possible"),
        ({"Modality": "MR", "SOPClassUID": SECONDARY}, "possible"),
        ({"Modality": "MR", "SOPClassUID": f"{SECONDARY}.4"}, "possible"),
        ({"Modality": "MR", "ConversionType": "SD"}, "possible"),
        ({"Modality": "MR", "ImageType": ["DERIVED", "SECONDARY", "SCREEN SAVE"]}, "possible"),
        ({"Modality": "MR", "ImageType": ["ORIGINAL", "PRIMARY"]}, ""),
    ],
)
def test_burnt_in_text_is_warned_of(tmp_path, header, warning):
    attribute, notes = burnt_in(tmp_path, **header)
    assert attribute == warning
    assert any("urnt-in text" in note for note in notes) is bool(warning)


def test_labels_of_segments_with_a_name_in_them_are_dropped(tmp_path):
    from tests.unit.core.library.importers.test_dicom import segmentation

    series = f"{ROOT}.2"
    for number in range(3):
        dataset = ct_slice(np.full((24, 32), 50 * number, np.int16), number)
        save(identified(dataset, 0, "20190308"), tmp_path / "ct" / f"{number}.dcm")
    masks = np.zeros((2, 24, 32), np.uint8)
    masks[:, 3:9, 4:12] = 1
    dataset = identified(segmentation(masks, [0, 1], [1, 2], series), 0, "20190308")
    dataset.SegmentSequence[0].SegmentLabel = "GTV Zebrovich"
    dataset.SegmentSequence[1].SegmentLabel = "Liver"
    save(dataset, tmp_path / "ct" / "seg.dcm")
    import_source(tmp_path / "ct", tmp_path / "lib")
    with Library.open(tmp_path / "lib") as opened:
        findings = {r.finding for r in opened.catalogue.all_cases()}
    assert findings == {None, "part 1", "Liver"}
    assert planted_in(cases_as_written(tmp_path / "lib")) == []


#: Attributes that a library stores or that name a case, each with a text of the patient.
TYPED = {
    "Modality": "ZEBROVICH", "BodyPartExamined": "ZEBROVICH HAND", "ViewPosition": "QUENTIN",
    "ImageLaterality": "QUENTIN", "Manufacturer": "Mr Quentin, St. X", "PatientSex": "QUENTIN",
    "SeriesNumber": "778812", "SeriesDescription": "chest of Zebrovich", "StudyDescription": "Quentin Zebrovich",
    "ProtocolName": "zebrovich_lung", "ConvolutionKernel": "Zebrovich", "StationName": "QUENTIN",
}  # fmt: skip


@pytest.mark.parametrize("identified_import", [False, True])
@pytest.mark.parametrize("keyword", list(TYPED))
def test_a_text_of_the_header_that_names_the_patient_is_not_stored(tmp_path, keyword, identified_import):
    save(film(0, **{keyword: TYPED[keyword]}), tmp_path / "t" / "a.dcm")
    save(
        film(1, **{keyword: "CHEST"}) if keyword == "BodyPartExamined" else film(1), tmp_path / "t" / "b.dcm"
    )
    import_source(tmp_path / "t", tmp_path / "lib", identified=identified_import)
    found = planted_in(cases_as_written(tmp_path / "lib"))
    assert not {"zebrovich", "quentin"} & set(found)
    assert identified_import or found == []
    if keyword == "BodyPartExamined":
        assert details(tmp_path / "lib")["b.dcm"].attributes["body_part"] == "CHEST"


def test_a_body_part_stays_where_the_patient_is_called_so(tmp_path):
    save(film(0, PatientName="x", BodyPartExamined="CHEST"), tmp_path / "t" / "a.dcm")
    dataset = film(2, BodyPartExamined="CHEST", Manufacturer="Chest Systems")
    dataset.PatientName = "Chest^Ann"
    save(dataset, tmp_path / "t" / "b.dcm")
    import_source(tmp_path / "t", tmp_path / "lib")
    attributes = details(tmp_path / "lib")["b.dcm"].attributes
    assert attributes["body_part"] == "CHEST" and "manufacturer" not in attributes


def test_volumes_of_a_series_are_told_by_measures_and_not_by_texts_or_times(tmp_path):
    for number in range(6):
        dataset = ct_slice(np.full((24, 24), 50 * number, np.int16), number % 3)
        dataset.SOPInstanceUID = f"{ROOT}.55.{number}"
        dataset.AcquisitionDateTime = ("20190308101500", "20190418101500")[number // 3]
        dataset.ImageType = ["ORIGINAL", "PRIMARY", ("ZEBROVICH", "AXIAL")[number // 3]]
        save(identified(dataset, 0, "20190308"), tmp_path / "t" / f"{number}.dcm")
    result = import_source(tmp_path / "t", tmp_path / "lib")
    assert result.added == 2
    assert planted_in(cases_as_written(tmp_path / "lib")) == []
