"""The skull, from the front."""

from __future__ import annotations

import numpy as np

from semblance.core.demo.development import Grey, develop
from semblance.core.demo.film import Film, pose
from semblance.core.demo.outlines import blob, ellipse, path, smooth, tube
from semblance.core.demo.strokes import Points

SHAPE = (328, 264)
_SIDES = (1.0, -1.0)


def radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(328, 264) grey; ``left`` only chooses the marker."""
    film = Film(rng, SHAPE, pose(rng, SHAPE, zoom=0.94, turn=0.05, shift=0.02))
    tilt = float(rng.uniform(-0.05, 0.06))
    _soft(film)
    _vault(film)
    _base(film, tilt)
    _face(film)
    _teeth(film)
    _sutures(film)
    return develop(film, bone_weight=float(rng.uniform(0.95, 1.2)), marker="L" if left else "R", shutters=0.5)


def _soft(film: Film) -> None:
    head = smooth(
        [(0, -0.93), (0.33, -0.88), (0.58, -0.66), (0.68, -0.32), (0.65, 0.0), (0.60, 0.3)],
        [(0.52, 0.62), (0.36, 0.86), (0.33, 1.1), (0.42, 1.5), (-0.42, 1.5), (-0.33, 1.1)],
        [(-0.36, 0.86), (-0.52, 0.62), (-0.60, 0.3), (-0.65, 0.0), (-0.68, -0.32)],
        [(-0.58, -0.66), (-0.33, -0.88)],
    )
    film.soft(head, 0.85, 0.42)
    for _ in film.sides():
        film.soft(ellipse(0.665, 0.12, 0.05, 0.13, 0.1), 0.14, 0.04)


def _vault(film: Film) -> None:
    vault = smooth(
        [(0, -0.88), (0.30, -0.835), (0.52, -0.64), (0.615, -0.34), (0.595, -0.05)],
        [(0.52, 0.16), (0.36, 0.27), (0, 0.30), (-0.36, 0.27), (-0.52, 0.16)],
        [(-0.595, -0.05), (-0.615, -0.34), (-0.52, -0.64), (-0.30, -0.835)],
    )
    film.bone(vault, 1.35, cortex=0.042, marrow=0.72, rounding=0.50, texture=0.05)
    mottling, _ = film.noise.cloudy(power=3.2, coarsest=60)
    film.bones *= 1 + 0.06 * mottling


def _base(film: Film, tilt: float) -> None:
    """Petrous ridges, sphenoid wings and the dense middle of the skull base."""
    for _ in film.sides():
        ridge = path([(0.08, 0.14 + tilt), (0.2, 0.07 + tilt), (0.36, 0.075 + tilt), (0.53, 0.14 + tilt)])
        film.bone(tube(ridge, [0.03, 0.05, 0.065, 0.05]), 0.42, cortex=0.012, marrow=0.35)
        mastoid = smooth([(0.46, 0.1), (0.57, 0.12), (0.575, 0.3), (0.52, 0.40), (0.46, 0.3)])
        film.bone(mastoid, 0.42, cortex=0.012, marrow=0.3, texture=0.3)
        wing = path([(0.14, -0.03), (0.25, -0.1), (0.36, -0.15), (0.43, -0.19)])
        film.bone(tube(wing, [0.012, 0.010, 0.005]), 0.16, cortex=0.006, marrow=0.1)
        # The innominate line, where the side wall of the temporal fossa is seen edge on.
        film.line(path([(0.40, -0.19), (0.36, -0.04), (0.345, 0.12)]), 0.007, 0.3)
    film.bone(
        smooth([(-0.16, -0.06), (0.16, -0.06), (0.14, 0.2), (0, 0.27), (-0.14, 0.2)]), 0.45, cortex=0.01
    )


def _face(film: Film) -> None:
    rng = film.rng
    film.bone(
        smooth(
            [(-0.36, -0.1), (0, -0.17), (0.36, -0.1), (0.43, 0.12), (0.36, 0.33), (0.22, 0.46)],
            [(0, 0.5), (-0.22, 0.46), (-0.36, 0.33), (-0.43, 0.12)],
        ),
        0.38,
        cortex=0.02,
        marrow=0.5,
        rounding=0.2,
    )
    orbit_width, orbit_height = float(rng.uniform(0.135, 0.155)), float(rng.uniform(0.125, 0.145))
    for _ in film.sides():
        orbit = smooth(
            [(0.225 - orbit_width, 0.0), (0.16, -orbit_height), (0.28, -orbit_height * 0.98)],
            [(0.225 + orbit_width, -0.04), (0.36, 0.07), (0.27, orbit_height)],
            [(0.15, orbit_height * 0.9)],
        ) + np.array([0.0, 0.02])
        film.hollow(orbit, 0.52, 0.03)
        rim = np.vstack([orbit, orbit[:1]])
        film.line(rim, 0.009, 0.15)
        film.line(rim[: len(rim) // 2], 0.010, 0.16)
        antrum = smooth([(0.12, 0.22), (0.25, 0.2), (0.36, 0.25), (0.31, 0.36), (0.19, 0.42), (0.13, 0.36)])
        film.hollow(antrum, 0.45, 0.03)
        film.air(antrum, 0.2, 0.05)
        film.line(np.vstack([antrum, antrum[:1]]), 0.006, 0.12)
        cheek = path([(0.34, 0.16), (0.44, 0.17), (0.53, 0.13), (0.585, 0.08)])
        film.bone(tube(cheek, [0.05, 0.04, 0.025, 0.02]), 0.42, cortex=0.012, marrow=0.5)
        brow = path([(0.37, -0.03), (0.41, 0.06), (0.40, 0.17)])
        film.bone(tube(brow, [0.025, 0.03, 0.05]), 0.35, cortex=0.01, marrow=0.45)
    frontal = blob(rng, 0.0, -0.165, float(rng.uniform(0.10, 0.20)), float(rng.uniform(0.05, 0.075)), 0.2)
    film.hollow(frontal, 0.38, 0.03)
    film.line(np.vstack([frontal, frontal[:1]]), 0.005, 0.16)
    nose = smooth(
        [(0, 0.05), (0.055, 0.14), (0.10, 0.29), (0.07, 0.37), (0, 0.385), (-0.07, 0.37)],
        [(-0.10, 0.29), (-0.055, 0.14)],
    )
    film.hollow(nose, 0.55, 0.03)
    film.air(nose, 0.25, 0.04)
    film.line(path([(0.0, 0.03), (rng.normal(0, 0.012), 0.2), (0.0, 0.38)]), 0.008, 0.4)
    for _ in film.sides():
        film.line(
            path([(0.075, 0.2), (0.045, 0.24), (0.06, 0.30), (0.08, 0.33)]),
            0.012,
            0.22,
        )
    film.hollow(ellipse(0.0, 0.06, 0.05, 0.05), 0.25, 0.03)


def _teeth(film: Film) -> None:
    rng = film.rng
    open_by = float(rng.uniform(0.0, 0.05))
    film.bone(
        smooth([(-0.22, 0.40), (0, 0.38), (0.22, 0.40), (0.19, 0.52), (0, 0.535), (-0.19, 0.52)]),
        0.4,
        cortex=0.01,
    )
    jaw = smooth(
        [(0.50, 0.20), (0.535, 0.22), (0.52, 0.45), (0.45, 0.66), (0.28, 0.83)],
        [(0.1, 0.885), (-0.1, 0.885), (-0.28, 0.83), (-0.45, 0.66), (-0.52, 0.45)],
        [(-0.535, 0.22), (-0.50, 0.20), (-0.44, 0.3), (-0.41, 0.5), (-0.30, 0.61)],
        [(-0.18, 0.645), (0, 0.655), (0.18, 0.645), (0.30, 0.61), (0.41, 0.5), (0.44, 0.3)],
    ) + np.array([0, open_by])
    film.bone(jaw, 0.68, cortex=0.022, marrow=0.5, rounding=0.1, texture=0.14)
    for upper in (True, False):
        for number in range(14):
            if rng.random() < 0.05:
                continue
            place = (number - 6.5) / 6.5
            x = 0.225 * np.sign(place) * abs(place) ** 0.93
            edge = 0.578 - 0.035 * place**2 + (0 if upper else open_by)
            half = 0.0135 if abs(place) < 0.5 else 0.017
            length = (0.10 - 0.02 * abs(place)) * (-1 if upper else 1)
            axis = np.array(
                [
                    (x, edge + 0.006 * np.sign(length)),
                    (x * 0.97, edge + 0.5 * length),
                    (x * 0.94, edge + length),
                ]
            )
            film.bone(tube(path(axis, n=5), [half, half * 0.85, half * 0.4]), 0.36, cortex=0.008, marrow=0.2)
    for number in range(4):
        y = 0.5 + 0.155 * number
        body = smooth(
            [(-0.12, y), (0, y + 0.012), (0.12, y), (0.115, y + 0.06), (0.12, y + 0.125)],
            [(0, y + 0.115), (-0.12, y + 0.125), (-0.115, y + 0.06)],
        )
        film.bone(body, 0.17, cortex=0.012, marrow=0.5, rounding=0.05)


def _sutures(film: Film) -> None:
    """Zigzag dark lines of the sagittal and lambdoid sutures, and vessels' grooves."""
    rng = film.rng
    peak = float(rng.uniform(-0.52, -0.42))
    film.line(_zigzag(rng, path([(0, -0.87), (0.01, -0.7), (0, peak)], n=16), 0.011), 0.006, -0.13)
    for side in _SIDES:
        legs = path([(0, peak), (0.2 * side, peak + 0.13), (0.42 * side, -0.14), (0.56 * side, 0.02)], n=20)
        film.line(_zigzag(rng, legs, 0.012), 0.006, -0.14)
        groove = path([(0.50 * side, -0.1), (0.42 * side, -0.3), (0.33 * side, -0.5 + rng.normal(0, 0.05))])
        film.line(groove, 0.007, -0.05)


def _zigzag(rng: np.random.Generator, points: Points, swing: float) -> Points:
    heading = np.gradient(points, axis=0)
    heading /= np.hypot(heading[:, 0], heading[:, 1])[:, None]
    aside = np.column_stack([-heading[:, 1], heading[:, 0]])
    sign = np.where(np.arange(len(points)) % 2, 1.0, -1.0) * rng.uniform(0.3, 1.0, len(points))
    return points + aside * (sign * swing)[:, None]
