"""A radiograph being made: bodies and bones in the beam, exposure, and the grey image on the light box."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.demo.drawing import Field, Noise, Points, Strokes, blur, mirrored

_FINER = 3

Grey = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class AnatomyToPixels:
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


def random_position(
    rng: np.random.Generator,
    shape: tuple[int, int],
    *,
    zoom: float = 1.0,
    turn: float = 0.05,
    shift: float = 0.03,
    mirror: bool = False,
) -> AnatomyToPixels:
    """A random pose in which anatomical y of -1..1 about fills the height at ``zoom`` 1."""
    height, width = shape
    centre = (width * (0.5 + float(rng.normal(0, shift))), height * (0.5 + float(rng.normal(0, shift))))
    warp = np.array(
        [rng.normal(0, 2.2, 2), rng.uniform(0, 6.28, 2), rng.normal(0, 2.2, 2), rng.normal(0, 0.02, 2)]
    )
    scale = height / 2 * zoom * float(rng.uniform(0.94, 1.06))
    return AnatomyToPixels(
        centre, scale, float(rng.normal(0, turn)), float(rng.uniform(0.94, 1.06)), mirror, warp.clip(-6, 7)
    )


class Film:
    """Attenuation of one exposure, gathered shape by shape.

    Shapes are outlines (n, 2) in anatomical units; widths are in the same units.
    """

    def __init__(self, rng: np.random.Generator, shape: tuple[int, int], where: AnatomyToPixels) -> None:
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


@dataclass(frozen=True)
class Exposure:
    """How one film was taken: ``scatter`` share, quantum ``noise``, window ``dark``..``bright`` as
    percentiles of the exposed field, ``gamma`` of the curve, ``sharpening`` of edges."""

    scatter: float
    noise: float
    dark: float
    bright: float
    gamma: float
    sharpening: float


def exposure(rng: np.random.Generator) -> Exposure:
    """A random :class:`Exposure`, drawn from ``rng``."""
    return Exposure(
        scatter=float(rng.uniform(0.02, 0.10)),
        noise=float(rng.uniform(0.006, 0.02)),
        dark=float(rng.uniform(0.5, 4.0)),
        bright=float(rng.uniform(99.2, 99.9)),
        gamma=float(rng.uniform(0.85, 1.2)),
        sharpening=float(rng.uniform(0.15, 0.5)),
    )


def develop(film: Film, *, bone_weight: float = 1.0, marker: str = "", shutters: float = 0.6) -> Grey:
    """(h, w) uint8; ``marker`` is the lead letter L or R ("" for none), ``shutters`` the chance of visible
    collimation."""
    from scipy.ndimage import gaussian_filter

    rng, how = film.rng, exposure(film.rng)
    attenuation = film.soft_tissue + bone_weight * film.bones + film.lines.drawn()
    beam = np.exp(-np.clip(attenuation, 0, 6))
    beam = beam + how.scatter * blur(beam, 14)
    grains, _ = film.noise.grain(wavelength=2.6, octaves=1.6)
    density = -np.log(np.clip(gaussian_filter(beam, 0.6), 1e-3, None))
    density += how.noise * grains * np.exp(0.35 * density)
    density += how.sharpening * (density - blur(density, 9))
    open_field = _shutters(rng, film.shape, shutters)
    low, high = np.percentile(density[open_field > 0.5], [how.dark, how.bright])
    level = np.clip((density - low) / max(high - low, 0.2), 0, 1.15)
    shown = np.tanh(0.9 * level**how.gamma) / np.tanh(0.9) * 0.92 + 0.02
    shown *= 0.03 + 0.97 * open_field
    if marker:
        shown = _add_marker(rng, shown, marker)
    return np.asarray(np.clip(shown * 255 + 0.5, 0, 255).astype(np.uint8))


def _shutters(rng: np.random.Generator, shape: tuple[int, int], chance: float) -> Field:
    """1 inside the collimated field, 0 under the lead, with a soft edge; often slightly turned."""
    height, width = shape
    if rng.random() > chance:
        return np.ones(shape, dtype=np.float32)
    x = np.arange(width, dtype=np.float32)[None, :] - width / 2
    y = np.arange(height, dtype=np.float32)[:, None] - height / 2
    turn = np.float32(rng.normal(0, 0.025))
    across, down = x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)
    left, right = (width / 2 * (1 - abs(rng.normal(0, 0.05))) - 2 for _ in range(2))
    top, bottom = (height / 2 * (1 - abs(rng.normal(0, 0.05))) - 2 for _ in range(2))
    edge = np.minimum(np.minimum(across + left, right - across), np.minimum(down + top, bottom - down))
    return np.asarray(np.clip(edge / 1.6 + 0.5, 0, 1), dtype=np.float32)


def _add_marker(rng: np.random.Generator, shown: Field, letter: str) -> Field:
    """A lead letter near an upper corner, on the side it names (the viewer's left for R)."""
    height, width = shown.shape
    size = int(height * rng.uniform(0.06, 0.085))
    stamp = _stamp(letter, size, float(rng.normal(0, 6)))
    side = 0.1 if letter == "R" else 0.9
    left = int(width * (side + rng.normal(0, 0.015)) - stamp.shape[1] / 2)
    top = int(height * rng.uniform(0.05, 0.16))
    left = min(max(left, 2), width - stamp.shape[1] - 2)
    part = shown[top : top + stamp.shape[0], left : left + stamp.shape[1]]
    part += stamp[: part.shape[0], : part.shape[1]] * (0.97 - part)
    return shown


def _stamp(letter: str, size: int, turn: float) -> Field:
    from PIL import Image, ImageDraw, ImageFont

    big = 4 * size
    canvas = Image.new("L", (2 * big, 2 * big))
    draw = ImageDraw.Draw(canvas)
    draw.text(
        (big, big), letter, fill=255, font=ImageFont.load_default(big), anchor="mm", stroke_width=big // 24
    )
    canvas = canvas.rotate(turn, resample=Image.Resampling.BICUBIC).reduce(4)
    return np.asarray(canvas, dtype=np.float32) / np.float32(255)


@functools.lru_cache(maxsize=1)
def _notice() -> tuple[Field, Field]:
    """The word and a halo about it, 0..1."""
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    font = ImageFont.load_default(10)
    left, top, right, bottom = font.getbbox("SYNTHETIC")
    word = Image.new("L", (int(right - left) + 8, int(bottom - top) + 8))
    ImageDraw.Draw(word).text((4 - left, 4 - top), "SYNTHETIC", fill=255, font=font)
    halo = word.filter(ImageFilter.MaxFilter(3)).filter(ImageFilter.GaussianBlur(1.2))
    white = np.float32(255)
    return np.asarray(word, dtype=np.float32) / white, np.asarray(halo, dtype=np.float32) / white


def add_notice(grey: Grey) -> Grey:
    """``grey`` with SYNTHETIC burnt into the lower left corner, readable on dark and on bright."""
    word, halo = _notice()
    height, width = word.shape
    out = grey.astype(np.float32)
    part = out[-height - 2 : -2, 2 : 2 + width]
    part *= 1 - np.clip(1.5 * halo, 0, 1) * 0.72
    part += word * (215 - part)
    return np.asarray(np.clip(out, 0, 255).astype(np.uint8))
