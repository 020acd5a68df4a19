"""Planted names, ids, dates, folders and user names: no exported file contains them unless asked.

Every workflow that notes an export stands in ``EXPORTS`` or ``ELSEWHERE``; a new one fails until it does.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, PngImagePlugin
from pydicom import Dataset

from semblance.core.library.collections import CollectionItem
from semblance.core.library.library import Library
from semblance.core.library.open_library import open_library
from semblance.core.reports.curves import ACCURACY, AccuracyCurve
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.feedback.judgements import likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.evaluation import write_evaluation
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, measure
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.imaging import deidentify_files, describe_image, export_images
from semblance.core.workflows.library import export_library
from semblance.core.workflows.library.audit_log import list_exports
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics import metric_exchange
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.network import answer_requests
from semblance.core.workflows.reports import export_plots, metric_cards, write_reports
from semblance.core.workflows.searches.feedback import refine_metric
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.teaching import export_collection
from tests.helpers.dicom_files import encoded, save
from tests.helpers.identifier_search import PNG, IdentifierSearch, parts
from tests.helpers.planted_everywhere import Person, attributes, plant, plant_private
from tests.unit.core.workflows.library.test_import_privacy import PLANTED, film


def texts_in_file(file: Path) -> str:
    """All texts in ``file`` as one text to search, without the name of the file."""
    return texts_in_bytes(file.read_bytes())


def texts_in_bytes(data: bytes) -> str:
    """:func:`texts_in_file` of the bytes of a file."""
    texts = []
    for _, part in parts(data):
        texts += [part.decode("latin-1"), part.decode("utf-8", "ignore"), part.decode("utf-16-le", "ignore")]
        if part[:8] == PNG or part[:3] == b"\xff\xd8\xff":
            texts.append(_image(part))
    return "\n".join(texts)


def _image(data: bytes) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        image.load()
        return repr(image.info) + repr(getattr(image, "text", "")) + repr(dict(image.getexif()))


WORKFLOWS = Path(__file__).resolve().parents[5] / "core" / "workflows"
USER, HOME = "quentin-larkspur", "homefolder-of-ourania"
Made = tuple[Path, str, Path]


def of_reports(suffix: str) -> Callable[[Made], list[Path]]:
    def write(made: Made) -> list[Path]:
        library, case, out = made
        options = ReportOptions(clinic="Clinic", comment="looks alike")
        search = Search("clicked", Query(case), ledger="mine")
        return [write_reports.write_search_report(library, search, out / f"report{suffix}", options)]

    return write


def of_batches(made: Made) -> list[Path]:
    library, case, out = made
    write_reports.write_reports(library, Search("plain", Query(case)), [case, "gone"], out / "batch", "html")
    return sorted((out / "batch").iterdir())


def of_cards(suffix: str) -> Callable[[Made], list[Path]]:
    return lambda made: [metric_cards.write_metric_card(made[0], "clicked", made[2] / f"card{suffix}")]


def of_metrics(made: Made) -> list[Path]:
    return [metric_exchange.export_metric(made[0], "clicked", made[2] / f"m{metric_exchange.SUFFIX}")]


def of_plots(suffix: str) -> Callable[[Made], list[Path]]:
    def write(made: Made) -> list[Path]:
        curve = AccuracyCurve("clicked", (1, 2, 3), (0.9, 0.8, 0.7), (0.8, 0.7, 0.6), (0.95, 0.9, 0.8))
        return export_plots.export_plots(
            made[2] / f"plot{suffix}", {ACCURACY: [curve]}, note="held-out cases", library=made[0]
        )

    return write


def of_deidentified(made: Made) -> list[Path]:
    result = deidentify_files.deidentify_files(made[0], made[2] / "deidentified")
    assert len(result.files) == 16
    return [file for file in (made[2] / "deidentified").rglob("*") if file.is_file()]


def of_answers(made: Made) -> list[Path]:
    image = encoded(planted_film(3))
    answer = answer_requests.answer_search(made[0], answer_requests.SearchRequest(b"k" * 32, image=image))
    file = made[2] / "answer.json"
    file.write_text(json.dumps(answer, default=str), encoding="utf-8")
    return [file]


def of_answered_reports(made: Made) -> list[Path]:
    request = answer_requests.SearchRequest(b"k" * 32, image=encoded(planted_film(3)))
    files = []
    for form in ("pdf", "html", "json"):
        for content in answer_requests.answer_report(made[0], request, form):
            files.append(made[2] / f"answer{len(files)}.{form}")
            files[-1].write_bytes(content)
    return files


def of_library(made: Made) -> list[Path]:
    return export_library.export_library(made[0], made[2] / "library", features=["colour_edge_texture"])


def of_evaluation(made: Made) -> list[Path]:
    request = EvaluateRequest(("euclidean",), "bdm", library=made[0], repeats=1, keeps_queries=True)
    return write_evaluation.write_evaluation(measure(request), made[2] / "evaluation")


def of_collection(suffix: str) -> Callable[[Made], list[Path]]:
    def write(made: Made) -> list[Path]:
        library, case, out = made
        with open_library(library) as opened:
            if not opened.collections.all():
                opened.collections.make("list", [CollectionItem(case)])
        export_collection.export_collection(library, "list", out / f"list{suffix}")
        return [file for file in [out / f"list{suffix}", *out.rglob("*")] if file.is_file()]

    return write


def of_images(kind: str) -> Callable[[Made], list[Path]]:
    def write(made: Made) -> list[Path]:
        out = made[2] / "images"
        size = export_images.FULL if kind == "dicom" else export_images.SCREEN
        options = export_images.ImageExportOptions(kind=kind, size=size)
        assert not export_images.export_images(made[0], [made[1]], out, options).failed
        return [file for file in out.rglob("*") if file.is_file()]

    return write


#: Workflow -> what writes its files, by kind.
EXPORTS: dict[str, dict[str, Callable[[Made], list[Path]]]] = {
    "write_reports": {
        **{suffix: of_reports(suffix) for suffix in (".pdf", ".html", ".csv", ".json", ".dcm")},
        "batch": of_batches,
    },
    "metric_cards": {suffix: of_cards(suffix) for suffix in (".md", ".json")},
    "metric_exchange": {"file": of_metrics},
    "export_plots": {suffix: of_plots(suffix) for suffix in (".png", ".svg", ".pdf", ".csv")},
    "deidentify_files": {"files": of_deidentified},
    "answer_requests": {"search": of_answers, "report": of_answered_reports},
    "export_library": {"files": of_library},
    "write_evaluation": {"files": of_evaluation},
    "export_collection": {suffix: of_collection(suffix) for suffix in (".pdf", ".zip", ".dcm", "")},
    "export_images": {kind: of_images(kind) for kind in ("png", "jpeg", "tiff", "dicom")},
}
#: Not here, and why.
ELSEWHERE = {
    "clean_burnt_in_text": "a review shows what the export hides, and says so",
    "describe_image": "below: it logs in no library",
    "reader_study": "tests/unit/core/workflows/research/test_reader_study.py",
    "send_results": "what goes to the patient's own record has the patient's name",
    "rank_learners": "tests/unit/core/workflows/research/test_rank_learners.py: image sets and their numbers",
    "backup": "a backup holds all the library knows, and says so",
    "audit_log": "notes what the window grabs from its own screen; tests/unit/app/viewer",
    "exchange_features": "numbers, findings and ids of cases, as the help says: no paths and no patients",
    "experiments": "tests/unit/core/research/test_export.py",
}


def planted_film(number: int) -> Dataset:
    """A film with something of its patient in every attribute of a text or of bytes, in private ones, and in codes
    that a library stores."""
    given = ("Quentin", "Ourania")[number % 2]
    dataset = film(
        number,
        BodyPartExamined="ZEBROVICHS HAND",
        Manufacturer=f"Mr. {given}",
        ViewPosition="ZEBROVICH",
        ImageLaterality=given.upper(),
        PatientSex=given.upper(),
        SeriesDescription="chest of Zebrovich, born 17.04.1953",
        SeriesNumber=f"{778812 + number % 2}",
        ConvolutionKernel="Zebrovich",
        StationName="ZEBROVICH",
    )
    who = Person(str(dataset.PatientName), str(dataset.PatientID), str(dataset.AccessionNumber), "19530417")
    texts = [
        (tag, kind)
        for tag, kind in attributes()
        if kind in ("CS", "LO", "SH", "LT", "ST", "UT", "UC", "PN", "OB")
    ]
    plant(dataset, who, texts)
    plant_private(dataset, who)
    return dataset


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A library of two patients' films with a metric learned from clicks of somebody with a name."""
    folder = tmp_path_factory.mktemp(HOME)
    tree = folder / "ZEBROVICH QUENTIN 19530417"
    lines = ["file,finding\n"]
    for number in range(16):
        save(planted_film(number), tree / f"Zebrovich^{number}.dcm")
        lines.append(f"Zebrovich^{number}.dcm,{'benign' if number % 4 // 2 else 'malignant'}\n")
    (tree / "labels.csv").write_text("".join(lines), encoding="utf-8")
    library = folder / "lib.semblance"
    import_source(tree, library)
    extract_features(library, "colour_edge_texture", workers=1)
    train_metric(library, TrainRequest("euclidean", "plain"))
    with Library.open(library) as opened:
        cases = [r.case_id for r in opened.catalogue.all_cases()]
    search = Search("plain", Query(cases[0]), ledger="mine")
    for case, alike in ((cases[1], True), (cases[2], False)):
        refine_metric.add_judgements(
            library, search, [likeness_judgement(search, case, alike)], author="Ourania Zebrovich"
        )
    refine_metric.save_refined(library, search, "clicked")
    yield library, cases[3], folder
    close_loaded_metrics()


