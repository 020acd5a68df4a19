"""The pelvis and hips, antero-posterior."""

from __future__ import annotations

import numpy as np

from semblance.core.demo.development import Grey, develop
from semblance.core.demo.film import Film, pose
from semblance.core.demo.outlines import blob, ellipse, path, smooth, tube

SHAPE = (272, 332)
_SIDES = (1.0, -1.0)


def radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(272, 332) grey; ``left`` only chooses the marker."""
    film = Film(rng, SHAPE, pose(rng, SHAPE, zoom=0.98, turn=0.03, shift=0.02))
    _soft(film)
    for _ in film.sides():
        _femur(film)
        _hip_bone(film)
    _sacrum(film)
    return develop(
        film, bone_weight=float(rng.uniform(1.15, 1.5)), marker="L" if left else "R", shutters=0.45
    )


def _soft(film: Film) -> None:
    rng = film.rng
    stout = float(rng.uniform(0.95, 1.12))
    hips = smooth(
        [(-0.95 * stout, -1.5), (-0.98 * stout, -0.7), (-1.12 * stout, -0.1)],
        [(-1.17 * stout, 0.3), (-1.12 * stout, 1.4), (-0.1, 1.4), (-0.03, 0.75)],
        [(0.03, 0.75), (0.1, 1.4), (1.12 * stout, 1.4), (1.17 * stout, 0.3)],
        [(1.12 * stout, -0.1), (0.98 * stout, -0.7), (0.95 * stout, -1.5)],
    )
    film.soft(hips, 0.95, 0.42)
    for _ in range(int(rng.integers(3, 8))):
        gas = blob(
            rng,
            rng.normal(0, 0.4),
            rng.uniform(-0.95, -0.05),
            rng.uniform(0.04, 0.12),
            rng.uniform(0.03, 0.09),
            0.2,
        )
        film.air(gas, float(rng.uniform(0.08, 0.25)), 0.06)
    film.soft(ellipse(0.0, 0.13, 0.26, 0.15), 0.12, 0.12)


def _hip_bone(film: Film) -> None:
    wing = smooth(
        [(0.225, -0.33), (0.25, -0.56), (0.40, -0.74), (0.64, -0.80), (0.85, -0.70)],
        [(0.945, -0.50), (0.90, -0.36), (0.80, -0.24), (0.81, -0.13), (0.75, -0.06)],
        [(0.66, -0.065), (0.545, 0.0), (0.50, 0.07), (0.435, 0.03), (0.39, -0.06)],
        [(0.31, -0.16), (0.25, -0.21)],
    )
    film.bone(wing, 0.50, cortex=0.022, marrow=0.5, rounding=0.12, texture=0.12)
    film.hollow(
        smooth([(0.36, -0.5), (0.55, -0.68), (0.78, -0.62), (0.82, -0.45), (0.6, -0.26)]),
        0.34,
        0.16,
    )
    crest = path([(0.25, -0.58), (0.40, -0.735), (0.64, -0.79), (0.84, -0.69), (0.93, -0.50)])
    film.bone(tube(crest, [0.02, 0.028, 0.03, 0.03, 0.03]), 0.24, cortex=0.012, marrow=0.4)
    roof = path([(0.80, -0.075), (0.74, -0.085), (0.66, -0.08), (0.575, -0.01), (0.545, 0.1)])
    film.line(roof, 0.013, 0.26)
    brim = path(
        [(0.22, -0.2), (0.30, -0.155), (0.39, -0.05), (0.44, 0.05), (0.40, 0.19), (0.22, 0.28), (0.06, 0.315)]
    )
    film.line(brim, 0.010, 0.2)
    upper = path([(0.53, 0.15), (0.46, 0.145), (0.36, 0.21), (0.20, 0.29), (0.085, 0.335)])
    film.bone(
        tube(upper, [0.07, 0.08, 0.055, 0.05, 0.07]),
        0.44,
        cortex=0.018,
        marrow=0.5,
        texture=0.12,
    )
    pubis = smooth([(0.028, 0.30), (0.10, 0.28), (0.14, 0.34), (0.12, 0.44), (0.06, 0.50), (0.032, 0.45)])
    film.bone(pubis, 0.40, cortex=0.014, marrow=0.5, rounding=0.05)
    lower = path(
        [(0.085, 0.44), (0.17, 0.53), (0.29, 0.61), (0.40, 0.60), (0.475, 0.46), (0.50, 0.26), (0.505, 0.17)]
    )
    film.bone(
        tube(lower, [0.04, 0.04, 0.05, 0.09, 0.085, 0.065, 0.06]),
        0.42,
        cortex=0.018,
        marrow=0.5,
        texture=0.13,
    )
    film.line(path([(0.42, 0.08), (0.445, 0.19), (0.47, 0.22), (0.49, 0.16)]), 0.008, 0.2)


def _femur(film: Film) -> None:
    rng = film.rng
    head = ellipse(0.665, 0.085, 0.140, 0.145)
    turn = float(rng.uniform(-0.03, 0.03))
    upper = smooth(
        [(0.60, -0.03), (0.70, -0.058), (0.785, 0.0), (0.82, 0.065), (0.90, 0.085)],
        [(0.985, 0.11), (1.03, 0.20), (1.045 + turn, 0.33), (1.00 + turn, 0.50)],
        [(0.985 + turn, 0.8), (0.975 + turn, 1.5), (0.795 + turn, 1.5), (0.80 + turn, 0.8)],
        [(0.80 + turn, 0.56), (0.765 + turn, 0.475), (0.79, 0.40), (0.79, 0.31)],
        [(0.72, 0.225), (0.62, 0.215), (0.545, 0.15), (0.545, 0.05)],
    )
    film.bone(upper, 0.66, cortex=0.03, marrow=0.48, rounding=0.11, texture=0.14)
    film.bone(head, 0.22, cortex=0.008, marrow=0.2, texture=0.16)
    film.bone(
        smooth([(0.90, 0.10), (0.99, 0.12), (1.03, 0.22), (1.02, 0.34), (0.94, 0.30)]),
        0.2,
        marrow=0.35,
    )
    film.bone(ellipse(0.795, 0.45, 0.045, 0.06, 0.3), 0.16, marrow=0.4)
    # Trabeculae along the lines of load, from the head through the neck into the shaft.
    for shift in np.linspace(-0.05, 0.05, 6):
        load = path([(0.64 + shift, -0.02), (0.70 + shift, 0.12), (0.79 + shift * 0.6, 0.30), (0.81, 0.42)])
        film.line(load, 0.005, 0.06)
        arch = path([(0.60, 0.14 + shift), (0.72, 0.06 + shift), (0.88, 0.14 + shift), (0.98, 0.34 + shift)])
        film.line(arch, 0.005, 0.045)


def _sacrum(film: Film) -> None:
    rng = film.rng
    for number in range(4):
        y = -0.62 - 0.20 * number
        half = 0.185 - 0.006 * number
        body = smooth(
            [(-half, y), (0, y + 0.015), (half, y), (half * 0.9, y + 0.07), (half, y + 0.145)],
            [(0, y + 0.13), (-half, y + 0.145), (-half * 0.9, y + 0.07)],
        )
        film.bone(body, 0.40, cortex=0.018, marrow=0.48, rounding=0.06, texture=0.12)
        film.bone(ellipse(0, y + 0.12, 0.02, 0.055), 0.22, marrow=0.3)
        for side in _SIDES:
            process = path([(half * 0.9 * side, y + 0.05), (0.27 * side, y + 0.035), (0.33 * side, y + 0.03)])
            film.bone(tube(process, [0.035, 0.024, 0.028]), 0.2, cortex=0.01)
            film.bone(ellipse(0.11 * side, y + 0.05, 0.03, 0.04), 0.16, cortex=0.012, marrow=0.6)
    sacrum = smooth(
        [(0, -0.455), (0.15, -0.47), (0.25, -0.42), (0.285, -0.27), (0.25, -0.13)],
        [(0.16, 0.02), (0.09, 0.14), (0, 0.17), (-0.09, 0.14), (-0.16, 0.02)],
        [(-0.25, -0.13), (-0.285, -0.27), (-0.25, -0.42), (-0.15, -0.47)],
    )
    film.bone(sacrum, 0.40, cortex=0.014, marrow=0.42, rounding=0.10, texture=0.14)
    for row in range(4):
        for side in _SIDES:
            x, y = (0.125 - 0.02 * row) * side, -0.36 + 0.118 * row
            film.hollow(blob(rng, x, y, 0.032, 0.026, 0.15), 0.34, 0.015)
            film.line(path([(x - 0.035, y - 0.022), (x, y - 0.036), (x + 0.035, y - 0.022)]), 0.006, 0.14)
        film.bone(ellipse(0, -0.38 + 0.115 * row, 0.016, 0.035), 0.12, marrow=0.3)
    for side in _SIDES:
        joint = path([(0.235 * side, -0.46), (0.275 * side, -0.33), (0.245 * side, -0.17)])
        film.line(joint, 0.009, -0.12)
    for number in range(3):
        film.bone(ellipse(0.004, 0.20 + 0.052 * number, 0.035 - 0.007 * number, 0.02), 0.2, marrow=0.4)
