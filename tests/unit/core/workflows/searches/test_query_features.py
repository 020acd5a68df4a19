"""The patient of an image from outside never answers it, nor does a copy of the image."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadInput
from semblance.core.imaging import open_image
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.feedback.judgements import likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.reports.write_reports import write_search_report
from semblance.core.workflows.searches.estimate import trained_on
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements
from semblance.core.workflows.searches.feedback.refinement_session import open_refinement
from semblance.core.workflows.searches.open_metrics import open_metric
from semblance.core.workflows.searches.query_features import embed_query, save_pasted_image
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.dicom_files import ROOT, image, save
from tests.helpers.images import stripes
from tests.helpers.ranked_searches import ids, ranked
from tests.helpers.tables import PLAIN

#: Of the folder of striped images: a case, and the other one of its patient.
CASE, SIBLING = "images/level/p004.png", "images/level/p005.png"
FILE = Path(*CASE.split("/")[1:])


def search(library: Path, file: Path, **options):
    return nearest_cases(library, "plain", Query(image=file), k=100, **options)


@pytest.fixture
def original(images) -> Path:
    return images.with_suffix("") / FILE


def other_bytes(original: Path, copy: Path, **options) -> Path:
    with Image.open(original) as opened:
        opened.save(copy, **options)
    assert copy.read_bytes() != original.read_bytes()
    return copy


@pytest.mark.parametrize("pixels", ["the same file", "other bytes"])
def test_the_patient_of_a_copied_library_image_is_hidden_and_counted(images, original, tmp_path, pixels):
    copy = tmp_path / "copy.png"
    if pixels == "the same file":
        copy.write_bytes(original.read_bytes())
    else:
        other_bytes(original, copy, compress_level=1)
    result = search(images, copy)
    assert not {CASE, SIBLING} & set(ids(result))
    assert len(result.ranked) == 10
    assert result.to_json()["hidden"] == {"same_patient": 2, "near_duplicates": 0}
    assert sum(result.vote.counts.values()) == len(result.vote.voters) == 10
    assert CASE not in {case.case_id for case in result.others}


def test_a_library_of_an_earlier_version_has_no_outlines(images, tmp_path, original):
    library = Path(shutil.copytree(images, tmp_path / "old.semblance"))
    with contextlib.closing(sqlite3.connect(library / "thumbnails.sqlite")) as connection, connection:
        connection.execute("DELETE FROM outlines")
    assert len(search(library, other_bytes(original, tmp_path / "copy.png", compress_level=1)).ranked) == 10


def test_a_nearly_equal_copy_is_hidden_and_counted_apart(images, original, tmp_path):
    result = search(images, other_bytes(original, tmp_path / "copy.jpg", quality=97))
    assert CASE not in ids(result)
    assert SIBLING in ids(result)
    assert result.to_json()["hidden"] == {"same_patient": 0, "near_duplicates": 1}


def test_a_mirrored_copy_is_a_copy(images, original, tmp_path):
    with Image.open(original) as opened:
        mirrored = opened.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        mirrored.save(tmp_path / "mirrored.png")
    assert CASE not in ids(search(images, tmp_path / "mirrored.png"))


def test_own_cases_are_shown_where_the_user_wants_them_and_make_no_estimate(images, original):
    result = search(images, original, hide_same_patient=False)
    assert ids(result)[0] == CASE
    assert result.ranked[0].distance == 0.0
    assert SIBLING in ids(result)
    assert result.same_patient == 0


def test_a_copy_counts_as_trained_on(images, original):
    loaded = open_metric(images, "plain")
    loaded.__dict__["trained_cases"] = np.array([loaded.cases.row_of(SIBLING)])
    assert trained_on(loaded, embed_query(loaded, Query(image=original)))
    loaded.__dict__["trained_cases"] = np.array([loaded.cases.row_of("images/upright/p006.png")])
    assert not trained_on(loaded, embed_query(loaded, Query(image=original)))


def test_an_image_unlike_the_library_hides_no_case(images, tmp_path):
    file = tmp_path / "new.png"
    Image.fromarray(stripes(np.random.default_rng(99), upright=False)).save(file)
    result = search(images, file)
    assert len(result.ranked) == 12
    assert result.to_json()["hidden"] == {"same_patient": 0, "near_duplicates": 0}


def test_a_uniform_image_identifies_no_patient(tmp_path):
    for number in range(4):
        value = 60 if number < 2 else 200
        path = tmp_path / "even" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((32, 32 + number), value, dtype=np.uint8)).save(path)
    library = prepared(tmp_path / "even", tmp_path / "lib")
    black = tmp_path / "black.png"
    Image.fromarray(np.full((32, 32), 60, dtype=np.uint8)).save(black, compress_level=1)
    assert search(library, black).same_patient == 0


def test_refining_hides_and_leaves_out_the_same_cases(images, original):
    query = Search("plain", Query(image=original), "clicks")
    refined = add_judgements(
        images, query, [likeness_judgement(query, "images/upright/p002.png", True)], k=100
    )
    assert not {CASE, SIBLING} & set(ranked(refined))
    session = open_refinement(images, "plain")
    judged = set(session.judged_rows(refined.entries).tolist())
    rows = {session.loaded.cases.row_of(case) for case in (CASE, SIBLING, "images/upright/p002.png")}
    assert judged == rows, "the score of clicks is measured on none of them"


def test_a_report_of_an_image_leaves_its_patient_out(images, original, tmp_path):
    query, options = Search("plain", Query(image=original)), ReportOptions(identified=True)
    out = write_search_report(images, query, tmp_path / "report.json", options)
    document = json.loads(out.read_text(encoding="utf-8"))
    assert len(document["results"]) == 10
    assert not {CASE, SIBLING} & {line["case_id"] for line in document["results"]}


def prepared(source: Path, library: Path, **options) -> Path:
    import_source(source, library, **options)
    extract_features(library, "colour_edge_texture")
    train_metric(library, PLAIN)
    return library


def dicom_image(path: Path, seed: int, **keys: str) -> Path:
    pixels = stripes(np.random.default_rng(seed), upright=bool(seed % 2))
    return save(image(pixels, Modality="OT", SOPInstanceUID=f"{ROOT}.{seed + 1}", **keys), path)


def hospital(folder: Path) -> Path:
    """Two images each of patients P0 to P3; P3's two are of two issuers, P2's of one accession number."""
    for number in range(8):
        patient = number // 2
        keys = {
            "PatientID": f"P{patient}",
            "StudyInstanceUID": f"{ROOT}.77.{number}",
            "AccessionNumber": f"A{min(number, 4)}" if patient == 2 else f"B{number}",
        }
        if patient == 3:
            keys["IssuerOfPatientID"] = f"hospital {number}"
        dicom_image(folder / f"{number}.dcm", number, **keys)
    return folder


@pytest.fixture(scope="module", params=[False, True], ids=["de-identified", "identified"])
def radiology(request, tmp_path_factory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("radiology")
    library = prepared(hospital(folder / "images"), folder / "lib", identified=request.param)
    loaded = open_metric(library, "plain")
    details = loaded.library.catalogue.details(loaded.rows.tolist())
    by_file = {Path(str(case.address)).stem: case.case_id for case in details.values()}
    return library, [by_file[str(number)] for number in range(8)]


@pytest.mark.parametrize(
    ("keys", "hidden"),
    [
        ({"PatientID": "P1"}, {2, 3}),
        ({"PatientID": "P1", "IssuerOfPatientID": "anyone"}, {2, 3}),
        ({"PatientID": "P3", "IssuerOfPatientID": "hospital 6"}, {6}),
        ({"PatientID": "renamed", "StudyInstanceUID": f"{ROOT}.77.0"}, {0, 1}),
        ({"AccessionNumber": "A4"}, {4, 5}),
        ({"PatientID": "P9", "AccessionNumber": "Z"}, set()),
        ({}, set()),
    ],
    ids=["id", "id of unknown issuer", "issuer", "study", "accession", "someone else", "no keys"],
)
def test_the_patient_in_the_header_is_hidden(radiology, tmp_path, keys, hidden):
    library, cases = radiology
    result = search(library, dicom_image(tmp_path / "query", 50, **keys))
    assert set(ids(result)) == {case for number, case in enumerate(cases) if number not in hidden}
    assert result.same_patient <= len(hidden)
    shown = search(library, tmp_path / "query", hide_same_patient=False)
    assert set(ids(shown)) == set(cases)


@pytest.mark.parametrize("shape", [(30, 40), (30, 40, 3)])
def test_the_saved_image_has_the_pixels_of_the_clipboard(tmp_path, shape):
    pixels = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    path = save_pasted_image(tmp_path, pixels)
    assert path.is_relative_to(tmp_path)
    np.testing.assert_array_equal(np.squeeze(open_image(path).pixels), pixels)
    assert save_pasted_image(tmp_path, pixels) == path
    assert save_pasted_image(tmp_path, 255 - pixels) != path


def test_an_empty_image_is_refused(tmp_path):
    with pytest.raises(BadInput, match="0 x 5"):
        save_pasted_image(tmp_path, np.zeros((5, 0), np.uint8))
    assert not list(tmp_path.iterdir())
