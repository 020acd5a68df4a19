"""Radiographs of the lumbar spine, the pelvis, the skull, the hand and the knee."""

from __future__ import annotations

import numpy as np

from semblance.core.demo.drawing import Points, blob, ellipse, path, smooth, tube
from semblance.core.demo.radiograph import Film, Grey, develop, random_position

SPINE_SHAPE = (336, 240)

PELVIS_SHAPE = (272, 332)
_SIDES = (1.0, -1.0)

SKULL_SHAPE = (328, 264)

HAND_SHAPE = (336, 264)

#: Base of the metacarpal, direction in degrees from straight up, and lengths of the bones of each ray.
_RAYS = (
    ((-0.235, 0.375), -46.0, (0.29, 0.20, 0.145)),
    ((-0.150, 0.275), -13.0, (0.405, 0.25, 0.15, 0.105)),
    ((-0.045, 0.262), -3.5, (0.395, 0.275, 0.18, 0.11)),
    ((0.055, 0.285), 6.0, (0.355, 0.255, 0.17, 0.112)),
    ((0.140, 0.330), 16.0, (0.325, 0.205, 0.12, 0.10)),
)
_CARPALS = (
    (-0.205, 0.415, 0.052, 0.050),
    (-0.130, 0.372, 0.042, 0.048),
    (-0.035, 0.380, 0.055, 0.078),
    (0.062, 0.385, 0.060, 0.066),
    (-0.135, 0.478, 0.066, 0.050),
    (-0.030, 0.500, 0.056, 0.048),
    (0.062, 0.490, 0.050, 0.044),
    (0.105, 0.462, 0.032, 0.034),
)

KNEE_SHAPE = (336, 240)


