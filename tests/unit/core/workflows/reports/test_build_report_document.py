"""The images of reports: small ones where a name may be readable, and without burnt-in text where that is asked for."""

from __future__ import annotations

import base64
import io
import re
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from pydicom import dcmread

from semblance.core.errors import SemblanceError
from semblance.core.imaging import ImageAddress, text_detector
from semblance.core.imaging.thumbnail import thumbnail
from semblance.core.library.library import Library
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.imaging.card_images import WindowLevel
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports.build_report_document import IMAGE_SIDE, _Images
from semblance.core.workflows.reports.write_reports import write_report_files, write_reports
from tests.helpers.burnt_in_words import BurntInImage, burnt_in_image
from tests.helpers.dicom_files import ct_slice, save

CASES = 5


@pytest.mark.parametrize(
    ("burnt_in", "identified", "is_large"),
    [("", False, True), ("possible", False, False), ("yes", False, False), ("yes", True, True)],
)
def test_images_that_may_show_a_name_are_enlarged_only_in_identified_reports(
    tmp_path, burnt_in, identified, is_large
):
    path = tmp_path / "image.png"
    Image.new("L", (600, 600), 90).save(path)
    case = SimpleNamespace(
        address=ImageAddress(path), region=None, attributes={"burnt_in_text": burnt_in} if burnt_in else {}
    )
    small, large = _Images(None).of_case(case, b"stored", is_large=True, identified=identified)
    assert small == b"stored"
    assert (large is not None) == is_large
    if large is not None:
        assert Image.open(io.BytesIO(large)).size == (IMAGE_SIDE, IMAGE_SIDE)


def test_large_images_of_a_report_have_the_window_of_the_query_where_values_are_comparable(tmp_path):
    levels = np.full((64, 64), 1024 - 600, dtype=np.int16)
    ct, grey = tmp_path / "ct.dcm", tmp_path / "grey.png"
    save(ct_slice(levels, WindowCenter=40, WindowWidth=400), ct)
    Image.new("L", (64, 64), 90).save(grey)

    def shade(path, images) -> int:
        case = SimpleNamespace(address=ImageAddress(path), region=None, attributes={})
        _, large = images.of_case(case, b"stored", is_large=True, identified=False)
        return Image.open(io.BytesIO(large)).convert("L").getpixel((32, 32))

    lung = _Images(None, WindowLevel(-1350, 150, "HU", 16))
    assert shade(ct, _Images(None)) <= 2
    assert abs(shade(ct, lung) - 255 / 2) <= 2
    assert (
        abs(shade(ct, _Images(None, WindowLevel(-1350, 0, "HU", 16, negative=True))) - 255 * 600 / 1350) <= 2
    )
    assert shade(grey, lung) == shade(grey, _Images(None)) == 90
    # Grey levels without a unit are comparable with nothing but the query itself.
    own = _Images(None, WindowLevel(0, 180))
    assert shade(grey, own) == 90
    query = own.windowed(own.open(ImageAddress(grey), None), is_query=True)
    assert abs(Image.open(io.BytesIO(thumbnail(query, 64))).getpixel((32, 32)) - 255 / 2) <= 2


@pytest.fixture
def with_network():
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")


@pytest.fixture
def burnt_in(tmp_path):
    """A library of images with words, and the images by their width."""
    burnt_in_images = {}
    (tmp_path / "in").mkdir()
    for number in range(CASES):
        width = 300 + 10 * number
        burnt_in_images[width] = burnt_in_image(
            40 + number, shape=(200, width), size=(18, 24), words=3, background="black"
        )
        Image.fromarray(burnt_in_images[width].pixels).save(tmp_path / "in" / f"{number}.png")
    rows = "".join(f"{number}.png,{'ab'[number % 2]}\n" for number in range(CASES))
    (tmp_path / "in" / "labels.csv").write_text(f"file,finding\n{rows}")
    library = tmp_path / "words.semblance"
    import_source(tmp_path / "in", library)
    extract_features(library, "pixels", workers=1)
    train_metric(library, TrainRequest("euclidean", "plain"))
    return library, burnt_in_images


def query_of(library) -> Query:
    with Library.open(library) as opened:
        return Query(next(iter(opened.catalogue.all_cases())).case_id)