@pytest.fixture(scope="module", params=("library", "no library"))
def of_files(request, tmp_path_factory):
    """Ordinary image files named after their patients, without a column of patients: names are in folders, files,
    ids of cases and every column of ``labels.csv``, one of them as an allowed attribute. The query is a case,
    or a file from outside."""
    folder = tmp_path_factory.mktemp(HOME)
    tree = folder / "ZEBROVICH QUENTIN 19530417"
    header = "file,case_id,finding,comment,body_part,view,age,sex,Zebrovich\n"
    lines = [header]
    rng = np.random.default_rng(0)
    (tree / "Ourania Zebrovich").mkdir(parents=True)
    for number in range(16):
        name = f"Ourania Zebrovich/Zebrovich_{number}.png"
        grey = rng.integers(0, 90, (48, 48)) + 100 * (number % 2)
        info = PngImagePlugin.PngInfo()
        info.add_text("Author", "Zebrovich")
        Image.fromarray(grey.astype(np.uint8)).save(tree / name, pnginfo=info)
        case = f"clinic/Zebrovich/{number}" if number % 3 else f"zebrovich{number}"
        finding = ("benign", "malignant")[number % 2]
        lines.append(f"{name},{case},{finding},seen by Larkspur,Zebrovich's hand,Quentin,47,F,778812\n")
    (tree / "labels.csv").write_text("".join(lines), encoding="utf-8")
    library = folder / "Zebrovich.semblance"
    import_source(tree, library, identified=True)
    extract_features(library, "colour_edge_texture", workers=1)
    train_metric(library, TrainRequest("euclidean", "plain"))
    outside = folder / "Quentin.png"
    Image.fromarray(rng.integers(0, 99, (48, 48)).astype(np.uint8)).save(outside)
    with Library.open(library) as opened:
        cases = [r.case_id for r in opened.catalogue.all_cases()]
    assert any("/" in case for case in cases)
    query = Query(cases[3]) if request.param == "library" else Query(image=outside)
    search = Search("plain", query, ledger="mine", like=(cases[5], str(outside)))
    if query.case:
        refine_metric.add_judgements(
            library, search, [likeness_judgement(search, cases[1], True)], author="Ourania Zebrovich"
        )
    yield library, search, cases
    close_loaded_metrics()


