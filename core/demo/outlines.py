"""Closed outlines of bones and bodies, in anatomical units (x right, y down)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from semblance.core.demo.strokes import Points

Pairs = Sequence[tuple[float, float]]


def smooth(*rows: Pairs | Points, n: int = 12) -> Points:
    """(n * corners, 2) a closed Catmull-Rom curve through the corners of ``rows`` in turn."""
    at = np.vstack([np.asarray(row, dtype=float) for row in rows])
    before, after, beyond = np.roll(at, 1, 0), np.roll(at, -1, 0), np.roll(at, -2, 0)
    t = np.linspace(0, 1, n, endpoint=False)[None, :, None]
    a, b, c, d = (part[:, None, :] for part in (before, at, after, beyond))
    curve = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
    return np.asarray(curve.reshape(-1, 2))


def path(corners: Pairs | Points, *, n: int = 10) -> Points:
    """An open Catmull-Rom curve through ``corners``."""
    at = np.asarray(corners, dtype=float)
    ends = np.vstack([2 * at[0] - at[1], at, 2 * at[-1] - at[-2]])
    t = np.linspace(0, 1, n, endpoint=False)[None, :, None]
    a, b, c, d = (ends[k : len(ends) - 3 + k][:, None, :] for k in range(4))
    curve = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
    return np.vstack([curve.reshape(-1, 2), at[-1:]])


def tube(axis: Points, half_width: npt.ArrayLike) -> Points:
    """The outline about a curve: ``half_width`` a number, or knots spread evenly along it; round ends."""
    knots = np.atleast_1d(np.asarray(half_width, dtype=float))
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(axis, axis=0).T))])
    widths = np.interp(along / along[-1], np.linspace(0, 1, len(knots)), knots)
    heading = np.gradient(axis, axis=0)
    heading /= np.hypot(heading[:, 0], heading[:, 1])[:, None] + 1e-12
    normal = np.column_stack([-heading[:, 1], heading[:, 0]])
    one, other = axis + normal * widths[:, None], axis - normal * widths[:, None]
    turn = np.linspace(np.pi / 2, -np.pi / 2, 9)[1:-1]
    end = axis[-1] + widths[-1] * (
        np.cos(turn)[:, None] * heading[-1] * 0.6 + np.sin(turn)[:, None] * normal[-1]
    )
    start = axis[0] - widths[0] * (
        np.cos(turn)[:, None] * heading[0] * 0.6 + np.sin(turn)[:, None] * normal[0]
    )
    return np.vstack([one, end, other[::-1], start])


def ellipse(x: float, y: float, rx: float, ry: float, turn: float = 0.0, n: int = 40) -> Points:
    """An ellipse with half-axes ``rx`` and ``ry``, turned by ``turn`` radians."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    u, v = rx * np.cos(angle), ry * np.sin(angle)
    across = u * np.cos(turn) - v * np.sin(turn)
    return np.column_stack([x + across, y + u * np.sin(turn) + v * np.cos(turn)])


def mirrored(points: Points) -> Points:
    """``points`` (n, 2) with left and right exchanged."""
    return np.asarray(points * np.array([-1.0, 1.0]))


def blob(rng: np.random.Generator, x: float, y: float, rx: float, ry: float, swing: float = 0.12) -> Points:
    """A rounded irregular outline, like a carpal bone or a pocket of gas."""
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    radius = np.ones(40)
    for waves in range(2, 5):
        radius += swing * rng.normal(0, 1.2 / waves) * np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
    return np.column_stack([x + rx * radius * np.cos(angle), y + ry * radius * np.sin(angle)])
