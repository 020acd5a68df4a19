"""The hand, postero-anterior."""

from __future__ import annotations

import numpy as np

from semblance.core.demo.development import Grey, develop
from semblance.core.demo.film import Film, pose
from semblance.core.demo.outlines import blob, ellipse, path, smooth, tube
from semblance.core.demo.strokes import Points

SHAPE = (336, 264)

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


def radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(336, 264) grey; the hand of ``left`` lies as the viewer sees it, thumb to the right."""
    where = pose(rng, SHAPE, zoom=0.93, turn=0.1, shift=0.025, mirror=left)
    film = Film(rng, SHAPE, where)
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
