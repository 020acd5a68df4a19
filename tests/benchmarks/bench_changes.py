"""Changes over time: do changes of one kind find each other among changes of other patients?

Each chest radiograph stands for a patient. Its prior and its current image are turned, moved, resized, brightened and
given noise, each on its own. In a third of the patients a nodule grows between them, in a third a dense area appears
at the base of one lung, and in a third nothing changes.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.benchmarks.harness import require_data, row

PATIENTS, SIDE, NEAREST = 150, 224, 10
KINDS = ("a growing nodule", "a new dense area", "no change")
_BATCH = 30


def run(data: Path | None) -> list[dict[str, Any]]:
    """The share of changes of the same kind among the ten most similar ones."""
    from semblance.core.features.places import PlaceCoding
    from semblance.core.workflows.research.patient_changes import (
        combined_scores,
        cosines_of_differences,
        place_differences,
    )

    images = _radiographs(require_data(data))
    rng = np.random.default_rng(0)
    kinds = np.arange(len(images)) % len(KINDS)
    features, maps = _described([_pair(image, kind, rng) for image, kind in zip(images, kinds, strict=True)])
    # Coded as in a library.
    flat = maps.reshape(-1, maps.shape[-1])
    coded = PlaceCoding.fitted(flat[::7]).coded(maps).astype(np.float32)
    changed = np.array([place_differences(*pair) for pair in coded])
    changed /= np.maximum(np.linalg.norm(changed, axis=1, keepdims=True), 1e-12)
    current = features[:, 1] / np.linalg.norm(features[:, 1], axis=1, keepdims=True)
    shares: dict[str, list[list[float]]] = {"whole image and places": [], "current image alone": []}
    for query in range(len(images)):
        others = np.arange(len(images)) != query
        whole = cosines_of_differences(features, query)
        scores = combined_scores(whole, changed @ changed[query], others)
        for name, found in (
            ("whole image and places", scores),
            ("current image alone", current @ current[query]),
        ):
            nearest = np.argsort(-np.where(others, found, -np.inf), kind="stable")[:NEAREST]
            shares[name].append([float(np.mean(kinds[nearest] == kinds[query]))])
    chance = (len(images) / len(KINDS) - 1) / (len(images) - 1)
    rows = [row("the same kind of change among ten, chance", chance, "share")]
    for name, found in shares.items():
        values = np.array(found)[:, 0]
        target = chance if name.startswith("whole") else None
        reached = None if target is None else bool(values.mean() > target)
        rows.append(
            row(f"the same kind of change among ten, {name}", float(values.mean()), "share", target, reached)
        )
        rows += [
            row(f"of these, {title}", float(values[kinds == kind].mean()), "share")
            for kind, title in enumerate(KINDS)
        ]
    return rows


def _radiographs(data: Path) -> list[npt.NDArray[np.float32]]:
    from PIL import Image

    with zipfile.ZipFile(data / "images" / "medical_mnist_a.zip") as archive:
        names = sorted(name for name in archive.namelist() if "CXR/" in name and name.endswith(".jpeg"))
        names = names or sorted(name for name in archive.namelist() if "CXR/" in name and name[-1] != "/")
        found = []
        for name in names[:PATIENTS]:
            with Image.open(io.BytesIO(archive.read(name))) as opened:
                grey = opened.convert("L").resize((SIDE, SIDE), Image.Resampling.BICUBIC)
            found.append(np.asarray(grey, dtype=np.float32))
    return found


def _pair(image: Any, kind: int, rng: np.random.Generator) -> list[npt.NDArray[np.uint8]]:
    from scipy.ndimage import gaussian_filter

    y, x = np.mgrid[:SIDE, :SIDE]
    prior = current = image
    if kind == 0:
        at = rng.uniform(70, 150), rng.choice([rng.uniform(50, 85), rng.uniform(140, 175)])
        away = np.hypot(y - at[0], x - at[1])
        radius = rng.uniform(4, 7)
        prior, current = (
            image + 110 * np.exp(-(np.maximum(away - size, 0) ** 2) / 8)
            for size in (radius, radius * rng.uniform(1.8, 2.6))
        )
    elif kind == 1:
        middle, top = rng.choice([56, 168]), rng.uniform(110, 150)
        area = (np.abs(x - middle) < 38) & (y > top) & (y < 205)
        current = image + rng.uniform(50, 90) * gaussian_filter(area.astype(np.float32), 6)
    return [_taken(one, rng) for one in (prior, current)]


def _taken(image: Any, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """The image as taken on another day."""
    from scipy.ndimage import affine_transform

    angle, size = rng.uniform(-0.05, 0.05), rng.uniform(0.96, 1.04)
    matrix = size * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = np.full(2, SIDE / 2)
    offset = middle - matrix @ middle + rng.uniform(-6, 6, 2)
    moved = affine_transform(image, matrix, offset, order=1, mode="nearest")
    moved = (moved - 128) * rng.uniform(0.9, 1.1) + 128 + rng.uniform(-10, 10) + rng.normal(0, 3, moved.shape)
    return np.clip(np.rint(moved), 0, 255).astype(np.uint8)


def _described(pairs: Any) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """(n, 2, d) features and (n, 2, 14, 14, c) maps."""
    from semblance.core.features.encoder.extractor import Encoder

    encoder = Encoder()
    prepared = [np.repeat(one[:, :, np.newaxis], 3, axis=2) for pair in pairs for one in pair]
    found = [encoder.describe(prepared[at : at + _BATCH]) for at in range(0, len(prepared), _BATCH)]
    features = np.concatenate([one.features for one in found])
    maps = np.concatenate([one.maps for one in found if one.maps is not None])
    return features.reshape(len(pairs), 2, -1), maps.reshape(len(pairs), 2, *maps.shape[1:])
