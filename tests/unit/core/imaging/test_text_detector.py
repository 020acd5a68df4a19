"""Where text is found in images, and where not."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import SemblanceError
from semblance.core.imaging import text_detector as module
from semblance.core.imaging.image import Image
from semblance.core.imaging.text_detector import TextBox, TextDetector, text_detector, without_contained
from tests.helpers.burnt_in_words import burnt_in_image, covered_by


@pytest.fixture(scope="module")
def detector() -> TextDetector:
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    return text_detector()


@pytest.mark.slow
def test_words_on_all_backgrounds_are_covered_and_little_else(detector):
    images = [
        burnt_in_image(seed, background=kind)
        for seed, kind in enumerate(("black", "ultrasound", "radiograph", "ct", "bright"), 410)
    ]
    found = [detector.boxes(Image(one.pixels, 255.0)) for one in images]
    words = sum(len(one.words) for one in images)
    assert words > 45
    assert sum(one.hidden(boxes) for one, boxes in zip(images, found, strict=True)) >= words - 1
    assert max(one.falsely_hidden(boxes) for one, boxes in zip(images, found, strict=True)) < 0.01


@pytest.mark.slow
def test_words_on_the_edges_of_tiles_are_found_whole(detector, monkeypatch):
    monkeypatch.setattr(module, "TILE", 320)
    monkeypatch.setattr(module, "OVERLAP", 160)
    large = burnt_in_image(5, shape=(500, 700), size=(14, 24), words=16, background="black")
    assert large.hidden(detector.boxes(Image(large.pixels, 255.0))) == len(large.words) == 16


def test_an_oblique_line_is_covered_by_short_boxes(detector):
    oblique = burnt_in_image(2, shape=(400, 400), size=(24, 24), angle=(40, 45), words=3, background="black")
    boxes = detector.boxes(Image(oblique.pixels, 255.0))
    assert oblique.hidden(boxes) == len(oblique.words)
    around = sum(word.ink.size for word in oblique.words) / oblique.pixels.size
    assert covered_by(boxes, oblique.pixels.shape).mean() < 0.75 * around


@pytest.mark.slow
def test_text_far_above_the_window_and_text_within_it_are_found(detector):
    words = burnt_in_image(8, size=(16, 30), words=6, background="black").pixels.astype(np.float32) / 255
    y = np.linspace(0, 1000, 512, dtype=np.float32)[:, None]
    faint = Image((y * np.ones(512) + 150 * words).astype(np.int16), 400.0, black=0.0)
    bright = Image((y * np.ones(512) + 20_000 * words).astype(np.int16), 400.0, black=0.0)
    assert len(detector.boxes(bright)) >= 6
    assert detector.boxes(faint)


def test_gradients_and_empty_images_contain_no_text(detector):
    y, x = np.mgrid[:300, :300]
    shades = 120 + 80 * np.sin(x / 40) * np.cos(y / 50)
    for pixels in (shades.astype(np.uint8), np.zeros((64, 64), np.uint8), np.zeros((5, 3), np.uint8)):
        assert detector.boxes(Image(pixels, 255.0)) == []


def test_boxes_within_others_are_left_out():
    outer, inner, other = TextBox(2, 2, 10, 10), TextBox(3, 3, 4, 4), TextBox(9, 9, 8, 8)
    assert without_contained([inner, other, outer, inner]) == [outer, other]


def test_without_the_package_the_line_to_run_is_named(monkeypatch):
    monkeypatch.setattr(module, "PACKAGE", "no_such_package_of_words")
    with pytest.raises(SemblanceError, match="not installed") as error:
        TextDetector()
    assert 'pip install "semblance-retrieval[ocr]"' in str(error.value.hint)
