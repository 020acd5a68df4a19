"""Whether the places that the reason frames matter: hidden, they lower the similarity more than other places do.

Of each pair of a query and its nearest image a frame of 5 x 5 places is hidden by a blur, first in the query, then in
the case, and squares of the same size at random. The similarity is the cosine of the encoder's features, and that of
the coordinates that the plain distance compares (length 1, 64 components). The frames were chosen with another blur and
with squares of a coarser grid. The method and how much the match of two frames counts were chosen on busi_masks_a,
mias_a and images of pneumoniamnist_official.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.features.encoder.efficientnet import GRID
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.imaging import Image, ImageAddress, ImageReader
from semblance.core.metrics.steps.pca import PCA
from semblance.core.retrieval.explanation.place_pairs import FRAME, hidden, match_images, occlusion, square
from tests.benchmarks.harness import require_data, row

SETS = ("busi_256.zip", "pneumoniamnist.npz", "medical_mnist_a.zip", "corel1k_a.zip")
#: Images of each set, pairs, and random squares of each image.
IMAGES, PAIRS, DRAWS = 300, 40, 10
#: Blur of what is hidden here, as a share of the side; the frames are found with another.
BLUR = 1 / 20
GOAL, LEAST = 1.5, 1.25
RESAMPLES = 2000
_SUFFIXES = (".png", ".jpg", ".jpeg")

Bytes = npt.NDArray[np.uint8]
Falls = npt.NDArray[np.float64]


def run(data: Path | None, pairs: int = PAIRS) -> list[dict[str, Any]]:
    """Of each set how many times as much the similarity falls, with its 95 % interval over pairs, and the falls."""
    folder = require_data(data) / "images"
    rows = []
    for name in SETS:
        falls = falls_of_pairs(shown_images(folder / name, IMAGES), pairs)
        for measure, what in enumerate(("the encoder's features", "coordinates of the plain distance")):
            framed, at_random = falls[:, 0, measure], falls[:, 1, measure]
            ratio = float(framed.mean() / at_random.mean())
            low, high = ratio_interval(framed, at_random)
            title = f"{name.partition('.')[0]}: framed places to random ones, cosine of {what}"
            rows.append(row(title, ratio, "x", least=GOAL))
            rows.append(row(f"  lower end of the 95 % interval, {pairs} pairs", low, "x", least=LEAST))
            rows.append(row("  upper end", high, "x"))
            rows.append(row("  fall while the frame is hidden", float(framed.mean()), "cosine"))
            rows.append(row("  fall while a random square is hidden", float(at_random.mean()), "cosine"))
    return rows


def shown_images(container: Path, count: int) -> list[Bytes]:
    """``count`` images of a set, drawn at random, as the encoder is shown them."""
    rng = np.random.default_rng(0)
    extractor = Encoder()
    if container.suffix == ".npz":
        with np.load(container) as arrays:
            stack = max((arrays[name] for name in arrays.files), key=lambda array: array.size)
        chosen = np.sort(rng.permutation(len(stack))[:count])
        return [extractor.prepare(Image(np.ascontiguousarray(stack[at].squeeze()), 255.0)) for at in chosen]
    with zipfile.ZipFile(container) as archive:
        members = sorted(name for name in archive.namelist() if name.lower().endswith(_SUFFIXES))
    chosen = np.sort(rng.permutation(len(members))[:count])
    with ImageReader() as reader:
        return [extractor.prepare(reader.open(ImageAddress(container, members[at]))) for at in chosen]


def falls_of_pairs(images: list[Bytes], pairs: int) -> Falls:
    """(pairs, 2, 2): of each pair, the mean over both of its images, the fall of both cosines while the frame and while
    a random square is hidden."""
    extractor = Encoder()
    features, maps = [], []
    for start in range(0, len(images), 16):
        found = extractor.describe(images[start : start + 16])
        assert found.maps is not None
        features.append(found.features)
        maps.append(found.maps)
    units = _unit(np.concatenate(features).astype(np.float64))
    places = np.concatenate(maps)
    mean = places.reshape(-1, places.shape[-1]).mean(axis=0)
    pca = PCA(64).fit(units)
    coordinates = pca.transform(units)
    distances = np.square(coordinates[:, np.newaxis] - coordinates).sum(axis=2)
    # An image and its copy have no reason worth a picture.
    distances[distances < 1e-4] = np.inf

    def cosines(rows: npt.NDArray[Any], other: int) -> Falls:
        unit = _unit(rows.astype(np.float64))
        return np.stack([unit @ units[other], _unit(pca.transform(unit)) @ _unit(coordinates[other])], axis=1)

    rng = np.random.default_rng(1)
    out = []
    for query in rng.permutation(len(images))[:pairs].tolist():
        pair = (query, int(distances[query].argmin()))
        weights = [
            occlusion(
                images[own],
                GRID,
                lambda shown, other=other: cosines(extractor.measure(list(shown)), other)[:, 0],
            )
            for own, other in (pair, pair[::-1])
        ]
        matched = match_images((places[pair[0]], places[pair[1]]), mean, (weights[0].map, weights[1].map))
        sides = []
        for side, (own, other) in enumerate((pair, pair[::-1])):
            starts = rng.integers(0, GRID - FRAME + 1, (DRAWS, 2)).tolist()
            masks = np.stack([square(GRID, (row, column)) for row, column in (matched.frames[side], *starts)])
            shown = [images[own], *hidden(images[own], masks, BLUR)]
            values = cosines(extractor.measure(shown), other)
            falls = values[0] - values[1:]
            sides.append(np.stack([falls[0], falls[1:].mean(axis=0)]))
        out.append(np.mean(sides, axis=0))
    return np.stack(out)


def ratio_interval(framed: Falls, at_random: Falls) -> tuple[float, float]:
    """The 95 % interval of the ratio of the means, over pairs drawn again."""
    drawn = np.random.default_rng(0).integers(0, len(framed), (RESAMPLES, len(framed)))
    ratios = framed[drawn].mean(axis=1) / at_random[drawn].mean(axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975)).tolist()
    return low, high


def _unit(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12))