@pytest.fixture(autouse=True)
def somebody(monkeypatch):
    for variable in ("USER", "LOGNAME", "USERNAME", "LNAME"):
        monkeypatch.setenv(variable, USER)
    yield


def planted_in(text: str) -> list[str]:
    low = text.casefold()
    return [word for word in (*PLANTED, USER, HOME) if word in low]


@pytest.mark.parametrize(
    ("workflow", "kind"), [(workflow, kind) for workflow, kinds in EXPORTS.items() for kind in kinds]
)
def test_no_file_contains_user_path_or_time(made, tmp_path, workflow, kind):
    library, case, _ = made
    noted = len(list_exports(library))
    files = EXPORTS[workflow][kind]((library, case, tmp_path))
    assert files
    search = IdentifierSearch((*PLANTED, USER, HOME))
    for file in files:
        search.file(file, str(file.relative_to(tmp_path)))
    assert search.searched.found == []
    assert len(list_exports(library)) > noted


def test_the_catalogue_contains_no_text_of_a_header_that_names_the_patient(made):
    search = IdentifierSearch(PLANTED)
    for file in ("features", "thumbnails.sqlite"):
        place = made[0] / file
        for one in [place] if place.is_file() else place.rglob("*"):
            if one.is_file():
                search.file(one)
    assert search.searched.files > 1 and search.searched.found == []
    with Library.open(made[0]) as opened:
        rows = [r.id for r in opened.catalogue.all_cases()]
        cases = list(opened.catalogue.details(rows).values())
    for case in cases:
        assert planted_in(repr((case.case_id, case.finding, case.patient, case.attributes))) == []
        assert case.attributes["modality"] == "DX"


