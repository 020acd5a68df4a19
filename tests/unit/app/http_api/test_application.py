"""The HTTP interface: what it answers, what it refuses, and that nobody is named."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import jsonschema_rs
import numpy as np
import pytest
import requests
from PIL import Image
from pydicom import dcmread

from semblance import resources
from semblance.app.cli import main as cli_main
from semblance.app.http_api import application, server
from semblance.app.http_api.application import ServiceSettings
from semblance.core.library.export_log import read_exports
from semblance.core.library.library import Library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.burnt_in_words import burnt_in_image
from tests.helpers.dicom_files import MG, ROOT, image, save
from tests.helpers.http_server import TOKEN, running_server

PATIENTS = 12
PNG, DICOM = {"Content-Type": "image/png"}, {"Content-Type": "application/dicom"}
VALIDATOR = jsonschema_rs.Draft202012Validator(
    json.loads(resources.path("schemas/search.json").read_text(encoding="utf-8"))
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Mammograms whose files, folders, headers and case ids name their patients."""
    folder = tmp_path_factory.mktemp("served")
    rng = np.random.default_rng(0)
    for n in range(PATIENTS):
        pixels = (rng.integers(0, 200, (48, 48)) + 1000 * (n % 2)).astype(np.uint16)
        made = image(
            pixels,
            SOPClassUID=MG,
            Modality="MG",
            PatientID=f"MRN{n:04d}",
            PatientName=f"Quixley{n:02d}^Ann",
            StudyInstanceUID=f"{ROOT}.5.{n}",
            SeriesInstanceUID=f"{ROOT}.6.{n}",
            SOPInstanceUID=f"{ROOT}.7.{n}",
        )
        save(made, folder / "in" / f"Quixley{n:02d}" / "one.dcm")
        Image.fromarray(pixels.astype(np.uint8)).save(folder / "in" / f"Quixley{n:02d}" / f"MRN{n:04d}.png")
    names = [f"Quixley{n:02d}/{file}" for n in range(PATIENTS) for file in ("one.dcm", f"MRN{n:04d}.png")]
    lines = [f"{name},{'malignant' if '1' in name else 'benign'}" for name in names]
    (folder / "in" / "labels.csv").write_text("\n".join(["file,finding", *lines]))
    import_source(folder / "in", folder / "lib", identified=True)
    extract_features(folder / "lib", "pixels", workers=1)
    train_metric(folder / "lib", TrainRequest("euclidean", "plain"))
    return folder / "lib"


@pytest.fixture(scope="module")
def client(library):
    with running_server(ServiceSettings(library, TOKEN)) as running:
        # The first request starts the worker, which stays for all tests.
        running.get("library")
        yield running


@pytest.fixture(scope="module")
def outside():
    """A PNG that is not in the library."""
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(9).integers(0, 255, (40, 40)).astype(np.uint8)).save(out, "PNG")
    return out.getvalue()


def problem(answer: requests.Response) -> str:
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    return f"{answer.status_code} {answer.json()['detail']}"


def assert_names_nobody(content: bytes, library) -> None:
    for named in (b"Quixley", b"MRN0", str(library.parent).encode(), ROOT.encode()):
        assert named not in content


def test_without_the_token_nothing_is_answered(client):
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
        answer = requests.get(f"{client.address}/v1/library", headers=headers, timeout=60)
        assert problem(answer).startswith("401 The token")
    assert client.get("library").json()["metric"] == "plain"


def test_similar_cases_of_an_image_are_the_document_of_a_search(client, library, outside):
    found = client.post("search", data=outside, headers=PNG, params={"k": 5})
    document = found.json()
    VALIDATOR.validate(document)
    assert len(document["results"]) == 5
    assert_names_nobody(found.content, library)


def test_marks_name_cases_as_the_answer_did(client, outside):
    before = client.post("search", data=outside, headers=PNG, params={"k": 24}).json()["results"]
    liked, disliked = before[-1]["case_id"], before[0]["case_id"]
    after = client.post(
        "search", data=outside, headers=PNG, params={"k": 24, "like": [liked], "unlike": [disliked]}
    ).json()
    VALIDATOR.validate(after)
    assert after["feedback"] == {"liked": [liked], "disliked": [disliked]}
    assert after["results"][-1]["case_id"] == disliked
    assert {one["case_id"] for one in after["results"]} == {one["case_id"] for one in before}


