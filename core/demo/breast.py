"""The breast about a mass: fat, fibroglandular tissue, ligaments, skin and pectoral muscle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.core.demo.noise import Field, Noise, ridges
from semblance.core.demo.strokes import Strokes, random_curve

#: Millimetres per pixel of the images of masses.
PIXEL_MM = 0.18
#: Attenuation of fat under full compression.
FAT = 0.62


@dataclass(frozen=True)
class Breast:
    """The properties that the images of one breast share.

    ``density`` 0 (fatty) .. 1 (extremely dense); ``radius_mm`` of the outline; ``strands`` strength of
    Cooper's ligaments; ``coarseness`` of the fat lobules between them, in mm.
    """

    density: float
    radius_mm: float
    strands: float
    coarseness: float


@dataclass(frozen=True)
class Site:
    """The position of a cut-out in its breast.

    ``depth_mm``: of its centre below the skin; ``towards_nipple``: direction in radians (x right, y
    down); ``muscle_mm``: distance of the pectoral muscle's edge, ``None`` where it is not in view.
    """

    size: int
    depth_mm: float
    towards_nipple: float
    muscle_mm: float | None
    muscle_angle: float


@dataclass(frozen=True, eq=False)
class Tissue:
    """Attenuating layers of a cut-out (h, w), each in units of a few centimetres of fat.

    ``gland`` and ``strands`` may be drawn towards a mass; ``body`` (fat under compression, 0 outside the
    breast), ``skin`` and ``muscle`` stay where they are. ``depth``: mm below the skin, negative in air.
    """

    gland: Field
    strands: Field
    body: Field
    skin: Field
    muscle: Field
    depth: Field


def breast(rng: np.random.Generator) -> Breast:
    """A random breast; densities follow the four classes of screening about 1 : 4 : 4 : 1."""
    middle = rng.choice([0.1, 0.35, 0.6, 0.9], p=[0.2, 0.42, 0.3, 0.08])
    return Breast(
        density=float(np.clip(middle + rng.normal(0, 0.08), 0.02, 1.0)),
        radius_mm=float(rng.uniform(62, 100)),
        strands=float(rng.uniform(0.5, 1.3)),
        coarseness=float(rng.uniform(5.0, 11.0)),
    )


def _grid(size: int) -> tuple[Field, Field]:
    at = ((np.arange(size) - (size - 1) / 2) * PIXEL_MM).astype(np.float32)
    return at[None, :], at[:, None]


def tissue(rng: np.random.Generator, noise: Noise, of: Breast, site: Site) -> Tissue:
    """The layers of one cut-out."""
    x, y = _grid(site.size)
    nipple = np.array([np.cos(site.towards_nipple), np.sin(site.towards_nipple)])
    centre = nipple * (site.depth_mm - of.radius_mm)
    wobble, drift = noise.cloudy(power=4, coarsest=400, finest=30)
    depth = of.radius_mm - np.hypot(x - centre[0], y - centre[1]) + 0.35 * wobble
    skin = np.exp(-(((depth - 0.7) / 0.6) ** 2)) * np.float32(0.2)
    return Tissue(
        gland=_gland(noise, of, site, depth, drift),
        strands=_strands(rng, noise, of, site) * np.clip((depth - 1.0) / 6.0, 0.0, 1.0),
        body=_compressed(depth),
        skin=skin.astype(np.float32),
        muscle=_muscle(noise, site, x, y),
        depth=depth.astype(np.float32),
    )


def _compressed(depth: Field) -> Field:
    """Relative thickness between the paddles: full inside, rounded off towards the skin line."""
    rounded = np.clip(depth / 14.0, 0.0, 1.0)
    return np.asarray((1.0 - (1.0 - rounded) ** 2) ** 0.4, dtype=np.float32)


def _gland(noise: Noise, of: Breast, site: Site, depth: Field, drift: Field) -> Field:
    """Fibroglandular tissue: two sheets in projection, drawn out towards the nipple."""
    first, second = noise.cloudy(power=3.5, stretch=1.25, angle=site.towards_nipple, coarsest=150)
    third, fourth = noise.cloudy(power=3.1, stretch=1.7, angle=site.towards_nipple - 0.3, coarsest=60)
    subcutaneous = np.clip((depth - 5.0 - 2.0 * first) / 10.0, 0.0, 1.0)
    bias = (of.density - 0.55) * 3.2 + 0.5 * drift
    layers = np.zeros(noise.shape, dtype=np.float32)
    for low, fine in ((first, third), (second, fourth)):
        layers += 1.0 / (1.0 + np.exp(-1.5 * (low + 0.2 * fine + bias)))
    return np.asarray((0.25 * layers + 0.006 * fourth) * subcutaneous, dtype=np.float32)


def _strands(rng: np.random.Generator, noise: Noise, of: Breast, site: Site) -> Field:
    """Cooper's ligaments between fat lobules, with ducts and vessels running to the nipple."""
    lobules = of.coarseness / PIXEL_MM
    towards = site.towards_nipple
    broad, narrow = noise.grain(wavelength=lobules * 1.3, octaves=0.8, stretch=1.5, angle=towards)
    fine, gate = noise.grain(wavelength=lobules * 0.6, octaves=0.9, stretch=1.8, angle=towards + 0.2)
    sheets = 0.7 * ridges(broad + 0.2 * fine, 0.07) * np.clip(0.5 + 0.6 * gate, 0, 1.4)
    sheets += 0.55 * ridges(narrow + 0.2 * gate, 0.06) * np.clip(0.4 - 0.7 * fine, 0, 1.2)
    sheets += 0.3 * ridges(fine, 0.08) * np.clip(0.4 + 0.6 * broad, 0, 1)
    lines = Strokes(noise.shape)
    for _ in range(int(rng.integers(9, 20))):
        start = rng.uniform(-0.1, 1.1, 2) * site.size
        points = random_curve(
            rng, start, towards + rng.normal(0, 0.6), rng.uniform(0.2, 0.7) * site.size, 0.9
        )
        lines.add(points, np.linspace(rng.uniform(0.6, 1.3), 0.5, len(points)), rng.uniform(0.3, 1.0))
    for _ in range(int(rng.integers(0, 3))):
        back = 0.7 * site.size * np.array([np.cos(towards), np.sin(towards)])
        start = rng.uniform(0.1, 0.9, 2) * site.size - back
        points = random_curve(rng, start, towards + rng.normal(0, 0.4), 1.6 * site.size, 1.2, 48)
        lines.add(points, rng.uniform(1.4, 2.6), rng.uniform(0.4, 0.9))
    return np.asarray(of.strands * (0.095 * sheets + 0.11 * lines.drawn()), dtype=np.float32)


def _muscle(noise: Noise, site: Site, x: Field, y: Field) -> Field:
    """The pectoral muscle as a bright wedge with a soft, slightly bulging edge and faint fibres."""
    if site.muscle_mm is None:
        return np.zeros(noise.shape, dtype=np.float32)
    away = np.array([np.cos(site.muscle_angle), np.sin(site.muscle_angle)])
    along = -x * away[1] + y * away[0]
    into = x * away[0] + y * away[1] - site.muscle_mm - along**2 * 0.004
    fibres, _ = noise.cloudy(power=2.6, stretch=5.0, angle=site.muscle_angle + np.pi / 2, coarsest=60)
    wedge = 1.0 / (1.0 + np.exp(-np.clip(into / 0.6, -30, 30)))
    return np.asarray(wedge * (0.34 + 0.006 * np.clip(into, 0, 30) + 0.015 * fibres), dtype=np.float32)
