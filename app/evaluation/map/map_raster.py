"""Draws many marked points into an image with numpy: a hundred thousand in about a frame."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

#: Shapes of the findings in order; see :func:`shape_of`.
SHAPES = ("disc", "square", "triangle", "diamond", "plus", "cross", "wedge")
#: A point's width by how many there are, px at text scale 1.
_WIDTHS = ((2_000, 9), (10_000, 7), (40_000, 5))
_LEAST = 3
#: How much of its colour a faded point keeps, and the least a pixel must be covered to be drawn.
_FADED, _THIN = 0.28, 0.2


def shape_of(code: int) -> str:
    """The shape of a finding on the map; a disc for none. There are as many colours: the eighth finding has
    the first one's colour again, and therefore another shape."""
    return SHAPES[(code + code // len(SHAPES)) % len(SHAPES)] if code >= 0 else "disc"


def width_for(n: int, scale: float = 1.0) -> int:
    """The width of one point where ``n`` are drawn, an odd number of pixels."""
    wanted = next((width for most, width in _WIDTHS if n <= most), _LEAST)
    # Every pixel of every point costs: very many stay small on fine screens too.
    return max(_LEAST, round(wanted * (scale if n <= _WIDTHS[-1][0] else min(scale, 1.5)))) | 1


@lru_cache(maxsize=64)
def stamp(shape: str, width: int) -> npt.NDArray[np.float32]:
    """How much of each pixel (width, width) a shape covers, 0 to 1."""
    fine = 4
    at = (np.arange(width * fine) + 0.5) / fine - width / 2
    x, y = at[None, :], at[:, None]
    r = width / 2 - 0.25
    inside = {
        "disc": x**2 + y**2 <= r**2,
        "square": np.maximum(abs(x), abs(y)) <= r * 0.86,
        "triangle": (y <= r * 0.8) & (abs(x) <= (y + r) * 0.6),
        "wedge": (-y <= r * 0.8) & (abs(x) <= (r - y) * 0.6),
        "diamond": abs(x) + abs(y) <= r * 1.1,
        "plus": (np.minimum(abs(x), abs(y)) <= r * 0.34) & (np.maximum(abs(x), abs(y)) <= r),
        "cross": (np.minimum(abs(x + y), abs(x - y)) <= r * 0.45) & (np.maximum(abs(x), abs(y)) <= r * 0.9),
    }[shape]
    cells: npt.NDArray[np.float32] = inside.reshape(width, fine, width, fine).mean(
        axis=(1, 3), dtype=np.float32
    )
    return cells


def draw_points(
    size: tuple[int, int],
    x: npt.NDArray[np.float32],
    y: npt.NDArray[np.float32],
    kind: npt.NDArray[np.int16],
    colours: Bytes,
    shapes: tuple[str, ...],
    width: int,
    back: tuple[int, int, int],
    faded: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.uint32]:
    """(h, w) pixels 0xffRRGGBB of points at ``x``, ``y`` (n,) in pixels on the ground ``back`` (RGB).

    ``kind`` (n,) chooses among ``colours`` (c, 3, RGB) and ``shapes`` (c,); ``faded`` (n,) points are pale
    and lie below. ``size`` is (w, h). Where points overlap, later ones lie on top. Edges are smoothed
    against the ground, which sets points apart where they overlap.
    """
    w, h = size
    wide, high = w + 2 * width, h + 2 * width
    image = np.full(high * wide, _packed(np.array(back, dtype=np.float32)), dtype=np.uint32)
    left = np.rint(x - width / 2).astype(np.int64) + width
    top = np.rint(y - width / 2).astype(np.int64) + width
    places = np.flatnonzero((left >= 0) & (left <= wide - width) & (top >= 0) & (top <= high - width))
    which = kind[places].astype(np.int64)
    if faded is not None:
        order = np.argsort(~faded[places], kind="stable")
        places, which = places[order], which[order]
        which += len(shapes) * faded[places]
    corner = top[places] * wide + left[places]
    covers = np.stack([stamp(shape, width) for shape in shapes])
    ground = np.array(back, dtype=np.float32)
    mixed = colours.astype(np.float32)[:, None, None, :] * covers[..., None] + ground * (
        1 - covers[..., None]
    )
    pale = mixed * _FADED + ground * (1 - _FADED)
    table = np.concatenate([_packed(mixed), _packed(pale)])
    drawn = np.concatenate([covers, covers]) > _THIN
    for row in range(width):
        for column in range(width):
            there = drawn[:, row, column]
            if not there.any():
                continue
            shade, flat = table[:, row, column][which], corner + (row * wide + column)
            if there.all():
                image[flat] = shade
            else:
                touched = there[which]
                image[flat[touched]] = shade[touched]
    return np.ascontiguousarray(image.reshape(high, wide)[width : width + h, width : width + w])


def _packed(rgb: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    whole = np.rint(rgb).astype(np.uint32)
    packed: npt.NDArray[np.uint32] = (
        np.uint32(0xFF000000) | whole[..., 0] << np.uint32(16) | whole[..., 1] << np.uint32(8) | whole[..., 2]
    )
    return packed


def inside_outline(
    x: npt.NDArray[np.float32], y: npt.NDArray[np.float32], outline: npt.NDArray[np.float32]
) -> npt.NDArray[np.bool_]:
    """(n,) whether each point lies in the closed ``outline`` (c, 2), by the even-odd rule."""
    found = np.zeros(len(x), dtype=np.bool_)
    if len(outline) < 3:
        return found
    low, high = outline.min(axis=0), outline.max(axis=0)
    near = np.flatnonzero((x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1]))
    px, py = x[near], y[near]
    odd = np.zeros(len(near), dtype=np.bool_)
    ends = np.roll(outline, -1, axis=0)
    for (x0, y0), (x1, y1) in zip(outline.tolist(), ends.tolist(), strict=True):
        if y0 == y1:
            continue
        crosses = (py < y0) != (py < y1)
        odd ^= crosses & (px < (x1 - x0) * (py - y0) / (y1 - y0) + x0)
    found[near] = odd
    return found
