"""From attenuation to the grey image on the light box: scatter, noise, window, shutters, markers."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.demo.film import Film
from semblance.core.demo.noise import Field, blur

Grey = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Exposure:
    """How one film was taken: ``scatter`` share, quantum ``noise``, window ``dark``..``bright`` as
    percentiles of the exposed field, ``gamma`` of the curve, ``sharpening`` of edges."""

    scatter: float
    noise: float
    dark: float
    bright: float
    gamma: float
    sharpening: float


def exposure(rng: np.random.Generator) -> Exposure:
    """A random :class:`Exposure`, drawn from ``rng``."""
    return Exposure(
        scatter=float(rng.uniform(0.02, 0.10)),
        noise=float(rng.uniform(0.006, 0.02)),
        dark=float(rng.uniform(0.5, 4.0)),
        bright=float(rng.uniform(99.2, 99.9)),
        gamma=float(rng.uniform(0.85, 1.2)),
        sharpening=float(rng.uniform(0.15, 0.5)),
    )


def develop(film: Film, *, bone_weight: float = 1.0, marker: str = "", shutters: float = 0.6) -> Grey:
    """(h, w) uint8; ``marker`` is the lead letter L or R ("" for none), ``shutters`` the chance of visible
    collimation."""
    from scipy.ndimage import gaussian_filter

    rng, how = film.rng, exposure(film.rng)
    attenuation = film.soft_tissue + bone_weight * film.bones + film.lines.drawn()
    beam = np.exp(-np.clip(attenuation, 0, 6))
    beam = beam + how.scatter * blur(beam, 14)
    grains, _ = film.noise.grain(wavelength=2.6, octaves=1.6)
    density = -np.log(np.clip(gaussian_filter(beam, 0.6), 1e-3, None))
    density += how.noise * grains * np.exp(0.35 * density)
    density += how.sharpening * (density - blur(density, 9))
    open_field = _shutters(rng, film.shape, shutters)
    low, high = np.percentile(density[open_field > 0.5], [how.dark, how.bright])
    level = np.clip((density - low) / max(high - low, 0.2), 0, 1.15)
    shown = np.tanh(0.9 * level**how.gamma) / np.tanh(0.9) * 0.92 + 0.02
    shown *= 0.03 + 0.97 * open_field
    if marker:
        shown = _add_marker(rng, shown, marker)
    return np.asarray(np.clip(shown * 255 + 0.5, 0, 255).astype(np.uint8))


def _shutters(rng: np.random.Generator, shape: tuple[int, int], chance: float) -> Field:
    """1 inside the collimated field, 0 under the lead, with a soft edge; often slightly turned."""
    height, width = shape
    if rng.random() > chance:
        return np.ones(shape, dtype=np.float32)
    x = np.arange(width, dtype=np.float32)[None, :] - width / 2
    y = np.arange(height, dtype=np.float32)[:, None] - height / 2
    turn = np.float32(rng.normal(0, 0.025))
    across, down = x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)
    left, right = (width / 2 * (1 - abs(rng.normal(0, 0.05))) - 2 for _ in range(2))
    top, bottom = (height / 2 * (1 - abs(rng.normal(0, 0.05))) - 2 for _ in range(2))
    edge = np.minimum(np.minimum(across + left, right - across), np.minimum(down + top, bottom - down))
    return np.asarray(np.clip(edge / 1.6 + 0.5, 0, 1), dtype=np.float32)


def _add_marker(rng: np.random.Generator, shown: Field, letter: str) -> Field:
    """A lead letter near an upper corner, on the side it names (the viewer's left for R)."""
    height, width = shown.shape
    size = int(height * rng.uniform(0.06, 0.085))
    stamp = _stamp(letter, size, float(rng.normal(0, 6)))
    side = 0.1 if letter == "R" else 0.9
    left = int(width * (side + rng.normal(0, 0.015)) - stamp.shape[1] / 2)
    top = int(height * rng.uniform(0.05, 0.16))
    left = min(max(left, 2), width - stamp.shape[1] - 2)
    part = shown[top : top + stamp.shape[0], left : left + stamp.shape[1]]
    part += stamp[: part.shape[0], : part.shape[1]] * (0.97 - part)
    return shown


def _stamp(letter: str, size: int, turn: float) -> Field:
    from PIL import Image, ImageDraw, ImageFont

    big = 4 * size
    canvas = Image.new("L", (2 * big, 2 * big))
    draw = ImageDraw.Draw(canvas)
    draw.text(
        (big, big), letter, fill=255, font=ImageFont.load_default(big), anchor="mm", stroke_width=big // 24
    )
    canvas = canvas.rotate(turn, resample=Image.Resampling.BICUBIC).reduce(4)
    return np.asarray(canvas, dtype=np.float32) / np.float32(255)


@functools.lru_cache(maxsize=1)
def _notice() -> tuple[Field, Field]:
    """The word and a halo about it, 0..1."""
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    font = ImageFont.load_default(10)
    left, top, right, bottom = font.getbbox("SYNTHETIC")
    word = Image.new("L", (int(right - left) + 8, int(bottom - top) + 8))
    ImageDraw.Draw(word).text((4 - left, 4 - top), "SYNTHETIC", fill=255, font=font)
    halo = word.filter(ImageFilter.MaxFilter(3)).filter(ImageFilter.GaussianBlur(1.2))
    white = np.float32(255)
    return np.asarray(word, dtype=np.float32) / white, np.asarray(halo, dtype=np.float32) / white


def add_notice(grey: Grey) -> Grey:
    """``grey`` with SYNTHETIC burnt into the lower left corner, readable on dark and on bright."""
    word, halo = _notice()
    height, width = word.shape
    out = grey.astype(np.float32)
    part = out[-height - 2 : -2, 2 : 2 + width]
    part *= 1 - np.clip(1.5 * halo, 0, 1) * 0.72
    part += word * (215 - part)
    return np.asarray(np.clip(out, 0, 255).astype(np.uint8))