def spine_radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(336, 240) grey, the back to the right; ``left`` only chooses the marker."""
    film = Film(rng, SPINE_SHAPE, random_position(rng, SPINE_SHAPE, zoom=0.97, turn=0.05, shift=0.02))
    bend = float(rng.uniform(0.7, 1.35))
    discs = float(rng.uniform(0.75, 1.2))
    _spine_soft(film)
    _spine_sacrum(film, _column(film, bend, discs))
    return develop(film, bone_weight=float(rng.uniform(1.1, 1.5)), marker="L" if left else "R", shutters=0.7)


def _spine_soft(film: Film) -> None:
    rng = film.rng
    back = float(rng.uniform(0.58, 0.70))
    body = smooth(
        [(-1.6, -1.5), (back, -1.5), (back * 0.97, -0.8), (back * 0.86, -0.2)],
        [(back * 0.9, 0.25), (back * 1.14, 0.62), (back * 1.2, 0.9), (back * 1.1, 1.5)],
        [(-1.6, 1.5)],
    )
    film.soft(body, 0.95, 0.6)
    lung = smooth(
        [(0.42, -1.6), (0.44, -0.82), (0.2, -0.66), (-0.1, -0.72), (-0.5, -0.9), (-1.2, -1.0), (-1.2, -1.6)]
    )
    film.air(lung, float(rng.uniform(0.25, 0.45)), 0.14)
    for _ in range(int(rng.integers(3, 8))):
        gas = blob(
            rng,
            rng.uniform(-0.75, -0.35),
            rng.uniform(-0.5, 0.8),
            rng.uniform(0.05, 0.13),
            rng.uniform(0.04, 0.1),
            0.2,
        )
        film.air(gas, float(rng.uniform(0.12, 0.34)), 0.06)
    film.soft(tube(path([(-0.05, -1.4), (0.0, 0.0), (0.1, 1.0)]), [0.3, 0.36, 0.36]), 0.13, 0.36)
    for number in range(3):
        y = -1.02 + 0.2 * number
        rib = path([(0.22, y), (0.34, y + 0.12), (0.22, y + 0.38), (-0.12, y + 0.62 - 0.1 * number)])
        film.bone(tube(rib, [0.026, 0.026, 0.024, 0.02]), 0.22, cortex=0.008, marrow=0.6)


def _column(film: Film, bend: float, discs: float) -> tuple[Points, float]:
    """Vertebrae from the twelfth thoracic down; gives the end and the heading below the last."""
    rng = film.rng
    at, heading = np.array([0.07, -1.16]), np.pi / 2 - 0.20 * bend
    for number in range(8):
        height = 0.165 + 0.010 * number
        half = 0.135 + 0.0085 * number
        down = np.array([np.cos(heading), np.sin(heading)])
        behind = np.array([down[1], -down[0]])
        frame = np.array([behind, down])
        _vertebra(film, at, frame, half, height, float(rng.normal(1.0, 0.03)))
        heading += bend * (0.015 + 0.035 * number) * (1 if number > 2 else 1.4) - (
            0.17 * bend if number > 4 else 0
        )
        heading += float(rng.normal(0, 0.012))
        gap = (
            (0.035 + 0.005 * number) * discs * (float(rng.uniform(0.35, 0.6)) if rng.random() < 0.12 else 1.0)
        )
        at = at + down * (height + gap)
    return at, heading


def _vertebra(film: Film, at: Points, frame: Points, half: float, height: float, wedge: float) -> None:
    def here(*rows: list[tuple[float, float]]) -> Points:
        return np.asarray(np.vstack(rows) @ frame + at)

    body = smooth(
        here(
            [(-half, 0.004), (-half * 0.5, 0.012), (0, 0.018), (half * 0.5, 0.014)],
            [(half, 0.006), (half * 0.93, height / 2), (half, height - 0.004)],
            [(half * 0.5, height - 0.014), (0, height - 0.018), (-half * 0.5, height - 0.014)],
            [(-half * 1.02, (height - 0.004) * wedge), (-half * 0.90, height / 2)],
        ),
        n=6,
    )
    film.bone(body, 0.62, cortex=0.020, marrow=0.44, rounding=0.06, texture=0.14)
    for edge in (0.012, height - 0.012):
        film.line(
            path(
                here(
                    [
                        (-half * 0.92, edge),
                        (0, edge + np.sign(height / 2 - edge) * 0.008),
                        (half * 0.92, edge),
                    ]
                )
            ),
            0.008,
            0.12,
        )
    pedicle = tube(path(here([(half * 0.9, height * 0.3), (half + 0.09, height * 0.34)])), [0.040, 0.034])
    film.bone(pedicle, 0.40, cortex=0.013, marrow=0.4)
    facet = tube(
        path(
            here([(half + 0.10, height * 0.08), (half + 0.115, height * 0.5), (half + 0.135, height * 1.1)])
        ),
        [0.03, 0.045, 0.028],
    )
    film.bone(facet, 0.34, cortex=0.012, marrow=0.4)
    spinous = smooth(
        here(
            [(half + 0.12, height * 0.45), (half + 0.20, height * 0.52)],
            [(half + 0.33, height * 0.62), (half + 0.345, height * 1.0)],
            [(half + 0.30, height * 1.10), (half + 0.20, height * 0.95)],
            [(half + 0.13, height * 0.8)],
        )
    )
    film.bone(spinous, 0.22, cortex=0.014, marrow=0.5, rounding=0.05)


def _spine_sacrum(film: Film, end: tuple[Points, float]) -> None:
    at, heading = end
    down = np.array([np.cos(heading), np.sin(heading)])
    frame = np.array([np.array([down[1], -down[0]]), down])
    bone = smooth(
        [(-0.20, 0.0), (0.0, 0.012), (0.19, 0.0), (0.27, 0.16), (0.35, 0.40), (0.42, 0.7)],
        [(0.34, 0.72), (0.2, 0.44), (0.02, 0.24), (-0.12, 0.12)],
    )
    film.bone(bone @ frame + at, 0.46, cortex=0.018, marrow=0.46, rounding=0.12, texture=0.16)
    for row in range(1, 4):
        front, middle, back = -0.14 + 0.09 * row, 0.03 + 0.075 * row, 0.21 + 0.055 * row
        edge = path([(front, 0.17 * row), (middle, 0.15 * row + 0.02), (back, 0.14 * row)])
        film.line(edge @ frame + at, 0.007, 0.12)
    wing = smooth(
        [(-0.5, -0.16), (-0.15, -0.2), (0.28, -0.12), (0.4, 0.2), (0.1, 0.5), (-0.3, 0.55), (-0.5, 0.2)]
    )
    film.bone(wing @ frame + at, 0.24, cortex=0.014, marrow=0.4, rounding=0.15)
    film.line(path([(-0.5, -0.16), (-0.15, -0.21), (0.28, -0.13)]) @ frame + at, 0.009, 0.14)


def pelvis_radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(272, 332) grey; ``left`` only chooses the marker."""
    film = Film(rng, PELVIS_SHAPE, random_position(rng, PELVIS_SHAPE, zoom=0.98, turn=0.03, shift=0.02))
    _pelvis_soft(film)
    for _ in film.sides():
        _pelvis_femur(film)
        _hip_bone(film)
    _pelvis_sacrum(film)
    return develop(
        film, bone_weight=float(rng.uniform(1.15, 1.5)), marker="L" if left else "R", shutters=0.45
    )


