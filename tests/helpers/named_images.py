"""Libraries whose every word and every image tells which library, patient and case it belongs to."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import stripes

#: Kind of image -> its code in the pixels. Two libraries, and images from outside.
KINDS = ("ant", "bee", "out")
#: A name of a case or of an image from outside.
NAME = re.compile(r"\b(ant|bee|out)(\d\d)\b")
_BITS, _SIDE = 7, 6


def named_image(kind: str, number: int, *, size: int = 48) -> npt.NDArray[np.uint8]:
    """Stripes below a row of black and white squares that :func:`name_in` reads."""
    code = KINDS.index(kind) * 32 + number
    pixels = stripes(np.random.default_rng(code), upright=number // 2 % 2 == 1, size=size)
    for bit in range(_BITS):
        pixels[:_SIDE, bit * _SIDE : (bit + 1) * _SIDE] = 255 if code >> bit & 1 else 0
    return pixels


def name_in(pixels: npt.NDArray[np.uint8]) -> str:
    """The name that :func:`named_image` wrote into ``pixels``."""
    scale = pixels.shape[0] / 48
    at = [pixels[round(3 * scale), round((bit * _SIDE + 3) * scale)] for bit in range(_BITS)]
    code = sum(1 << bit for bit, value in enumerate(at) if value > 127)
    return f"{KINDS[code // 32]}{code % 32:02d}"


def write_named(folder: Path, kind: str, number: int) -> Path:
    """The image as a file of ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}{number:02d}.png"
    Image.fromarray(named_image(kind, number)).save(path)
    return path


def named_library(folder: Path, kind: str, n: int, name: str, *, large_patient: int = 0) -> Path:
    """The library ``name`` of ``n`` cases in ``folder``: two a patient, but the last one has ``large_patient`` of them.

    It has two feature sets and a metric of each.
    """
    lines, source = [], folder / f"{kind} images"
    for number in range(n):
        finding = f"{kind}{'upright' if number // 2 % 2 else 'level'}"
        path = write_named(source / finding, kind, number)
        patient = n if number >= n - large_patient else number // 2
        lines.append((f"{finding}/{path.name}", finding, f"{kind}patient{patient:02d}"))
    with (source / "labels.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(("path", "label", "patient_id"))
        writer.writerows(lines)
    library = folder / name
    import_source(source, library)
    for extractor in ("colour_edge_texture", "gabor"):
        extract_features(library, extractor)
    train_metric(library, TrainRequest("euclidean", f"{kind}plain", features="colour_edge_texture"))
    train_metric(library, TrainRequest("lda", f"{kind}learned", features="gabor"))
    return library
