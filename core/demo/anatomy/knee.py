"""The knee, antero-posterior."""

from __future__ import annotations

import numpy as np

from semblance.core.demo.development import Grey, develop
from semblance.core.demo.film import Film, pose
from semblance.core.demo.outlines import blob, ellipse, path, smooth, tube

SHAPE = (336, 240)


def radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(336, 240) grey; the fibula lies on the outer side: right in the image of a left knee."""
    film = Film(rng, SHAPE, pose(rng, SHAPE, zoom=0.97, turn=0.05, shift=0.02, mirror=not left))
    stout = float(rng.uniform(0.94, 1.08))
    gap = float(rng.uniform(0.032, 0.058))
    _soft(film, stout)
    _femur(film, stout, gap)
    _tibia(film, stout)
    return develop(
        film, bone_weight=float(rng.uniform(0.95, 1.2)), marker="L" if left else "R", shutters=0.65
    )


def _soft(film: Film, stout: float) -> None:
    rng = film.rng
    thigh, calf = float(rng.uniform(0.5, 0.64)), float(rng.uniform(0.46, 0.58))
    leg = smooth(
        [(-thigh, -1.5), (-thigh * 0.97, -0.7), (-0.47 * stout, -0.2), (-0.45 * stout, 0.1)],
        [(-calf * 0.95, 0.5), (-calf * 0.9, 1.5), (calf * 0.95, 1.5), (calf, 0.55)],
        [(0.465 * stout, 0.1), (0.48 * stout, -0.2), (thigh, -0.7), (thigh, -1.5)],
    )
    film.soft(leg, 0.72, 0.3)
    film.soft(
        smooth([(-0.42, -1.4), (-0.36, -0.5), (-0.3, -0.2), (0.3, -0.2), (0.38, -0.5), (0.42, -1.4)]),
        0.16,
        0.15,
    )
    film.soft(
        smooth([(-0.3, 1.4), (-0.34, 0.5), (-0.28, 0.2), (0.3, 0.2), (0.40, 0.55), (0.36, 1.4)]), 0.14, 0.15
    )


def _femur(film: Film, stout: float, gap: float) -> None:
    rng = film.rng
    femur = smooth(
        [(-0.150, -1.5), (-0.148, -0.95), (-0.165, -0.7), (-0.23, -0.48), (-0.325, -0.34)],
        [(-0.37, -0.22), (-0.352, -0.09), (-0.27, -0.03), (-0.16, -0.028), (-0.085, -0.075)],
        [(-0.04, -0.15), (0.03, -0.15), (0.075, -0.08), (0.15, -0.04), (0.26, -0.045)],
        [(0.34, -0.10), (0.36, -0.23), (0.315, -0.36), (0.24, -0.50), (0.18, -0.7)],
        [(0.155, -0.95), (0.15, -1.5)],
    ) * np.array([stout, 1.0]) - np.array([0.0, gap / 2])
    film.bone(femur, 0.95, cortex=0.040, marrow=0.46, rounding=0.15, texture=0.13)
    for side in (1.0, -1.0):
        film.line(path([(0.13 * side, -1.3), (0.125 * side, -0.9), (0.14 * side, -0.7)]), 0.018, 0.16)
        plate = path(
            [(0.09 * side, -0.07 - gap / 2), (0.2 * side, -0.038 - gap / 2), (0.31 * side, -0.075 - gap / 2)]
        )
        film.line(plate, 0.010, 0.22)
    roof = path([(-0.085, -0.085), (-0.04, -0.16), (0.03, -0.16), (0.075, -0.09)])
    film.line(roof - np.array([0, gap / 2]), 0.008, 0.2)
    film.line(path([(-0.26, -0.31), (-0.1, -0.285), (0.1, -0.29), (0.26, -0.31)]), 0.007, 0.1)
    high = float(rng.uniform(-0.36, -0.22))
    patella = blob(rng, rng.normal(0.02, 0.025), high, 0.175, 0.165, 0.03)
    film.bone(patella, 0.20, cortex=0.016, marrow=0.45, texture=0.12)
    if rng.random() < 0.2:
        film.bone(ellipse(0.25, -0.17, 0.024, 0.02), 0.25, marrow=0.2)


def _tibia(film: Film, stout: float) -> None:
    fibula_head = np.array([(0.395, 0.20), (0.37, 0.32), (0.345, 0.55), (0.33, 1.0), (0.32, 1.5)])
    film.bone(
        tube(path(fibula_head), [0.062, 0.058, 0.040, 0.040, 0.042]),
        0.55,
        cortex=0.022,
        marrow=0.5,
        texture=0.13,
    )
    tibia = smooth(
        [(-0.355, 0.055), (-0.29, 0.028), (-0.15, 0.036), (-0.07, 0.02), (-0.05, -0.022)],
        [(-0.022, 0.012), (0.018, 0.010), (0.042, -0.015), (0.065, 0.022), (0.15, 0.034)],
        [(0.29, 0.028), (0.355, 0.06), (0.37, 0.13), (0.315, 0.24), (0.225, 0.40)],
        [(0.175, 0.62), (0.165, 0.9), (0.16, 1.5), (-0.135, 1.5), (-0.14, 0.9)],
        [(-0.155, 0.62), (-0.215, 0.40), (-0.32, 0.24), (-0.372, 0.13)],
    ) * np.array([stout, 1.0])
    film.bone(tibia, 0.92, cortex=0.036, marrow=0.46, rounding=0.15, texture=0.14)
    for side in (1.0, -1.0):
        film.line(path([(0.08 * side, 0.034), (0.2 * side, 0.045), (0.33 * side, 0.052)]), 0.010, 0.24)
        film.line(path([(0.14 * side, 0.65), (0.13 * side, 0.9), (0.125 * side, 1.4)]), 0.018, 0.15)
    film.line(path([(-0.30, 0.215), (-0.1, 0.235), (0.1, 0.235), (0.30, 0.215)]), 0.006, 0.09)
    film.bone(ellipse(0.01, 0.32, 0.07, 0.10), 0.07, marrow=0.4)