def _pelvis_soft(film: Film) -> None:
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
    film.hollow(smooth([(0.36, -0.5), (0.55, -0.68), (0.78, -0.62), (0.82, -0.45), (0.6, -0.26)]), 0.34, 0.16)
    crest = path([(0.25, -0.58), (0.40, -0.735), (0.64, -0.79), (0.84, -0.69), (0.93, -0.50)])
    film.bone(tube(crest, [0.02, 0.028, 0.03, 0.03, 0.03]), 0.24, cortex=0.012, marrow=0.4)
    roof = path([(0.80, -0.075), (0.74, -0.085), (0.66, -0.08), (0.575, -0.01), (0.545, 0.1)])
    film.line(roof, 0.013, 0.26)
    brim = path(
        [(0.22, -0.2), (0.30, -0.155), (0.39, -0.05), (0.44, 0.05), (0.40, 0.19), (0.22, 0.28), (0.06, 0.315)]
    )
    film.line(brim, 0.010, 0.2)
    upper = path([(0.53, 0.15), (0.46, 0.145), (0.36, 0.21), (0.20, 0.29), (0.085, 0.335)])
    film.bone(tube(upper, [0.07, 0.08, 0.055, 0.05, 0.07]), 0.44, cortex=0.018, marrow=0.5, texture=0.12)
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


def _pelvis_femur(film: Film) -> None:
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
        smooth([(0.90, 0.10), (0.99, 0.12), (1.03, 0.22), (1.02, 0.34), (0.94, 0.30)]), 0.2, marrow=0.35
    )
    film.bone(ellipse(0.795, 0.45, 0.045, 0.06, 0.3), 0.16, marrow=0.4)
    # Trabeculae along the lines of load, from the head through the neck into the shaft.
    for shift in np.linspace(-0.05, 0.05, 6):
        load = path([(0.64 + shift, -0.02), (0.70 + shift, 0.12), (0.79 + shift * 0.6, 0.30), (0.81, 0.42)])
        film.line(load, 0.005, 0.06)
        arch = path([(0.60, 0.14 + shift), (0.72, 0.06 + shift), (0.88, 0.14 + shift), (0.98, 0.34 + shift)])
        film.line(arch, 0.005, 0.045)


def _pelvis_sacrum(film: Film) -> None:
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


