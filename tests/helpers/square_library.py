"""A library of images with a coloured square each, whose places are the colours of a grid of 8 x 8."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image

from semblance.core.imaging.region import Region
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from tests.helpers.encoders import mapped, settings
from tests.helpers.tables import PLAIN

#: Width and height of an image, of a place, and of a square: two places.
SIDE, PLACE, SQUARE = 80, 10, 20
COLOURS = {"red": (230, 30, 40), "green": (30, 220, 60)}


def corner(number: int) -> tuple[int, int]:
    """Left and top of the square in the image ``number``."""
    return 10 * (number * 3 % 7), 10 * (number * 5 % 7)


def square_region(number: int) -> Region:
    """Where the square of the image ``number`` is."""
    return Region(*corner(number), SQUARE, SQUARE)


def squares(number: int, colour: str) -> Image.Image:
    """A grey image with a little noise, and a square."""
    rng = np.random.default_rng(number)
    pixels = np.clip(rng.normal(120, 6, (SIDE, SIDE, 3)), 0, 255).astype(np.uint8)
    left, top = corner(number)
    pixels[top : top + SQUARE, left : left + SQUARE] = COLOURS[colour]
    return Image.fromarray(pixels)


def square_library(folder: Path, n: int = 12, metric: bool = True) -> Path:
    """A library of ``n`` images in ``folder``/images, red and green in turn, of patients with two images each."""
    lines = [("path", "label", "patient_id")]
    for number in range(n):
        colour = ("red", "green")[number // 2 % 2]
        path = folder / "images" / colour / f"i{number:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        squares(number, colour).save(path)
        lines.append((f"{colour}/{path.name}", colour, f"P{number // 2}"))
    with (folder / "images" / "labels.csv").open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(lines)
    library = folder / "squares"
    import_source(folder / "images", library)
    given = {
        "model": str(mapped(folder / "own.onnx", size=8)),
        "settings": str(settings(folder / "own.json", input_size=8, output="features", map="map")),
    }
    extract_features(library, "onnx", settings=given)
    if metric:
        train_metric(library, PLAIN)
    return library