def test_a_case_is_searched_and_shown_by_its_reference(client, library, outside):
    case = client.post("search", data=outside, headers=PNG).json()["results"][0]["case_id"]
    found = client.get("search", params={"case": case}).json()
    assert found["query"]["case_id"] == case
    shown = client.get("thumbnail", params={"case": case})
    with Image.open(io.BytesIO(shown.content)) as opened:
        assert (opened.size, f"image/{opened.format.lower()}") == ((48, 48), shown.headers["Content-Type"])
    with Library.open(library) as opened:
        real = next(row.case_id for row in opened.catalogue.all_cases())
    for path in ("search", "report", "thumbnail"):
        assert problem(client.get(path, params={"case": real})).startswith("404 There is no case")


def test_an_image_of_a_patient_in_the_library_does_not_find_that_patient(client, library):
    file = (library.parent / "in" / "Quixley03" / "one.dcm").read_bytes()
    found = client.post("search", data=file, headers=DICOM).json()
    assert found["hidden"]["same_patient"] >= 1


@pytest.mark.parametrize(
    ("form", "start"),
    [("pdf", b"%PDF"), ("html", b"<!DOCTYPE html>"), ("csv", b"query,metric"), ("json", b"{")],
)
def test_a_report_contains_no_identifiers(client, library, outside, form, start):
    answer = client.post("report", data=outside, headers=PNG, params={"format": form})
    assert answer.status_code == 200
    assert answer.content.startswith(start)
    assert_names_nobody(answer.content, library)


def test_a_structured_report_comes_as_a_part_ready_to_be_stored(client, library):
    file = library.parent / "in" / "Quixley03" / "one.dcm"
    answer = client.post("report", data=file.read_bytes(), headers=DICOM, params={"format": "dicom-sr"})
    kind, _, boundary = answer.headers["Content-Type"].partition("; boundary=")
    assert kind == 'multipart/related; type="application/dicom"'
    (part,) = answer.content.split(f"--{boundary}".encode())[1:-1]
    made = dcmread(io.BytesIO(part.partition(b"\r\n\r\n")[2]))
    assert made.SOPClassUID.name == "Enhanced SR Storage"
    assert_names_nobody(answer.content, library)


@pytest.mark.slow
def test_identified_answers_only_where_the_server_allows_them(client, library, outside):
    asked = {"data": outside, "headers": PNG, "params": {"identified": True}}
    assert problem(client.post("search", **asked)).startswith("403 Identified")
    with running_server(ServiceSettings(library, TOKEN, identified=True)) as other:
        found = other.post("search", **asked).json()
        case = found["results"][0]
        assert "Quixley" in case["path"] and found["query"]["image"] is None
        named = {"case": case["case_id"], "identified": True}
        assert other.get("search", params=named).json()["query"]["case_id"] == case["case_id"]
        assert other.get("thumbnail", params=named).status_code == 200


def test_errors_are_described_in_words(client, outside, monkeypatch):
    said = {
        "unknown metric": client.post("search", data=outside, headers=PNG, params={"metric": "gone"}),
        "no image": client.post("search", data=b"", headers=PNG),
        "other type": client.post("search", data=outside, headers=DICOM),
        "text": client.post("search", data=b"hello", headers={"Content-Type": "text/plain"}),
        "cut off": client.post("search", data=outside[:200], headers=PNG),
        "region": client.post("search", data=outside, headers=PNG, params={"region": "1,1,0,0"}),
        "outside": client.post("search", data=outside, headers=PNG, params={"region": "90,90,9,9"}),
        "too many": client.post("search", data=outside, headers=PNG, params={"k": 201}),
        "unknown option": client.post("search", data=outside, headers=PNG, params={"kk": 2}),
        "no such page": client.get("other"),
        "method": client.post("library"),
    }
    monkeypatch.setattr(application, "MAX_BYTES", 1000)
    said["large"] = client.post("search", data=outside, headers=PNG)
    said["large, in parts"] = client.post("search", data=iter([outside, outside]), headers=PNG)
    monkeypatch.setattr(application, "MAX_REQUESTS", 0)
    said["busy"] = client.get("library")
    assert {name: int(problem(answer)[:3]) for name, answer in said.items()} == {
        "unknown metric": 400,
        "no image": 422,
        "other type": 422,
        "text": 415,
        "cut off": 422,
        "region": 422,
        "outside": 422,
        "too many": 422,
        "unknown option": 422,
        "no such page": 404,
        "method": 405,
        "large": 413,
        "large, in parts": 413,
        "busy": 503,
    }
    assert "/tmp" not in said["cut off"].json()["detail"]


