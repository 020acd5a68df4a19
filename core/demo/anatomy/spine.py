"""The lumbar spine, lateral."""

from __future__ import annotations

import numpy as np

from semblance.core.demo.development import Grey, develop
from semblance.core.demo.film import Film, pose
from semblance.core.demo.outlines import blob, path, smooth, tube
from semblance.core.demo.strokes import Points

SHAPE = (336, 240)


def radiograph(rng: np.random.Generator, left: bool) -> Grey:
    """(336, 240) grey, the back to the right; ``left`` only chooses the marker."""
    film = Film(rng, SHAPE, pose(rng, SHAPE, zoom=0.97, turn=0.05, shift=0.02))
    bend = float(rng.uniform(0.7, 1.35))
    discs = float(rng.uniform(0.75, 1.2))
    _soft(film)
    _sacrum(film, _column(film, bend, discs))
    return develop(film, bone_weight=float(rng.uniform(1.1, 1.5)), marker="L" if left else "R", shutters=0.7)


def _soft(film: Film) -> None:
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


def _sacrum(film: Film, end: tuple[Points, float]) -> None:
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