def skull_radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(328, 264) grey; ``left`` only chooses the marker."""
    film = Film(rng, SKULL_SHAPE, random_position(rng, SKULL_SHAPE, zoom=0.94, turn=0.05, shift=0.02))
    tilt = float(rng.uniform(-0.05, 0.06))
    _skull_soft(film)
    _vault(film)
    _base(film, tilt)
    _face(film)
    _teeth(film)
    _sutures(film)
    return develop(film, bone_weight=float(rng.uniform(0.95, 1.2)), marker="L" if left else "R", shutters=0.5)


def _skull_soft(film: Film) -> None:
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
        film.line(path([(0.075, 0.2), (0.045, 0.24), (0.06, 0.30), (0.08, 0.33)]), 0.012, 0.22)
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


def _phalanx(start: Points, end: Points, base: float, waist: float, head: float) -> Points:
    """A long bone: flared base, narrow waist, rounded head."""
    length = float(np.hypot(*(end - start)))
    ends = 0.5 * np.array([base * 0.8, head * 0.8]) / length
    axis = start + (end - start) * np.linspace(ends[0], 1 - ends[1], 24)[:, None]
    widths = np.interp(
        np.linspace(0, 1, 24),
        [0, 0.06, 0.16, 0.35, 0.6, 0.8, 0.93, 1.0],
        [base * 0.86, base, base * 0.93, waist * 1.08, waist, waist * 1.15, head, head * 0.8],
    )
    return tube(axis, widths)


def hand_radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(336, 264) grey; the hand of ``left`` lies as the viewer sees it, thumb to the right."""
    where = random_position(rng, HAND_SHAPE, zoom=0.93, turn=0.1, shift=0.025, mirror=left)
    film = Film(rng, HAND_SHAPE, where)
    spread = float(rng.uniform(0.7, 1.35))
    stout = float(rng.uniform(0.9, 1.15))
    flesh: list[Points] = []
    bones: list[Points] = []
    tips: list[Points] = []
    for ray, (base, degrees, lengths) in enumerate(_RAYS):
        angle = np.deg2rad(degrees * spread + rng.normal(0, 1.5))
        at = np.array(base)
        joints = [at]
        for number, length in enumerate(lengths):
            if number:
                angle += np.deg2rad(rng.normal(0, 2.5)) * (1.6 if ray == 0 else 1.0)
            toward = np.array([np.sin(angle), -np.cos(angle)])
            real = length * float(rng.uniform(0.96, 1.04))
            size = stout * (1.16 if ray == 0 else 0.88 if ray == 4 else 1.0) * (1, 0.86, 0.74, 0.62)[number]
            last = number == len(lengths) - 1
            head = 0.026 if last else 0.044
            waist = 0.020 if last else 0.028
            bones.append(_phalanx(at, at + toward * real, 0.047 * size, waist * size, head * size))
            if last:
                x, y = at + toward * real
                tips.append(ellipse(float(x), float(y), 0.030 * size, 0.020 * size, float(angle)))
            at = at + toward * (real + 0.012)
            joints.append(at)
            if ray == 0 and number == 0:
                knuckle = at
        width = stout * (0.088 if ray == 0 else 0.075)
        flesh.append(tube(path(np.array(joints[1:])), [width * 1.12, width, width * 0.97, width * 0.8]))
        flesh.append(tube(path(np.array(joints[:2])), [width * 1.1, width * 1.15]))
    palm = [(-0.3, 0.42), (-0.31, 0.2), (-0.26, -0.08), (-0.1, -0.18), (0.1, -0.15), (0.25, -0.04)]
    palm += [(0.29, 0.2), (0.26, 0.5), (0.22, 0.8), (0.23, 1.3), (-0.24, 1.3), (-0.22, 0.8), (-0.26, 0.55)]
    flesh.append(smooth(palm))
    film.soft(flesh, 0.42, 0.13)
    film.soft([smooth(palm)], 0.18, 0.25)
    for bone in bones:
        film.bone(bone, 0.72, cortex=0.013 * stout, marrow=0.58, texture=0.16)
    for tip in tips:
        film.bone(tip, 0.3, cortex=0.01, marrow=0.3)
    for x, y, rx, ry in _CARPALS:
        outline = blob(rng, x, y, rx * 1.08, ry * 1.08, 0.07)
        film.bone(outline, 0.55, cortex=0.008, marrow=0.4, rounding=0.035, texture=0.16)
    _forearm(film, stout)
    for dx, dy in ((0.035, 0.0), (-0.015, 0.03)):
        film.bone(ellipse(knuckle[0] + dx, knuckle[1] + dy, 0.017, 0.021, 0.6), 0.3, marrow=0.1)
    return develop(film, bone_weight=1.15, marker="L" if left else "R", shutters=0.7)


def _forearm(film: Film, stout: float) -> None:
    radius = smooth(
        [(-0.20, 0.575), (-0.13, 0.565), (-0.055, 0.585), (0.035, 0.575), (0.045, 0.64)],
        [(0.0, 0.75), (-0.02, 0.95), (-0.02, 1.3), (-0.14, 1.3), (-0.145, 0.95)],
        [(-0.17, 0.78), (-0.205, 0.66), (-0.225, 0.6)],
    )
    ulna = smooth(
        [(0.09, 0.60), (0.15, 0.585), (0.175, 0.56), (0.185, 0.64), (0.16, 0.75)],
        [(0.155, 1.0), (0.15, 1.3), (0.06, 1.3), (0.065, 1.0), (0.07, 0.75), (0.065, 0.66)],
    )
    film.bone(radius, 0.72, cortex=0.016 * stout, marrow=0.52, rounding=0.08, texture=0.15)
    film.bone(ulna, 0.62, cortex=0.015 * stout, marrow=0.52, rounding=0.055, texture=0.15)


def knee_radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(336, 240) grey; the fibula lies on the outer side: right in the image of a left knee."""
    film = Film(
        rng, KNEE_SHAPE, random_position(rng, KNEE_SHAPE, zoom=0.97, turn=0.05, shift=0.02, mirror=not left)
    )
    stout = float(rng.uniform(0.94, 1.08))
    gap = float(rng.uniform(0.032, 0.058))
    _knee_soft(film, stout)
    _knee_femur(film, stout, gap)
    _tibia(film, stout)
    return develop(
        film, bone_weight=float(rng.uniform(0.95, 1.2)), marker="L" if left else "R", shutters=0.65
    )


def _knee_soft(film: Film, stout: float) -> None:
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


def _knee_femur(film: Film, stout: float, gap: float) -> None:
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