def images_in(page: str) -> list[np.ndarray]:
    found = re.findall(r"data:image/(?:jpeg|png);base64,([A-Za-z0-9+/=]+)", page)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(one))).convert("L")) for one in found]


def shown_words(images: list[np.ndarray], burnt_in_images: dict[int, BurntInImage]) -> tuple[int, int]:
    """How many words the images in the size of their file have, and how many can be seen."""
    words = seen = 0
    for image in images:
        burnt_in = burnt_in_images.get(image.shape[1])
        if burnt_in is None or image.shape != burnt_in.pixels.shape:
            continue
        for word in burnt_in.words:
            height, width = word.ink.shape
            words += 1
            seen += image[word.y : word.y + height, word.x : word.x + width][word.ink].mean() > 40
    return words, seen


def test_burnt_in_text_is_blacked_out_in_every_format_with_images(with_network, burnt_in, tmp_path):
    library, burnt_in_images = burnt_in
    search = Search("plain", query_of(library))
    write_report_files(library, search, tmp_path / "plain.html")
    page = (tmp_path / "plain.html").read_text()
    words, seen = shown_words(images_in(page), burnt_in_images)
    assert words == seen == 3 * CASES
    assert "Burnt-in text is not removed from images." in page

    clean = ReportOptions(clean_pixels=True, dicom="pdf")
    write_report_files(library, search, tmp_path / "clean.html", clean)
    page = (tmp_path / "clean.html").read_text()
    assert shown_words(images_in(page), burnt_in_images) == (words, 0)
    (areas,) = re.findall(r"searched for burnt-in text: (\d+) areas are blacked out", page)
    assert int(areas) >= CASES
    # Small images show text too, if less well.
    bright = [image for image in images_in(page) if image.shape[1] == 160 and image.max() > 60]
    assert bright == []

    files = write_report_files(
        library, search, tmp_path / "k.dcm", ReportOptions(clean_pixels=True, dicom="kos")
    )
    captures = [dcmread(file) for file in files[1:]]
    shown = [one.pixel_array[:, :, 0] for one in captures if "PixelData" in one]
    assert shown_words(shown, burnt_in_images) == (words, 0)

    (pdf,) = write_report_files(library, search, tmp_path / "clean.dcm", clean)
    assert dcmread(pdf).BurnedInAnnotation == "NO"
    (pdf,) = write_report_files(library, search, tmp_path / "plain.dcm", ReportOptions(dicom="pdf"))
    assert dcmread(pdf).BurnedInAnnotation == "YES"

    result = write_reports(library, search, [search.query.case], tmp_path / "many", "html", clean)
    assert shown_words(
        images_in((tmp_path / "many" / result.files[0].name).read_text()), burnt_in_images
    ) == (words, 0)


def test_an_image_that_cannot_be_examined_is_left_out(with_network, burnt_in, tmp_path):
    library, burnt_in_images = burnt_in
    search = Search("plain", query_of(library))
    (tmp_path / "in" / "3.png").unlink()
    write_report_files(library, search, tmp_path / "clean.html", ReportOptions(clean_pixels=True))
    images = images_in((tmp_path / "clean.html").read_text())
    assert {image.shape[1] for image in images} & set(burnt_in_images) == set(burnt_in_images) - {330}
    assert sum(image.shape[1] == 160 for image in images) == CASES - 2


def test_without_the_network_no_report_is_written(burnt_in, tmp_path, monkeypatch):
    library, _ = burnt_in
    monkeypatch.setattr(text_detector, "PACKAGE", "no_such_package_of_words")
    text_detector.text_detector.cache_clear()
    options, search = ReportOptions(clean_pixels=True), Search("plain", query_of(library))
    for write in (
        lambda: write_report_files(library, search, tmp_path / "r.html", options),
        lambda: write_reports(library, search, [search.query.case], tmp_path / "many", "html", options),
    ):
        with pytest.raises(SemblanceError, match="rapidocr") as error:
            write()
        assert "semblance-retrieval[ocr]" in str(error.value.hint)
    assert not (tmp_path / "r.html").exists()
    assert not (tmp_path / "many").exists()