def test_requests_at_once_get_the_answers_they_get_alone(client, outside):
    def asked(k: int) -> list[str]:
        found = client.post("search", data=outside, headers=PNG, params={"k": k}).json()
        return [one["case_id"] for one in found["results"]]

    alone = asked(12)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(asked, range(1, 13))) == [alone[:k] for k in range(1, 13)]


def test_the_library_is_only_read_but_each_answer_is_logged(client, library, outside):
    def contents() -> dict[str, object]:
        files = [file for file in library.rglob("*") if file.is_file() and file.stem != "exports"]
        found: dict[str, object] = {
            str(file): file.read_bytes() for file in files if "catalogue" not in file.name
        }
        # Of the catalogue the tables: the number of logged exports is in its header.
        with contextlib.closing(sqlite3.connect(library / "catalogue.sqlite")) as catalogue:
            found["catalogue"] = list(catalogue.iterdump())
        return found

    before, logged = contents(), len(read_exports(library))
    client.post("search", data=outside, headers=PNG)
    client.post("report", data=outside, headers=PNG, params={"format": "csv"})
    assert contents() == before
    assert [(one["what"], one["kind"], one["identified"]) for one in read_exports(library)[logged:]] == [
        ("search", "json", False),
        ("report", "csv", False),
    ]


def test_the_description_needs_no_other_computer(client):
    described = requests.get(f"{client.address}/openapi.json", timeout=60).json()
    assert set(described["paths"]) == {"/v1/library", "/v1/search", "/v1/report", "/v1/thumbnail"}
    page = requests.get(f"{client.address}/docs", timeout=60).text
    assert "https://" not in page and "swagger-ui" in page


@pytest.mark.slow
def test_text_in_images_is_blacked_out_where_the_server_was_started_so(tmp_path, outside, monkeypatch):
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    words = burnt_in_image(7, shape=(400, 400), size=(26, 30), words=4, background="black")
    Image.fromarray(words.pixels).save(tmp_path / "a.png")
    Image.fromarray(words.pixels[::-1]).save(tmp_path / "b.png")
    (tmp_path / "labels.csv").write_text("file,finding\na.png,x\nb.png,y\n")
    import_source(tmp_path, tmp_path / "lib")
    extract_features(tmp_path / "lib", "pixels", workers=1)
    train_metric(tmp_path / "lib", TrainRequest("euclidean", "plain"))
    given: list[ServiceSettings] = []
    monkeypatch.setattr(server, "serve", lambda settings, *_, **__: given.append(settings))
    (tmp_path / "token").write_text("a-token-for-tests-only")
    arguments = ["serve", str(tmp_path / "lib"), "--token-file", str(tmp_path / "token")]
    assert cli_main.run([*arguments]) == 0
    assert cli_main.run([*arguments, "--clean", "pixels"]) == 0
    brightest = []
    for settings in given:
        with running_server(replace(settings, token=TOKEN)) as running:
            case = running.post("search", data=outside, headers=PNG).json()["results"][0]["case_id"]
            small = running.get("thumbnail", params={"case": case}).content
            page = running.get("report", params={"case": case, "format": "html"}).text
        images = [small, *map(base64.b64decode, re.findall(r"image/(?:jpeg|png);base64,([\w+/=]+)", page))]
        opened = [np.asarray(Image.open(io.BytesIO(one)).convert("L")) for one in images]
        brightest.append([int(one.max()) for one in opened if one.shape in ((160, 160), (400, 400))])
    plain, clean = brightest
    assert len(plain) == len(clean) >= 2
    assert min(plain) > 150
    assert max(clean) < 60
