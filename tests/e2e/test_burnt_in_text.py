"""Text burnt into images, from the command line: found, hidden, reviewed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.uid import JPEG2000Lossless

from tests.helpers.burnt_in_words import burnt_in_image
from tests.helpers.dicom_files import image, save
from tests.helpers.program import run_program


def test_a_study_is_cleaned_and_its_boxes_corrected(tmp_path):
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    words = burnt_in_image(12, shape=(300, 400), size=(16, 28), words=6, background="ultrasound")
    frames = np.stack([words.pixels, words.pixels[::-1]])
    file = save(
        image(frames, PatientID="P1", StudyInstanceUID="1.2.3", SeriesInstanceUID="1.2.4"),
        tmp_path / "in.dcm",
    )
    packed = dcmread(file)
    packed.compress(JPEG2000Lossless, generate_instance_uid=False)
    packed.save_as(file)

    def run(out, *more):
        status, printed, errors = run_program(
            "deidentify", file, "--out", tmp_path / out, "--clean", "pixels", "--json", *more
        )
        assert status == 0, errors
        return json.loads(printed)

    first = run("out", "--review", tmp_path / "review")
    assert first["burnt_in_text"]["files"] == 1
    (written,) = (tmp_path / "out").rglob("*.dcm")
    after = dcmread(written)
    assert after.file_meta.TransferSyntaxUID == JPEG2000Lossless
    pixels = after.pixel_array
    for word in words.words:
        height, width = word.ink.shape
        shown = pixels[0, word.y : word.y + height, word.x : word.x + width][word.ink]
        assert (shown == pixels.min()).mean() > 0.98
    boxes = json.loads((tmp_path / "review" / "boxes.json").read_text())
    ((name, found),) = boxes["boxes"].items()
    assert len(found) == first["burnt_in_text"]["boxes"]
    (tmp_path / "none.json").write_text(json.dumps({"boxes": {name: []}}))
    second = run("again", "--boxes", tmp_path / "none.json")
    assert second["burnt_in_text"]["boxes"] == 0
    assert np.array_equal(dcmread(tmp_path / "again" / name).pixel_array, frames)
