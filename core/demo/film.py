"""A radiograph being made: bodies and bones in the beam, then exposure and development."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.demo.noise import Field, Noise
from semblance.core.demo.outlines import mirrored
from semblance.core.demo.strokes import Points, Strokes

_FINER = 3


@dataclass(frozen=True)
class Positioning:
    """Anatomical units to pixels: zoom, turn, shift, and a gentle individual warp."""

    centre: tuple[float, float]
    scale: float
    turn: float
    stretch: float
    mirror: bool
    warp: npt.NDArray[np.float64]

    def __call__(self, points: Points) -> Points:
        """(n, 2) anatomical -> (n, 2) pixels (x, y)."""
        waves = np.sin(points @ self.warp[0] + self.warp[1][0])
        other = np.sin(points[:, ::-1] @ self.warp[2] + self.warp[1][1])
        moved = points + np.column_stack([waves * self.warp[3][0], other * self.warp[3][1]])
        x, y = moved[:, 0] * self.stretch * (-1 if self.mirror else 1), moved[:, 1]
        cosine, sine = np.cos(self.turn), np.sin(self.turn)
        turned = np.column_stack([x * cosine - y * sine, x * sine + y * cosine])
        return np.asarray(turned * self.scale + np.asarray(self.centre))


def pose(
    rng: np.random.Generator,
    shape: tuple[int, int],
    *,
    zoom: float = 1.0,
    turn: float = 0.05,
    shift: float = 0.03,
    mirror: bool = False,
) -> Positioning:
    """A random pose in which anatomical y of -1..1 about fills the height at ``zoom`` 1."""
    height, width = shape
    centre = (
        width * (0.5 + float(rng.normal(0, shift))),
        height * (0.5 + float(rng.normal(0, shift))),
    )
    warp = np.array(
        [rng.normal(0, 2.2, 2), rng.uniform(0, 6.28, 2), rng.normal(0, 2.2, 2), rng.normal(0, 0.02, 2)]
    )
    scale = height / 2 * zoom * float(rng.uniform(0.94, 1.06))
    return Positioning(
        centre, scale, float(rng.normal(0, turn)), float(rng.uniform(0.94, 1.06)), mirror, warp.clip(-6, 7)
    )


class Film:
    """Attenuation of one exposure, gathered shape by shape.

    Shapes are outlines (n, 2) in anatomical units; widths are in the same units.
    """

    def __init__(self, rng: np.random.Generator, shape: tuple[int, int], where: Positioning) -> None:
        self.rng = rng
        self.shape = shape
        self.where = where
        self.noise = Noise(rng, shape)
        self.soft_tissue = np.zeros(shape, dtype=np.float32)
        self.bones = np.zeros(shape, dtype=np.float32)
        self.lines = Strokes(shape)
        self._is_mirrored = False
        fine, coarse = self.noise.grain(wavelength=5.0, octaves=0.9)
        #: Trabeculae: a net of thin bright struts, zero mean.
        self.trabeculae = np.asarray(0.7 * fine + 0.5 * coarse - 0.35 * np.abs(fine), dtype=np.float32)

    def sides(self) -> Iterator[None]:
        """Twice: what is drawn in the first turn is drawn mirrored in the second."""
        for self._is_mirrored in (False, True):
            yield
        self._is_mirrored = False

    def _placed(self, points: Points) -> Points:
        return self.where(mirrored(points) if self._is_mirrored else points)

    def soft(self, outlines: list[Points] | Points, thickness: float, rounding: float) -> None:
        """Add a body of ``thickness``, rounded off within ``rounding`` of its edge; outlines are united."""
        box, cover, inside = self._rasterise(outlines if isinstance(outlines, list) else [outlines])
        if box is None:
            return
        rise = np.clip(inside / max(rounding * self.where.scale, 1.0), 0.0, 1.0)
        self.soft_tissue[box] += thickness * cover * np.sqrt(1.0 - (1.0 - rise) ** 2)

    def air(self, outlines: list[Points] | Points, share: float, rounding: float) -> None:
        """Take ``share`` of the soft tissue (and bone laid so far) away inside an outline."""
        box, cover, inside = self._rasterise(outlines if isinstance(outlines, list) else [outlines])
        if box is None:
            return
        rise = np.clip(inside / max(rounding * self.where.scale, 1.0), 0.0, 1.0)
        transmitted = 1.0 - share * cover * (1.0 - (1.0 - rise) ** 2)
        self.soft_tissue[box] *= transmitted

    def bone(
        self,
        outline: Points,
        thickness: float,
        *,
        cortex: float = 0.012,
        marrow: float = 0.55,
        rounding: float = 0.0,
        texture: float = 0.09,
    ) -> None:
        """Add a bone: a dense shell of width ``cortex`` about spongy bone.

        ``marrow`` 0..1 is how much lighter the inside is than the shell; ``rounding`` the distance over which
        it reaches its full ``thickness`` (0: half its own width, as a round shaft has).
        """
        box, cover, inside = self._rasterise([outline])
        if box is None:
            return
        reach = rounding * self.where.scale or float(inside.max())
        reach = max(reach, 1.0)
        shell = cortex * self.where.scale
        outer = np.clip(inside / reach, 0.0, 1.0)
        inner = np.clip((inside - shell) / max(reach - shell, 0.5), 0.0, 1.0)
        chord = np.sqrt(1.0 - (1.0 - outer) ** 2) - marrow * np.sqrt(1.0 - (1.0 - inner) ** 2)
        spongy = 1.0 + texture * self.trabeculae[box] * inner
        self.bones[box] += thickness * cover * chord * spongy

    def hollow(self, outline: Points, share: float, softness: float = 0.02) -> None:
        """Lighten the bones inside an outline: foramina, sinuses, joint spaces."""
        box, cover, inside = self._rasterise([outline])
        if box is None:
            return
        rise = np.clip(inside / max(softness * self.where.scale, 1.0), 0.0, 1.0)
        self.bones[box] *= 1.0 - share * cover * rise

    def line(self, points: Points, width: float, brightness: float) -> None:
        """A thin curve; negative ``brightness`` draws a dark one."""
        self.lines.add(self._placed(points), width * self.where.scale, brightness)

    def _rasterise(self, outlines: list[Points]) -> tuple[tuple[slice, slice] | None, Field, Field]:
        """Bounding box, coverage 0..1 and distance to the edge in pixels of united outlines."""
        from PIL import Image, ImageDraw
        from scipy.ndimage import distance_transform_edt

        height, width = self.shape
        placed = [self._placed(outline) for outline in outlines]
        every = np.concatenate(placed)
        # A border beyond the film keeps shapes that run off it open: no edge is seen where there is none.
        margin = 12
        left, top = np.maximum(np.floor(every.min(0)).astype(int) - 2, -margin)
        right, bottom = np.minimum(np.ceil(every.max(0)).astype(int) + 3, [width + margin, height + margin])
        empty = np.zeros((0, 0), dtype=np.float32)
        if right <= max(left, 0) or bottom <= max(top, 0) or left >= width or top >= height:
            return None, empty, empty
        canvas = Image.new("L", ((right - left) * _FINER, (bottom - top) * _FINER))
        draw = ImageDraw.Draw(canvas)
        for points in placed:
            moved = (points - [left, top] + 0.5) * _FINER
            draw.polygon(moved.ravel().tolist(), fill=255)
        reduced: Field = np.asarray(canvas.reduce(_FINER), dtype=np.float32) / np.float32(255)
        edged: Field = np.pad(reduced, 1)
        for side, open_ended in enumerate(
            (top <= -margin, bottom >= height + margin, left <= -margin, right >= width + margin)
        ):
            if open_ended:
                _extend(edged, side)
        distance = distance_transform_edt(edged > 0.5)[1:-1, 1:-1]
        inside: Field = np.maximum(distance - 0.5, 0).astype(np.float32) + np.where(
            reduced < 1, reduced / 2, 0
        )
        cut = (
            slice(max(0, -top), reduced.shape[0] - max(0, bottom - height)),
            slice(max(0, -left), reduced.shape[1] - max(0, right - width)),
        )
        box = (slice(max(0, top), min(bottom, height)), slice(max(0, left), min(right, width)))
        return box, reduced[cut], inside[cut]


def _extend(edged: Field, side: int) -> None:
    """Fill the outermost row or column with its neighbour."""
    if side == 0:
        edged[0] = edged[1]
    elif side == 1:
        edged[-1] = edged[-2]
    elif side == 2:
        edged[:, 0] = edged[:, 1]
    else:
        edged[:, -1] = edged[:, -2]
