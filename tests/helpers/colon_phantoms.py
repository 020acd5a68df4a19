"""Pairs of colon phantoms, prone and supine: polyps on walls and folds, false positives, stool, deformation.

A colon is cut into segments of 48 mm, one for each candidate, laid along the slices in random order, so
that the slice does not tell the place along the colon. What a polyp is (size, shape, lobes, height,
fold, density) stays; how it lies differs from view to view: turned about the colon, stretched, its
segment wider or narrower, its wall thicker or thinner, fluid elsewhere, noise anew. False positives are
bulbs of folds, lumps of stool and fatty bulges, drawn for each view alone. None of the numbers was
chosen by a score.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

SIDE = 48
VIEWS = ("prone", "supine")
#: The paper's false positives a volume, and its sensitivity: some polyps are visible in one view only.
FALSE_POSITIVES, SENSITIVITY = 7.6, 0.95
#: Deviation of the place along the colon; where the colon is collapsed between, it errs by far.
PLACE_NOISE, COLLAPSE, COLLAPSED_NOISE = 0.02, 0.2, 0.12
NOISE_HU = 25.0
_AIR, _WALL, _FAT, _TAGGED = -1000.0, 40.0, -100.0, 450.0


@dataclass(frozen=True)
class Lump:
    """Something on the wall; lengths in mm.

    ``half`` axes (out, along, across); ``rise`` of the middle over the wall, in half axes; ``lobes`` depth
    and phase; ``fold`` height it sits on (0: none) and ``thick`` its thickness; ``hu`` its density; ``fat``
    thickness of the wall before fat; ``texture`` deviation of its density.
    """

    half: tuple[float, float, float]
    rise: float
    lobes: tuple[float, float]
    fold: float
    thick: float
    hu: float
    fat: float
    texture: float = 0.0


@dataclass(frozen=True)
class Candidate:
    """One candidate of one view, in segment ``segment`` at voxel ``at`` (z, y, x) of the scan."""

    polyp: str
    segment: int
    at: tuple[int, int, int]
    geodesic: float


def polyp(rng: np.random.Generator) -> Lump:
    """3 to 9 mm in radius, flat to stalked, a third of them on folds."""
    radius = rng.uniform(3.0, 9.0)
    return Lump(
        (radius * rng.uniform(0.6, 1.1), radius * rng.uniform(0.8, 1.3), radius * rng.uniform(0.7, 1.0)),
        rng.uniform(-0.3, 0.7),
        (rng.uniform(0.0, 0.2), rng.uniform(0, 2 * np.pi)),
        rng.uniform(3.0, 8.0) if rng.random() < 1 / 3 else 0.0,
        rng.uniform(2.0, 4.0),
        rng.uniform(20.0, 70.0),
        rng.uniform(2.0, 6.0),
    )


def false_positive(rng: np.random.Generator) -> Lump:
    """The bulb of a fold, a lump of stool, or a fatty bulge."""
    radius, kind = rng.uniform(2.5, 8.0), rng.integers(3)
    if kind == 0:
        return replace(
            polyp(rng), half=(radius * 0.5, radius * 0.6, radius * 1.8), fold=rng.uniform(4.0, 9.0), hu=40.0
        )
    if kind == 1:
        return replace(polyp(rng), fold=0.0, hu=rng.uniform(-50, 180), texture=rng.uniform(40, 120))
    return replace(polyp(rng), half=(radius * 0.7, radius * 1.5, radius * 1.5), hu=rng.uniform(-100, -40))


def segment(lump: Lump, rng: np.random.Generator) -> tuple[npt.NDArray[np.int16], tuple[int, int, int]]:
    """(48, 48, 48) HU of one segment as one view shows it, and the voxel that is marked."""
    from scipy import ndimage

    axis = np.arange(SIDE) - (SIDE - 1) / 2
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
    moved = [one + _swaying(z, y, x, rng) for one in (z, y, x)]
    stretch = rng.uniform(0.94, 1.06, 3)
    z, y, x = (one / by for one, by in zip(moved, stretch, strict=True))
    radius, turn = rng.uniform(13.0, 17.0), rng.uniform(0, 2 * np.pi)
    far, round_ = np.hypot(y, x), np.arctan2(y, x)
    wall = radius - far
    top = radius
    if lump.fold:
        top = radius - lump.fold
        wall = np.minimum(wall, np.maximum(np.abs(z) - lump.thick / 2, top - far))
    # Coordinates of the lump: out of the wall, along the colon, across it.
    out = top - far * np.cos(round_ - turn) - lump.rise * lump.half[0]
    across = far * np.sin(round_ - turn)
    scaled = np.sqrt(sum((one / half) ** 2 for one, half in zip((out, z, across), lump.half, strict=True)))
    depth, phase = lump.lobes
    lobes = 1 + depth * np.sin(3 * np.arctan2(z, across) + phase) * np.minimum(scaled, 1)
    body = (scaled / lobes - 1) * min(lump.half)
    sharp = 1.0
    inside = -sharp * np.logaddexp(-wall / sharp, -body / sharp)
    tissue = np.clip(0.5 - inside, 0.0, 1.0)
    own = np.clip(0.5 - body, 0.0, 1.0) * np.clip(0.5 + wall, 0.0, 1.0)
    density = _WALL + own * (lump.hu - _WALL)
    if lump.texture:
        lumpy = ndimage.gaussian_filter(rng.normal(size=body.shape), 1.2)
        density += own * lump.texture * lumpy / lumpy.std()
    density = np.where(far > radius + lump.fat * rng.uniform(0.7, 1.4), _FAT, density)
    hu = _AIR + tissue * (density - _AIR)
    if rng.random() < 0.35:
        # A pool of tagged fluid below the air.
        down = rng.uniform(0, 2 * np.pi)
        pool = y * np.sin(down) + x * np.cos(down) > radius * rng.uniform(0.5, 0.95)
        hu = np.where(pool, hu + (1 - tissue) * (_TAGGED - _AIR), hu)
    noise = ndimage.gaussian_filter(rng.normal(size=hu.shape), 0.5)
    hu = ndimage.gaussian_filter(hu, 0.5) + NOISE_HU * noise / noise.std()
    towards = top - (lump.rise + 0.5) * lump.half[0]
    marked = np.array([0.0, towards * np.sin(turn), towards * np.cos(turn)]) * stretch
    marked += rng.normal(0, 1.0, 3) + (SIDE - 1) / 2
    at = np.clip(np.rint(marked), 4, SIDE - 5).astype(int).tolist()
    return np.rint(hu).astype(np.int16), (at[0], at[1], at[2])


def _swaying(z: Numbers, y: Numbers, x: Numbers, rng: np.random.Generator) -> Numbers:
    """A smooth displacement of about a millimetre."""
    waves = rng.uniform(0.1, 0.25, 3) * rng.choice([-1, 1], 3)
    swayed: Numbers = rng.uniform(0.5, 1.2) * np.sin(
        waves[0] * z + waves[1] * y + waves[2] * x + rng.uniform(0, 2 * np.pi)
    )
    return swayed


def scan(
    polyps: list[Lump], places: list[float], rng: np.random.Generator
) -> tuple[npt.NDArray[np.int16], list[Candidate]]:
    """One view of a patient: (48 n, 48, 48) HU, and its n candidates."""
    found = [
        (str(number + 1), lump, place)
        for number, (lump, place) in enumerate(zip(polyps, places, strict=True))
    ]
    found = [one for one in found if rng.random() < SENSITIVITY]
    wrong = int(rng.poisson(FALSE_POSITIVES))
    found += [("", false_positive(rng), float(rng.random())) for _ in range(wrong)]
    if not found:
        found = [("", false_positive(rng), float(rng.random()))]
    # The colon is longer here and shorter there than in the other view.
    bow = rng.normal(0, PLACE_NOISE)
    blocks, candidates = [], []
    order = rng.permutation(len(found)).tolist()
    for number, (name, lump, place) in enumerate(found[one] for one in order):
        block, (z, y, x) = segment(lump, rng)
        blocks.append(block)
        spread = COLLAPSED_NOISE if rng.random() < COLLAPSE else PLACE_NOISE
        position_along = place + bow * np.sin(np.pi * place) + rng.normal(0, spread)
        candidates.append(
            Candidate(name, number, (number * SIDE + z, y, x), float(np.clip(position_along, 0.0, 1.0)))
        )
    return np.concatenate(blocks), candidates


def study(
    patients: int, seed: int = 0, only: range | None = None
) -> Iterator[tuple[str, str, npt.NDArray[np.int16], list[Candidate]]]:
    """(patient, view, HU, candidates) of every scan, or of those of the patients numbered ``only``."""
    for patient in only or range(patients):
        rng = np.random.default_rng([seed, patient])
        polyps = [polyp(rng) for _ in range(int(rng.integers(1, 5)))]
        places = rng.random(len(polyps)).tolist()
        for view in VIEWS:
            hu, candidates = scan(polyps, places, rng)
            yield f"P{patient + 1:03d}", view, hu, candidates


def write_study(folder: Path, patients: int, seed: int = 0) -> Path:
    """The study as the kind ``polyps`` reads it: an array file a scan, and candidates.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "candidates.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "view", "polyp", "scan", "x", "y", "z", "geodesic"])
        for patient, view, hu, candidates in study(patients, seed):
            np.savez(folder / f"{patient}_{view}.npz", ct=hu)
            for one in candidates:
                z, y, x = one.at
                place = f"{one.geodesic:.4f}"
                writer.writerow([patient, view, one.polyp, f"{patient}_{view}.npz", x, y, z, place])
    return folder