def test_an_image_as_shown_contains_its_pixels_only(tmp_path):
    save(planted_film(2), tmp_path / "Zebrovich.dcm")
    info = PngImagePlugin.PngInfo()
    info.add_text("Author", "Zebrovich", zip=True)
    info.add_itxt("Patient", "Quentin")
    exif = Image.Exif()
    exif[0x010E] = "Zebrovich"
    pixels = Image.fromarray(np.full((8, 8, 3), 99, np.uint8))
    pixels.save(tmp_path / "Zebrovich.png", pnginfo=info, exif=exif)
    pixels.save(tmp_path / "Zebrovich.jpg", exif=exif, comment=b"Zebrovich")
    pixels.save(tmp_path / "Zebrovich.tif", tiffinfo={270: "Zebrovich", 315: "Quentin", 33432: "Ourania"})
    before, after = (IdentifierSearch((*PLANTED, USER, HOME)) for _ in range(2))
    for suffix in ("dcm", "png", "jpg", "tif"):
        before.file(tmp_path / f"Zebrovich.{suffix}", suffix)
        describe_image.describe_image(tmp_path / f"Zebrovich.{suffix}", out=tmp_path / f"{suffix}.out.png")
        after.file(tmp_path / f"{suffix}.out.png", suffix)
    assert {found[0] for found in before.searched.found} == {"dcm", "png", "jpg", "tif"}
    assert (after.searched.files, after.searched.found) == (4, [])


@pytest.mark.parametrize("suffix", [".pdf", ".html", ".csv", ".json", ".dcm"])
def test_reports_contain_no_names_of_image_files(of_files, tmp_path, suffix):
    library, search, _ = of_files
    options = ReportOptions(clinic="Clinic", comment="looks alike")
    file = write_reports.write_search_report(library, search, tmp_path / f"report{suffix}", options)
    text = texts_in_file(file)
    assert planted_in(text) == []
    assert "Case 2" in text
    assert planted_in(json.dumps([{**line, "by": ""} for line in list_exports(library)])) == []
    assert "40–49" in text or suffix == ".csv" or search.query.case is None


def test_batch_reports_contain_no_names_of_image_files(of_files, tmp_path):
    library, search, cases = of_files
    write_reports.write_reports(library, search, [*cases[4:6], "gone"], tmp_path / "batch", "html")
    for file in (tmp_path / "batch").iterdir():
        assert planted_in(texts_in_file(file) + file.name) == [], file.name
    index = (tmp_path / "batch" / "reports.csv").read_text()
    assert [line.split(",")[:2] for line in index.splitlines()[1:]] == [
        ["report-0001.html", "Case 1"],
        ["report-0002.html", "Case 2"],
    ]


