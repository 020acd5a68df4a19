"""Cut-outs of mammograms: the plan of patients and masses, and the image of a mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.demo.breast import FAT, Breast, Site, breast, tissue
from semblance.core.demo.mass import Mass, mass, place
from semblance.core.demo.noise import Field, Noise

SIZE = 256


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


def _site(rng: np.random.Generator, of: Breast, lesion: Mass, view: str) -> Site:
    shallow = rng.random() < 0.2
    depth = rng.uniform(lesion.radius_mm + 9, 24) if shallow else rng.uniform(30, 0.75 * of.radius_mm)
    oblique = view == "MLO"
    sees_muscle = oblique and not shallow and rng.random() < 0.3
    return Site(
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


def plan(rng: np.random.Generator, patients: int) -> list[Lesion]:
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
