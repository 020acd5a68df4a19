"""How much of what identifies patients is removed from generated studies, and what else is.

Words are burnt into generated images in 12 fonts, sizes, contrasts and angles. A word is hidden if no more than 2 % of
its pixels are left. Its size is that of the font: capitals are 0.7 of it. Its contrast is that to 95 % of the pixels
below it. Area farther from every word than half its height is hidden falsely. The seeds are others than those with
which the detector was set, and so are most of the real images, which have no text or little.
"""

from __future__ import annotations

import io
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as RasterImage

from semblance.core.imaging.image import Image
from semblance.core.imaging.text_detector import TextDetector
from tests.benchmarks.harness import SkippedBenchmark, row
from tests.helpers.burnt_in_words import burnt_in_image, covered_by
from tests.helpers.isolation import redirect_user_folders
from tests.helpers.planted_studies import ACTIONS, deidentified_and_counted

SEED = 60_000_000
PATIENTS = 30
METADATA, WORDS, FALSE_AREA = 0.999, 0.99, 0.01
#: What is asked of each action. Those of pixels have the targets of words and area.
_TARGETS = dict.fromkeys(ACTIONS, METADATA) | {"pixels_hidden": WORDS, "pixels_retained": 1 - FALSE_AREA}
#: What, number of images, arguments, target.
_ROWS: tuple[tuple[str, int, dict[str, Any], float | None], ...] = (
    ("words of 12 to 40 px, contrast 100 to 255", 120, {}, WORDS),
    ("words of 12 to 14 px, contrast 100 to 255", 30, {"size": (12, 14)}, WORDS),
    ("words in images of 2048 x 1536", 4, {"shape": (2048, 1536), "words": 50}, WORDS),
    ("words of 41 to 110 px", 20, {"size": (41, 110), "words": 3}, None),
    ("words of 8 to 11 px", 30, {"size": (8, 11)}, None),
    ("words of contrast 50 to 99", 30, {"contrast": (50, 99)}, None),
    ("words of contrast 25 to 49", 30, {"contrast": (25, 49)}, None),
    ("words on speckle, contrast 100 to its mean", 30, {"background": "ultrasound", "by_mean": True}, None),
    ("words turned by up to 15 degrees", 30, {"angle": (-15, 15)}, None),
    ("words turned by 15 to 75 degrees", 30, {"angle": (15, 75)}, None),
    ("words turned by 90 degrees", 30, {"angle": (90, 90)}, None),
    ("words upside down", 20, {"angle": (180, 180)}, None),
)
_REAL = (("busi_256.zip", 60), ("medical_mnist_a.zip", 60), ("mias_a.zip", 8))


def words(detector: TextDetector) -> Iterator[dict[str, Any]]:
    """The rows of burnt-in words."""
    false, frames, seconds = [], 0, 0.0
    for number, (what, images, arguments, target) in enumerate(_ROWS):
        hidden = there = 0
        for image in range(images):
            planted = burnt_in_image(SEED + 10_000 * number + image, **arguments)
            before = time.process_time()
            boxes = detector.boxes(Image(planted.pixels, 255.0))
            if planted.pixels.shape == (512, 512):
                seconds += time.process_time() - before
                frames += 1
            hidden, there = hidden + planted.hidden(boxes), there + len(planted.words)
            if "angle" not in arguments:
                false.append(planted.falsely_hidden(boxes))
        yield row(f"{what}: hidden of {there:,}", hidden / there, "", least=target)
    yield row("area hidden falsely, generated images: mean", float(np.mean(false)), "", most=FALSE_AREA)
    yield row("area hidden falsely, generated images: most in one", float(np.max(false)))
    yield row("processor time for a frame of 512 x 512", seconds / frames, "s")


def real_images(detector: TextDetector, images: Path) -> Iterator[dict[str, Any]]:
    """The area hidden in real images. Some of BUSI have text and markers, some of MIAS letters."""
    rng = np.random.default_rng(SEED)
    for archive, count in _REAL:
        areas = []
        with zipfile.ZipFile(images / archive) as opened:
            names = sorted(
                n for n in opened.namelist() if n.lower().endswith((".png", ".jpg", ".jpeg", ".pgm"))
            )
            for name in rng.choice(names, count, replace=False):
                pixels = np.asarray(RasterImage.open(io.BytesIO(opened.read(name))).convert("L"))
                areas.append(covered_by(detector.boxes(Image(pixels, 255.0)), pixels.shape).mean())
        yield row(
            f"area hidden, {archive.split('.')[0]}: mean of {count}",
            float(np.mean(areas)),
            "",
            most=FALSE_AREA,
        )
        yield row(f"area hidden, {archive.split('.')[0]}: most in one", float(np.max(areas)))


def studies() -> Iterator[dict[str, Any]]:
    """The rows of attributes and of MIDI-B's actions."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # The key of the project is for this run alone.
        redirect_user_folders(patch, Path(folder) / "home")
        counted, _ = deidentified_and_counted(Path(folder), PATIENTS, SEED + 900_000)
    removed = 1 - counted.left / counted.planted
    yield row(
        f"identifiers in attributes and names: removed of {counted.planted:,}", removed, "", least=METADATA
    )
    for action in ACTIONS:
        yield row(
            f"{action} of {counted.needed[action]:,}", counted.share(action), "", least=_TARGETS[action]
        )


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    from importlib.util import find_spec

    if find_spec("rapidocr") is None:
        raise SkippedBenchmark("The extra ocr is not installed.")
    detector = TextDetector()
    rows = [*studies(), *words(detector)]
    return rows if data is None else [*rows, *real_images(detector, data / "images")]
