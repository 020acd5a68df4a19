"""Cut-outs of mammograms: patients and masses, the tissue about a mass, the mass, and its image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.demo.drawing import Field, Noise, Strokes, random_curve, ridges

#: Millimetres per pixel of the images of masses.
PIXEL_MM = 0.18
#: Attenuation of fat under full compression.
FAT = 0.62

SIZE = 256


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
class MassSite:
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


def tissue(rng: np.random.Generator, noise: Noise, of: Breast, site: MassSite) -> Tissue:
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


def _gland(noise: Noise, of: Breast, site: MassSite, depth: Field, drift: Field) -> Field:
    """Fibroglandular tissue: two sheets in projection, drawn out towards the nipple."""
    first, second = noise.cloudy(power=3.5, stretch=1.25, angle=site.towards_nipple, coarsest=150)
    third, fourth = noise.cloudy(power=3.1, stretch=1.7, angle=site.towards_nipple - 0.3, coarsest=60)
    subcutaneous = np.clip((depth - 5.0 - 2.0 * first) / 10.0, 0.0, 1.0)
    bias = (of.density - 0.55) * 3.2 + 0.5 * drift
    layers = np.zeros(noise.shape, dtype=np.float32)
    for low, fine in ((first, third), (second, fourth)):
        layers += 1.0 / (1.0 + np.exp(-1.5 * (low + 0.2 * fine + bias)))
    return np.asarray((0.25 * layers + 0.006 * fourth) * subcutaneous, dtype=np.float32)


def _strands(rng: np.random.Generator, noise: Noise, of: Breast, site: MassSite) -> Field:
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


def _muscle(noise: Noise, site: MassSite, x: Field, y: Field) -> Field:
    """The pectoral muscle as a bright wedge with a soft, slightly bulging edge and faint fibres."""
    if site.muscle_mm is None:
        return np.zeros(noise.shape, dtype=np.float32)
    away = np.array([np.cos(site.muscle_angle), np.sin(site.muscle_angle)])
    along = -x * away[1] + y * away[0]
    into = x * away[0] + y * away[1] - site.muscle_mm - along**2 * 0.004
    fibres, _ = noise.cloudy(power=2.6, stretch=5.0, angle=site.muscle_angle + np.pi / 2, coarsest=60)
    wedge = 1.0 / (1.0 + np.exp(-np.clip(into / 0.6, -30, 30)))
    return np.asarray(wedge * (0.34 + 0.006 * np.clip(into, 0, 30) + 0.015 * fibres), dtype=np.float32)


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


def image(
    rng: np.random.Generator, of: Breast, lesion: Mass, *, view: str, left: bool
) -> npt.NDArray[np.uint8]:
    """(256, 256) grey cut-out of 46 mm about ``lesion``; the nipple of a left breast is to the right."""
    site = _site(rng, of, lesion, view)
    noise = Noise(rng, (SIZE, SIZE))
    into = tissue(rng, noise, of, site)
    jitter = rng.normal(0, 3.5, 2).clip(-9, 9)
    centre = (SIZE / 2 + jitter[0], SIZE / 2 + jitter[1])
    grey = _develop(rng, place(rng, noise, lesion, into, centre), into.depth)
    return grey if left else np.ascontiguousarray(grey[:, ::-1])


def _site(rng: np.random.Generator, of: Breast, lesion: Mass, view: str) -> MassSite:
    shallow = rng.random() < 0.2
    depth = rng.uniform(lesion.radius_mm + 9, 24) if shallow else rng.uniform(30, 0.75 * of.radius_mm)
    oblique = view == "MLO"
    sees_muscle = oblique and not shallow and rng.random() < 0.3
    return MassSite(
        size=SIZE,
        depth_mm=float(depth),
        towards_nipple=float(rng.normal(0.25 if oblique else 0.0, 0.45)),
        muscle_mm=float(rng.uniform(max(14.0, lesion.radius_mm + 4), 27)) if sees_muscle else None,
        muscle_angle=float(np.pi * 1.18 + rng.normal(0, 0.12)),
    )


def _develop(rng: np.random.Generator, attenuation: Field, depth: Field) -> npt.NDArray[np.uint8]:
    """Quantum noise, detector blur, and the reading room's window on the tissue."""
    from scipy.ndimage import gaussian_filter

    shape = attenuation.shape
    counts = np.exp(-1.1 * attenuation)
    noise = rng.standard_normal(shape, dtype=np.float32) * np.sqrt(counts + 0.05)
    assigned = gaussian_filter(attenuation, 0.55) + 0.022 * gaussian_filter(noise, 0.5)
    low = FAT - rng.uniform(0.28, 0.40)
    high = np.percentile(assigned[depth > 6.0], 99.7) * 0.6 + (FAT + 0.62) * 0.4
    level = np.clip((assigned - low) / (high - low), 0.0, 1.1)
    curve = level ** rng.uniform(1.0, 1.25) * rng.uniform(0.86, 0.95)
    air = np.clip(depth / 1.2 + 0.5, 0.0, 1.0)
    shown = (curve * air + 0.012) * 255
    return np.asarray(np.clip(shown + 0.5, 0, 255), dtype=np.uint8)


@dataclass(frozen=True)
class Lesion:
    """One mass of the plan, before it is drawn."""

    patient: int
    number: int
    left: bool
    malignant: bool


def plan_lesions(rng: np.random.Generator, patients: int) -> list[Lesion]:
    """At least one mass for each patient and a second for two in five; half of all are malignant."""
    owners = list(range(patients))
    owners += sorted(rng.choice(patients, size=int(0.4 * patients), replace=False).tolist())
    malignant = np.arange(len(owners)) % 2 == 1
    rng.shuffle(malignant)
    assigned: dict[int, int] = {}
    out = []
    for owner, is_malignant in zip(owners, malignant, strict=True):
        assigned[owner] = assigned.get(owner, 0) + 1
        out.append(Lesion(owner, assigned[owner], bool(rng.random() < 0.5), bool(is_malignant)))
    return sorted(out, key=lambda lesion: (lesion.patient, lesion.number))


def breast_of(seed: int, patient: int) -> Breast:
    """The breast of ``patient``: the same for the same ``seed``."""
    return breast(np.random.default_rng([seed, 1, patient]))


def mass_of(seed: int, lesion: Lesion) -> Mass:
    """The mass of ``lesion``: the same for the same ``seed``."""
    rng = np.random.default_rng([seed, 2, lesion.patient, lesion.number])
    return mass(rng, malignant=lesion.malignant)