def test_free_text_is_in_a_report_only_when_it_is_ticked(of_files, tmp_path):
    library, search, cases = of_files
    search = Search("plain", Query(cases[2]))
    texts = {}
    for identified in (False, True):
        for free_text in (False, True):
            options = ReportOptions(identified=identified, free_text=free_text)
            file = write_reports.write_search_report(library, search, tmp_path / "r.json", options)
            texts[identified, free_text] = file.read_text(encoding="utf-8")
    for (_, free_text), text in texts.items():
        assert ("seen by Larkspur" in text) is free_text
        assert ("s hand" in text) is free_text
        assert "Free text" in text or not free_text
    assert cases[2] in texts[True, False]
    assert cases[2] not in texts[False, True]


def test_the_log_of_exports_has_who_exported_and_nothing_else(made, tmp_path):
    of_metrics((made[0], made[1], tmp_path))
    lines = [dict(line) for line in list_exports(made[0])]
    assert {line.pop("by") for line in lines} == {USER}
    assert planted_in(json.dumps(lines)) == []


def test_an_identified_report_is_noted_as_such(made, tmp_path):
    library, case, _ = made
    search = Search("plain", Query(case))
    write_reports.write_search_report(library, search, tmp_path / "r.csv", ReportOptions(identified=True))
    assert list_exports(library)[-1]["identified"] is True


def silent_about(folder: Path) -> list[str]:
    """Workflows that note exports and stand in no list here."""
    noting = [file.stem for file in folder.rglob("*.py") if "log_export(" in file.read_text(encoding="utf-8")]
    return sorted(set(noting) - set(EXPORTS) - set(ELSEWHERE))


def test_every_workflow_that_exports_is_checked(tmp_path):
    assert silent_about(WORKFLOWS) == []
    (tmp_path / "shouting.py").write_text("log_export(library, 'x', 'y')\n")
    assert silent_about(tmp_path) == ["shouting"]


# That the search would find something


def test_the_search_reads_pdfs_and_what_describes_them():
    from reportlab.pdfgen.canvas import Canvas

    data = io.BytesIO()
    canvas = Canvas(data, pageCompression=1)
    canvas.setAuthor("Zebrovich")
    canvas.drawString(50, 500, "Larkspur WorkerPool")
    canvas.save()
    assert {"zebrovich", "larkspur"} <= set(planted_in(texts_in_bytes(data.getvalue())))


def test_the_search_reads_texts_in_images():
    info = PngImagePlugin.PngInfo()
    info.add_text("Author", "Zebrovich", zip=True)
    data = io.BytesIO()
    Image.new("L", (4, 4)).save(data, "PNG", pnginfo=info)
    assert planted_in(texts_in_bytes(data.getvalue())) == ["zebrovich"]


def test_the_search_reads_zips_in_zips_and_images_in_pages():
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.json", json.dumps({"who": "Zebrovich"}))
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.zip", inner.getvalue())
    assert planted_in(texts_in_bytes(outer.getvalue())) == ["zebrovich"]
    import base64

    page = b'<img src="data:application/zip;base64,' + base64.b64encode(outer.getvalue()) + b'">'
    assert planted_in(texts_in_bytes(page)) == ["zebrovich"]


def test_the_search_reads_dicom(tmp_path):
    save(film(1), tmp_path / "a.dcm")
    assert {"zebrovich", "778813", "20190308"} <= set(planted_in(texts_in_file(tmp_path / "a.dcm")))


def test_an_exported_metric_contains_no_time(made, tmp_path):
    (file,) = of_metrics((made[0], made[1], tmp_path))
    with zipfile.ZipFile(file) as outer, zipfile.ZipFile(io.BytesIO(outer.read("metric.zip"))) as inner:
        entries = [*outer.infolist(), *inner.infolist()]
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
