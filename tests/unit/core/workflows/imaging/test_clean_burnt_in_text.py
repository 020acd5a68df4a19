"""Text burnt into the images of an export: hidden, counted, shown for review, and corrected there."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image as RasterImage
from pydicom import dcmread
from pydicom.uid import UID

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.imaging import text_detector as module
from semblance.core.imaging.deidentification.profile import Option
from semblance.core.library.export_log import read_exports
from semblance.core.workflows.imaging.deidentify_files import deidentify_files
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.burnt_in_words import burnt_in_image
from tests.helpers.dicom_files import image, save
from tests.helpers.planted_studies import ACTIONS, deidentified_and_counted

WORDS = burnt_in_image(31, shape=(200, 300), size=(16, 24), words=4, background="black")


@pytest.fixture
def with_network():
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")


@pytest.fixture
def source(tmp_path):
    for number, pixels in enumerate((WORDS.pixels, np.zeros((200, 300), np.uint8))):
        dataset = image(
            pixels, PatientID="P1", PatientName="Quixley^Zebedee", SOPInstanceUID=f"1.2.3.{number}"
        )
        dataset.StudyInstanceUID, dataset.SeriesInstanceUID = "1.2.3.7", "1.2.3.8"
        dataset.BurnedInAnnotation = "YES" if number == 0 else "NO"
        save(dataset, tmp_path / "in" / f"{number}.dcm")
    return tmp_path / "in"


def test_text_is_hidden_and_counted_but_not_shown(with_network, source, tmp_path):
    result = deidentify_files(source, tmp_path / "out", [Option.PIXELS])
    (name,) = [name for name, boxes in result.boxes.items() if any(boxes)]
    after = dcmread(tmp_path / "out" / name)
    assert WORDS.hidden(result.boxes[name][0]) == len(WORDS.words) == 4
    assert after.BurnedInAnnotation == "NO"
    assert [one.CodeValue for one in after.DeidentificationMethodCodeSequence] == ["113100", "113101"]
    receipt = json.loads((tmp_path / "out" / "receipt.json").read_text())
    assert receipt["burnt_in_text"]["files"] == receipt["burnt_in_text"]["frames"] == 1
    assert receipt["burnt_in_text_not_checked"] == 0
    (entry,) = [one for one in receipt["changes"] if one["rule"] == "113101"]
    assert (entry["action"], entry["count"]) == ("blacked out", receipt["burnt_in_text"]["boxes"])
    assert not any(word.text in json.dumps(receipt) for word in WORDS.words)


def test_boxes_are_reviewed_and_corrected(with_network, source, tmp_path):
    first = deidentify_files(source, tmp_path / "out", [Option.PIXELS], review=tmp_path / "review")
    file = tmp_path / "review" / "boxes.json"
    boxes = json.loads(file.read_text())["boxes"]
    ((name, found),) = boxes.items()
    assert len(found) == len(first.boxes[name][0])
    with RasterImage.open(tmp_path / "review" / "00001.png") as shown:
        assert shown.size == (300, 200)
        pixels = np.asarray(shown)
        assert (pixels != pixels[:, :, :1]).any()
    assert "00001.png" in (tmp_path / "review" / "review.html").read_text()
    file.write_text(json.dumps({"boxes": {name: [{"frame": 0, "x": 5, "y": 6, "width": 7, "height": 8}]}}))
    again = deidentify_files(source, tmp_path / "again", [Option.PIXELS], boxes=file)
    after = dcmread(tmp_path / "again" / name).pixel_array
    expected = WORDS.pixels.copy()
    expected[6:14, 5:12] = expected.min()
    assert np.array_equal(after, expected)
    assert set(again.files) == set(first.files)


def test_a_library_notes_that_a_review_shows_identifiers(with_network, source, tmp_path):
    import_source(source, tmp_path / "lib")
    deidentify_files(tmp_path / "lib", tmp_path / "out", [Option.PIXELS], review=tmp_path / "review")
    logged = [(line["what"], line["identified"]) for line in read_exports(tmp_path / "lib")]
    assert logged == [("de-identified images", False), ("review of burnt-in text", True)]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"boxes": {"a": [{"frame": 0}]}}',
        '{"boxes": {"a": [{"frame": -1, "x": 0, "y": 0, "width": 1, "height": 1}]}}',
        '{"boxes": {"a": [{"frame": true, "x": 0, "y": 0, "width": 1, "height": 1}]}}',
    ],
)
def test_a_damaged_file_of_boxes_is_refused(with_network, source, tmp_path, content):
    (tmp_path / "boxes.json").write_text(content)
    with pytest.raises(BadInput, match="boxes"):
        deidentify_files(source, tmp_path / "out", [Option.PIXELS], boxes=tmp_path / "boxes.json")


def test_the_review_does_not_lie_among_what_is_passed_on(with_network, source, tmp_path):
    with pytest.raises(BadArguments, match="shows what is removed"):
        deidentify_files(source, tmp_path / "out", [Option.PIXELS], review=tmp_path / "out" / "review")
    with pytest.raises(BadArguments, match="Boxes are for text in pixels"):
        deidentify_files(source, tmp_path / "out", review=tmp_path / "review")


def test_a_video_is_not_written_rather_than_written_with_its_text(with_network, source, tmp_path):
    video = dcmread(source / "0.dcm")
    video.file_meta.TransferSyntaxUID = UID("1.2.840.10008.1.2.4.102")
    video.PixelData = b"\xfe\xff\x00\xe0\0\0\0\0\xfe\xff\x00\xe0\x04\0\0\0abcd\xfe\xff\xdd\xe0\0\0\0\0"
    video["PixelData"].VR = "OB"
    video["PixelData"].is_undefined_length = True
    video.save_as(source / "0.dcm")
    result = deidentify_files(source, tmp_path / "out", [Option.PIXELS])
    assert [file for file, _ in result.failed] == ["0.dcm"]
    assert len(result.files) == 1


def test_without_the_network_nothing_is_written(source, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PACKAGE", "no_such_package_of_words")
    module.text_detector.cache_clear()
    with pytest.raises(SemblanceError, match="rapidocr") as error:
        deidentify_files(source, tmp_path / "out", [Option.PIXELS])
    assert "semblance-retrieval[ocr]" in str(error.value.hint)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_every_action_of_midi_b_is_right_in_generated_studies(with_network, tmp_path):
    counted, _ = deidentified_and_counted(tmp_path, 2, 5_000)
    assert counted.left == 0
    assert counted.planted > 1500
    wrong = {
        action: counted.share(action)
        for action in ACTIONS
        if counted.right[action] != counted.needed[action] and not action.startswith("pixels")
    }
    assert wrong == {}
    assert counted.share("pixels_hidden") >= 0.95
    assert counted.share("pixels_retained") >= 0.99
