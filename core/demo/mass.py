"""A breast mass: its outline, margin, spicules, distortion and calcifications."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.demo.breast import FAT, PIXEL_MM, Tissue
from semblance.core.demo.noise import Field, Noise
from semblance.core.demo.strokes import Strokes, random_curve


@dataclass(frozen=True)
class Mass:
    """The properties that the views of one mass share, in the terms of the BI-RADS lexicon.

    ``radius_mm``; ``elongation`` length over width; ``lobulation`` and ``irregularity``: relative swing of
    the outline in few and in many waves; ``indistinct_mm``: blur of its margin; ``spicules``: number;
    ``reach``: their length over the radius; ``distortion`` 0..1 of the tissue about it; ``contrast``: added
    attenuation at the centre; ``calcifications``: number; ``halo`` 0..1: a thin dark rim.
    """

    malignant: bool
    radius_mm: float
    elongation: float
    lobulation: float
    irregularity: float
    indistinct_mm: float
    spicules: int
    reach: float
    spicule_strength: float
    distortion: float
    contrast: float
    calcifications: int
    coarse_calcifications: bool
    halo: float


def mass(rng: np.random.Generator, *, malignant: bool) -> Mass:
    """A random mass. The findings overlap: some benign ones are lobulated, obscured or crossed by
    strands, some malignant ones are almost round with hardly a spicule."""
    return _malignant(rng) if malignant else _benign(rng)


def _benign(rng: np.random.Generator) -> Mass:
    deceptive = rng.random() < 0.14
    return Mass(
        malignant=False,
        radius_mm=float(np.exp(rng.normal(np.log(7.4), 0.24)).clip(4.2, 12.5)),
        elongation=float(rng.uniform(1.0, 1.55)),
        lobulation=float(rng.choice([0.03, 0.09, 0.15], p=[0.45, 0.35, 0.2]) * rng.uniform(0.6, 1.3)),
        irregularity=float(rng.uniform(0.07, 0.13) if deceptive else rng.uniform(0.0, 0.03)),
        indistinct_mm=float(rng.uniform(0.8, 1.4) if deceptive else rng.uniform(0.2, 0.5)),
        spicules=int(rng.integers(6, 14)) if deceptive else int(rng.integers(0, 3)),
        reach=float(rng.uniform(0.4, 0.8)),
        spicule_strength=float(rng.uniform(0.35, 0.7)),
        distortion=float(rng.uniform(0.1, 0.3)) if deceptive else 0.0,
        contrast=float(rng.uniform(0.34, 0.56)),
        calcifications=int(rng.integers(3, 9)) if rng.random() < 0.12 else 0,
        coarse_calcifications=True,
        halo=float(rng.uniform(0.2, 0.8)) if rng.random() < 0.45 else 0.0,
    )


def _malignant(rng: np.random.Generator) -> Mass:
    subtle = rng.random() < 0.16
    return Mass(
        malignant=True,
        radius_mm=float(np.exp(rng.normal(np.log(6.4), 0.26)).clip(3.8, 12.0)),
        elongation=float(rng.uniform(1.0, 1.5)),
        lobulation=float(rng.uniform(0.03, 0.14)),
        irregularity=float(rng.uniform(0.03, 0.09) if subtle else rng.uniform(0.1, 0.24)),
        indistinct_mm=float(rng.uniform(0.5, 1.0) if subtle else rng.uniform(0.7, 1.5)),
        spicules=int(rng.integers(4, 13)) if subtle else int(rng.integers(16, 46)),
        reach=float(rng.uniform(0.4, 0.9) if subtle else rng.uniform(0.8, 1.8)),
        spicule_strength=float(rng.uniform(0.3, 0.6) if subtle else rng.uniform(0.58, 1.18)),
        distortion=float(rng.uniform(0.0, 0.3) if subtle else rng.uniform(0.3, 0.8)),
        contrast=float(rng.uniform(0.34, 0.62)),
        calcifications=int(rng.integers(5, 26)) if rng.random() < 0.33 else 0,
        coarse_calcifications=False,
        halo=0.0,
    )


@dataclass(frozen=True, eq=False)
class _Outline:
    """Radius in pixels by direction, about (x, y)."""

    x: float
    y: float
    radius: npt.NDArray[np.float64]

    def at(self, angle: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
        n = len(self.radius)
        place = np.mod(angle, 2 * np.pi) * (n / (2 * np.pi))
        low = np.floor(place).astype(np.intp)
        share = place - low
        return np.asarray(self.radius[low % n] * (1 - share) + self.radius[(low + 1) % n] * share)


def _outline(rng: np.random.Generator, of: Mass, x: float, y: float) -> _Outline:
    angle = np.linspace(0, 2 * np.pi, 256, endpoint=False)
    turn = rng.uniform(0, np.pi)
    long, short = np.sqrt(of.elongation), 1 / np.sqrt(of.elongation)
    radius = 1.0 / np.hypot(np.cos(angle - turn) / long, np.sin(angle - turn) / short)
    for waves in range(2, 5):
        radius += of.lobulation * rng.normal(0, 0.6) * np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
    for waves in range(4, 15):
        swing = of.irregularity * rng.normal(0, 0.75) * (5.0 / waves) ** 0.8
        radius += swing * np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
    return _Outline(x, y, np.clip(radius, 0.35, 1.9) * of.radius_mm / PIXEL_MM)


def place(
    rng: np.random.Generator, noise: Noise, of: Mass, into: Tissue, centre: tuple[float, float]
) -> Field:
    """(h, w) attenuation of ``into`` with the mass at ``centre`` (x, y in pixels)."""
    from scipy.ndimage import gaussian_filter

    shape = noise.shape
    outline = _outline(rng, of, *centre)
    rows, columns = np.indices(shape, dtype=np.float32)
    frayed = (0.10 + 1.6 * of.irregularity) / PIXEL_MM
    shift_x, shift_y = noise.cloudy(power=3.2, coarsest=40, finest=5)
    dx, dy = columns - centre[0] + frayed * shift_x, rows - centre[1] + frayed * shift_y
    distance = np.hypot(dx, dy)
    relative = distance / outline.at(np.arctan2(dy, dx))
    # Flatter than the chord of a sphere: masses fill out between the paddles.
    chord = np.clip(1.0 - relative**2, 0.0, 1.0) ** 0.6
    body = gaussian_filter(chord.astype(np.float32), of.indistinct_mm / PIXEL_MM)
    mottle, obscuring = noise.cloudy(power=3.0, coarsest=60)
    body *= np.clip((0.94 + 0.14 * obscuring) * (1.0 + 0.05 * mottle), 0.45, 1.2)
    gland, strands = into.gland, into.strands
    if of.distortion > 0:
        gland, strands = _distort(of, gland, strands, dx, dy, distance)
    inner = np.clip(body, 0, 1)
    mixed = into.body * (FAT + gland * (1.0 - 0.6 * inner) + strands * (1.0 - 0.5 * inner))
    mixed += of.contrast * body * np.clip(into.body, 0, 1)
    if of.halo > 0:
        rim = np.exp(-(((relative - 1.09) / 0.05) ** 2)).astype(np.float32)
        mixed -= 0.05 * of.halo * gaussian_filter(rim, 1.2)
    if of.spicules:
        mixed += _spicules(rng, of, outline, shape) * np.clip(into.body, 0, 1)
    if of.calcifications:
        mixed += _calcifications(rng, of, outline, shape)
    return np.asarray(mixed + into.skin + into.muscle, dtype=np.float32)


def _distort(
    of: Mass, gland: Field, strands: Field, dx: Field, dy: Field, distance: Field
) -> tuple[Field, Field]:
    """Architectural distortion: tissue about the mass stretched along the radii, so it points at it."""
    from scipy.ndimage import map_coordinates

    reach = (of.radius_mm * 2.0 + 4.0) / PIXEL_MM
    inside = np.clip(distance / reach, 1e-3, 1.0)
    scale = inside ** (-0.5 * of.distortion)
    rows, columns = np.indices(gland.shape, dtype=np.float32)
    at = np.stack([rows + dy * (scale - 1), columns + dx * (scale - 1)])
    return (
        np.asarray(map_coordinates(gland, at, order=1, mode="reflect"), dtype=np.float32),
        np.asarray(map_coordinates(strands, at, order=1, mode="reflect"), dtype=np.float32)
        * (1 + 0.8 * of.distortion * (1 - inside)),
    )


def _spicules(rng: np.random.Generator, of: Mass, outline: _Outline, shape: tuple[int, int]) -> Field:
    """Tapering, branching lines out of the margin, in uneven bundles."""
    lines = Strokes(shape)
    bundles = rng.uniform(0, 2 * np.pi, max(3, of.spicules // 4))
    for _ in range(of.spicules):
        loose = rng.random() < 0.55
        angle = rng.uniform(0, 2 * np.pi) if loose else rng.choice(bundles) + rng.normal(0, 0.17)
        margin = float(outline.at(np.array([angle]))[0])
        start = np.array([outline.x + np.cos(angle) * margin * 0.6, outline.y + np.sin(angle) * margin * 0.6])
        reach = of.reach * of.radius_mm / PIXEL_MM * rng.gamma(4.0, 0.25)
        points = random_curve(rng, start, angle + rng.normal(0, 0.12), 0.4 * margin + reach, 0.35)
        _tapering(lines, points, rng.uniform(0.5, 1.6), of.spicule_strength * rng.uniform(0.58, 1.18))
        for _ in range(int(rng.poisson(0.7))):
            knot = int(rng.integers(len(points) // 3, len(points) - 4))
            side = rng.choice([-1.0, 1.0]) * rng.uniform(0.25, 0.6)
            twig = random_curve(rng, points[knot], angle + side, reach * rng.uniform(0.25, 0.55), 0.4)
            _tapering(lines, twig, rng.uniform(0.7, 1.1), of.spicule_strength * rng.uniform(0.3, 0.7))
    drawn = lines.drawn()
    return np.asarray(0.2 * drawn / (1.0 + 0.7 * drawn), dtype=np.float32)


def _tapering(lines: Strokes, points: npt.NDArray[np.float64], width: float, brightness: float) -> None:
    along = np.linspace(0, 1, len(points))
    rest = 1.0 - along
    lines.add(points, 0.45 + width * rest**1.5, brightness * rest**0.8 * np.clip(along * 5, 0, 1))


def _calcifications(rng: np.random.Generator, of: Mass, outline: _Outline, shape: tuple[int, int]) -> Field:
    """Few coarse round ones, or a cluster of many fine uneven ones."""
    spread = of.radius_mm / PIXEL_MM * (0.35 if of.coarse_calcifications else 0.5)
    points = rng.normal(0, spread, (of.calcifications, 2)) + np.array([outline.x, outline.y])
    dots = Strokes(shape)
    if of.coarse_calcifications:
        dots.dots(points, rng.uniform(1.0, 2.2, len(points)), rng.uniform(0.25, 0.5, len(points)))
        return dots.drawn()
    dots.dots(points, rng.uniform(0.4, 0.8, len(points)), rng.uniform(0.15, 0.6, len(points)))
    for point in points[:: max(1, len(points) // 6)]:
        piece = random_curve(rng, point, rng.uniform(0, 2 * np.pi), rng.uniform(1.5, 4.0), 1.0, 6)
        dots.add(piece, 0.6, rng.uniform(0.2, 0.5))
    return dots.drawn()
