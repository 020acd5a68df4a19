"""Small generated images for tests: two findings that a Gabor filter distinguishes, and patients."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter


def stripes(rng: np.random.Generator, *, upright: bool, size: int = 48) -> np.ndarray:
    """(size, size) uint8: noisy stripes, upright or level."""
    y, x = np.mgrid[:size, :size]
    along = x if upright else y
    wave = np.sin(2 * np.pi * along / rng.uniform(5, 8) + rng.uniform(0, 6))
    noisy = 127 + 60 * wave + rng.normal(0, 25, (size, size))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def striped_folder(folder: Path, *, n: int = 40, seed: int = 0, patients: bool = True) -> Path:
    """``n`` images in the folders ``level`` and ``upright``; two images a patient."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(n):
        finding = "upright" if number // 2 % 2 else "level"
        path = folder / finding / f"p{number:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(stripes(rng, upright=finding == "upright")).save(path)
        lines.append((f"{finding}/{path.name}", finding, f"P{number // 2:03d}"))
    if patients:
        with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow(("path", "label", "patient_id"))
            writer.writerows(lines)
    return folder


def texture(seed: int, side: int = 120) -> Image.Image:
    """An image of noise that is like no other."""
    noise = gaussian_filter(np.random.default_rng(seed).normal(size=(side, side)), 2)
    return Image.fromarray(np.clip(128 + 300 * noise, 0, 255).astype(np.uint8))
