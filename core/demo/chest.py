"""The chest, postero-anterior or antero-posterior."""

from __future__ import annotations

import numpy as np

from semblance.core.demo.drawing import Points, blob, ellipse, path, random_curve, smooth, tube
from semblance.core.demo.radiograph import Film, Grey, develop, random_position

SHAPE = (304, 320)


def radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(304, 320) grey; ``left`` only chooses the marker. The patient's right is on the viewer's left."""
    where = random_position(rng, SHAPE, zoom=float(rng.uniform(0.9, 1.05)), turn=0.03, shift=0.025)
    film = Film(rng, SHAPE, where)
    breath = float(rng.uniform(-0.14, 0.07))
    heart = float(rng.uniform(0.85, 1.4))
    stout = float(rng.uniform(0.92, 1.12))
    _body(film, stout)
    lungs = _lungs(breath)
    film.air(lungs, float(rng.uniform(0.66, 0.80)), 0.13)
    _mediastinum(film, heart, breath)
    _below(film, breath)
    _spine(film)
    _ribs(film, breath)
    _girdle(film)
    _vessels(film)
    return develop(
        film, bone_weight=float(rng.uniform(0.75, 1.1)), marker="L" if left else "R", shutters=0.35
    )


def _body(film: Film, stout: float) -> None:
    rng = film.rng
    torso = smooth(
        [(0.0, -1.4), (0.21, -1.1), (0.24, -0.92), (0.42, -0.82), (0.75, -0.74)],
        [(1.0 * stout, -0.52), (0.93 * stout, -0.1), (0.88 * stout, 0.3)],
        [(0.9 * stout, 0.8), (0.92 * stout, 1.5), (-0.92 * stout, 1.5), (-0.9 * stout, 0.8)],
        [(-0.88 * stout, 0.3), (-0.93 * stout, -0.1), (-1.0 * stout, -0.52), (-0.75, -0.74)],
        [(-0.42, -0.82), (-0.24, -0.92), (-0.21, -1.1)],
    )
    film.soft(torso, 1.25, 0.62)
    drop = float(rng.uniform(0.05, 0.35))
    for side in (1.0, -1.0):
        axis = path([(0.93 * side, -0.60), ((1.08 + drop * 0.5) * side, -0.1), ((1.15 + drop) * side, 0.6)])
        film.soft(tube(axis, [0.2, 0.17, 0.16]), 0.6, 0.16)
    if rng.random() < 0.42:
        size = float(rng.uniform(0.28, 0.4))
        for side in (1.0, -1.0):
            film.soft(ellipse(0.47 * side, 0.36, size, size * 0.85), 0.30, 0.22)


def _lungs(breath: float) -> list[Points]:
    right = smooth(
        [(-0.20, -0.74), (-0.40, -0.70), (-0.57, -0.50), (-0.68, -0.18), (-0.745, 0.16)],
        [(-0.765, 0.42 + breath), (-0.745, 0.56 + breath), (-0.66, 0.43 + breath)],
        [(-0.46, 0.31 + breath), (-0.25, 0.33 + breath), (-0.01, 0.40 + breath)],
        [(0.01, 0.2), (0.01, -0.2), (-0.04, -0.5)],
    )
    left = smooth(
        [(0.20, -0.74), (0.40, -0.70), (0.57, -0.50), (0.68, -0.18), (0.745, 0.18)],
        [(0.765, 0.46 + breath), (0.745, 0.61 + breath), (0.66, 0.48 + breath)],
        [(0.47, 0.37 + breath), (0.28, 0.38 + breath), (0.01, 0.43 + breath), (-0.01, 0.2)],
        [(-0.01, -0.2), (0.04, -0.5)],
    )
    return [right, left]


def _mediastinum(film: Film, heart: float, breath: float) -> None:
    low = 0.40 + breath
    film.soft(
        smooth(
            [(-0.13, -0.05), (0.02, -0.16), (0.15, -0.08), (0.24, 0.03), (0.36 * heart, 0.2)],
            [(0.42 * heart, low - 0.06), (0.33 * heart, low + 0.05), (0.05, low + 0.12)],
            [(-0.16 * heart, low + 0.03), (-0.20 * heart, 0.2)],
        ),
        1.1,
        0.24,
    )
    film.soft(
        tube(
            path([(0.0, -1.3), (0.0, -0.6), (0.01, -0.2), (0.0, 0.5), (0.0, 1.6)]),
            [0.12, 0.10, 0.15, 0.16, 0.14],
        ),
        0.34,
        0.15,
    )
    film.soft(
        smooth([(-0.02, -0.42), (0.09, -0.44), (0.155, -0.36), (0.13, -0.27), (0.02, -0.26)]), 0.34, 0.06
    )
    film.soft(tube(path([(0.10, -0.34), (0.12, 0.0), (0.09, 0.45)]), [0.05, 0.045, 0.04]), 0.14, 0.04)
    film.soft(tube(path([(-0.1, -0.6), (-0.115, -0.3), (-0.11, 0.0)]), [0.045, 0.05, 0.05]), 0.22, 0.05)
    film.air(tube(path([(0.0, -1.3), (0.0, -0.7), (-0.015, -0.27)]), [0.045, 0.04, 0.04]), 0.34, 0.03)
    film.air(tube(path([(-0.015, -0.28), (-0.1, -0.16)]), [0.032, 0.028]), 0.22, 0.02)
    film.air(tube(path([(-0.015, -0.28), (0.11, -0.14)]), [0.03, 0.026]), 0.22, 0.02)


def _below(film: Film, breath: float) -> None:
    rng = film.rng
    low = 0.36 + breath
    film.soft(
        smooth(
            [(-0.9, 0.62), (-0.6, low), (-0.3, low - 0.03), (0.0, low + 0.12)],
            [(0.3, low + 0.06), (0.6, low + 0.1), (0.9, 0.7), (0.95, 1.6), (-0.95, 1.6)],
        ),
        0.8,
        0.14,
    )
    if rng.random() < 0.75:
        film.air(blob(rng, 0.42, low + 0.19, rng.uniform(0.08, 0.16), 0.055, 0.1), 0.5, 0.05)
    for _ in range(int(rng.integers(0, 3))):
        film.air(blob(rng, rng.uniform(0.2, 0.65), low + rng.uniform(0.35, 0.5), 0.08, 0.05), 0.3, 0.06)


def _spine(film: Film) -> None:
    top, height = -1.02, 0.098
    for number in range(18):
        y = top + number * (height + 0.0018 * number)
        half = 0.075 + 0.0018 * number
        body = smooth(
            [(-half, y + 0.008), (0, y + 0.014), (half, y + 0.008), (half * 0.92, y + 0.045)],
            [(half, y + 0.083), (0, y + 0.078), (-half, y + 0.083), (-half * 0.92, y + 0.045)],
            n=5,
        )
        film.bone(body, 0.2, cortex=0.010, marrow=0.5, rounding=0.035)
        marks = np.array(
            [[0.0, y + 0.06], [0.0, y + 0.08], [half * 0.62, y + 0.03], [-half * 0.62, y + 0.03]]
        )
        film.lines.dots(film.where(marks), 0.014 * film.where.scale, 0.08)


def _ribs(film: Film, breath: float) -> None:
    rng = film.rng
    tilt = float(rng.uniform(0.9, 1.12))
    for number in range(11):
        share = number / 9
        reach = 0.80 - 0.47 * max(0.0, 1 - share * 1.75) ** 1.6 - 0.05 * max(0.0, share - 0.85)
        top = -0.79 + (1.14 + 0.7 * breath) * share**0.95
        fall = (0.22 + 0.44 * min(share, 0.8)) * tilt
        for side in (1.0, -1.0):
            lift = float(rng.normal(0, 0.006))
            back = np.deg2rad(np.linspace(9, 100, 26))
            front = np.deg2rad(np.linspace(93, 148 - 12 * share, 20))
            width = 0.026 + 0.004 * share
            behind = tube(_ring(back, reach, top + lift, fall, side), [width * 0.9, width, width * 0.95])
            film.bone(behind, 0.36 if number else 0.2, cortex=0.009, marrow=0.62, texture=0.05)
            if number < 9:
                before = tube(_ring(front, reach, top + lift, fall, side), [width, width * 1.05, width * 1.2])
                film.bone(before, 0.21 if number else 0.12, cortex=0.008, marrow=0.62, texture=0.05)


def _ring(angle: np.ndarray, reach: float, top: float, fall: float, side: float) -> Points:
    """A rib seen from the front: a tilted ring, from its head at the spine (angle 0) forward."""
    x = side * (0.05 + (reach - 0.05) * np.sin(angle) ** 0.9)
    y = top + fall * (1 - np.cos(angle)) / 2 - 0.10 * np.sin(angle) * np.cos(angle)
    return np.column_stack([x, y])


def _girdle(film: Film) -> None:
    """Clavicles, shoulder blades and the heads of the humeri."""
    rng = film.rng
    rise = float(rng.normal(0.0, 0.03))
    swing = float(rng.uniform(0.0, 0.1))
    for _ in film.sides():
        clavicle = np.array(
            [(0.055, -0.58), (0.2, -0.615 + rise / 2), (0.45, -0.70 + rise), (0.66, -0.77 + rise)]
        )
        blade = smooth(
            [(0.60, -0.73), (0.80, -0.66), (0.83, -0.50), (0.78 + swing, -0.25)],
            [(0.69 + swing, 0.02), (0.63 + swing, -0.02), (0.56 + swing, -0.35)],
        )
        head = ellipse(0.925, -0.60, 0.105, 0.115)
        arm = path([(0.96, -0.56), (1.06, -0.2), (1.2, 0.4)])
        socket = path([(0.815, -0.70), (0.79, -0.58), (0.80, -0.45)])
        spine_of_blade = path([(0.58, -0.60), (0.72, -0.70), (0.86, -0.75)])
        for outline, thickness, cortex in (
            (tube(path(clavicle), [0.042, 0.030, 0.026, 0.034]), 0.34, 0.010),
            (blade, 0.12, 0.012),
            (tube(socket, [0.02, 0.03, 0.02]), 0.2, 0.01),
            (tube(spine_of_blade, [0.014, 0.02, 0.03]), 0.18, 0.008),
            (head, 0.45, 0.012),
            (tube(arm, [0.085, 0.065, 0.06]), 0.5, 0.02),
        ):
            film.bone(outline, thickness, cortex=cortex, marrow=0.55, rounding=0.05)


def _vessels(film: Film) -> None:
    """Pulmonary arteries and veins branching out of the hila, finer towards the pleura."""
    rng = film.rng
    for side in (1.0, -1.0):
        hilum = np.array([0.17 * side, -0.07 if side < 0 else -0.11])
        film.soft(blob(rng, hilum[0], hilum[1], 0.055, 0.10, 0.2), 0.17, 0.06)
        for _ in range(13):
            angle = rng.uniform(-1.25, 1.35)
            heading = angle if side > 0 else np.pi - angle
            length = rng.uniform(0.25, 0.55) * (1.0 if abs(angle) < 0.9 else 1.1)
            _branch(film, hilum + rng.normal(0, 0.025, 2), float(heading), float(length), 0.015, 0.21, 2)


def _branch(
    film: Film, start: np.ndarray, angle: float, length: float, width: float, glow: float, left: int
) -> None:
    rng = film.rng
    points = random_curve(rng, start, angle, length, 0.45, 10)
    points = points[(np.abs(points[:, 0]) < 0.70) & (points[:, 1] < 0.42) & (points[:, 1] > -0.68)]
    if len(points) < 4:
        return
    rest = 1 - np.linspace(0, 1, len(points)) * 0.75
    film.lines.add(film.where(points), width * film.where.scale * rest, glow * rest)
    if left:
        for _ in range(int(rng.integers(1, 3))):
            knot = int(rng.integers(1, len(points) - 1))
            side = float(rng.choice([-1, 1]) * rng.uniform(0.35, 0.8))
            _branch(film, points[knot], angle + side, length * 0.55, width * 0.62, glow * 0.75, left - 1)
