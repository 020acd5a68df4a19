"""The same level in another volume: errors on generated versions of real CT, and volumes without a common part.

A version is stretched by up to 15 % along the slices, cut at both ends by up to a fifth, zoomed, shifted and warped in
its plane, made softer, and given noise. Its slices have known positions in the original.
"""

from __future__ import annotations

import io
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.benchmarks.harness import require_data, row
from tests.helpers.volume_files import nifti

VERSIONS = 8
#: Slices of the versions in turn, in units of the original's distance.
DISTANCES = (1.0, 2.0, 1.0, 4.0)
MEDIAN_MM, LARGE_MM = 1.5, 5.0


class _Volume(NamedTuple):
    """Hounsfield units (z, y, x), feet first, and mm along each axis."""

    values: npt.NDArray[np.float32]
    spacing: tuple[float, float, float]


def run(data: Path | None) -> list[dict[str, Any]]:
    """Errors in mm, and how often volumes are said to overlap or not."""
    from semblance.core.imaging import ImageAddress
    from semblance.core.workflows.searches.align_volumes import align_volumes

    found = require_data(data)
    chest, abdomen = _chest(found), _abdomen(found)
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), []
        originals = {}
        for title, volume in (("chest CT", chest), ("abdominal CT", abdomen)):
            original = originals[title] = ImageAddress(_saved(folder / f"{title}.nii", volume))
            errors, alone, missing, seconds = [], [], 0, []
            # Not the seed with which the constants were chosen, and other volumes.
            rng = np.random.default_rng(2026)
            for number in range(VERSIONS):
                version, positions = _version(volume, rng, DISTANCES[number % len(DISTANCES)])
                address = ImageAddress(_saved(folder / f"{number}.nii", version))
                begin = time.perf_counter()
                levels = align_volumes(None, address, original)
                seconds.append((time.perf_counter() - begin) / (len(positions) + len(volume.values)))
                missing += len(positions) - len(levels.slices)
                # Files of volumes are read from head to foot.
                true = (len(volume.values) - 1 - positions)[::-1]
                errors.append(np.abs(levels.counterparts - true[levels.slices]) * volume.spacing[0])
                alone.append(_nearest_alone(address, original, true) * volume.spacing[0])
            rows += _error_rows(title, np.concatenate(errors), np.concatenate(alone), missing)
            rows.append(row(f"{title}: time for a slice", 1000 * float(np.median(seconds)), "ms"))
        rows.append(_without_overlap(folder, chest, originals))
    return rows


def _error_rows(title: str, errors: Any, alone: Any, missing: int) -> list[dict[str, Any]]:
    if not len(errors):
        return [row(f"{title}: versions aligned", 0, "", VERSIONS, reached=False)]
    median, large = float(np.median(errors)), float(np.quantile(errors, 0.95))
    return [
        row(f"{title}: error, median", median, "mm", MEDIAN_MM, median <= MEDIAN_MM),
        row(f"{title}: error, 95 %", large, "mm", LARGE_MM, large <= LARGE_MM),
        row(f"{title}: slices without a counterpart", missing, ""),
        row(f"{title}: error of the nearest slice alone, median", float(np.median(alone)), "mm"),
        row(f"{title}: error of the nearest slice alone, 95 %", float(np.quantile(alone, 0.95)), "mm"),
    ]


def _nearest_alone(address: Any, original: Any, true: Any) -> Any:
    """The error in slices of the most similar slice, without the order."""
    from semblance.core.imaging import ImageReader
    from semblance.core.workflows.searches.align_volumes import describe_slices

    with ImageReader() as reader:
        with reader.stack(address) as stack:
            one = describe_slices(stack)
        with reader.stack(original) as stack:
            other = describe_slices(stack)
    nearest = other.slices[(one.rows @ other.rows.T).argmax(axis=1)]
    return np.abs(nearest - true[one.slices])


def _without_overlap(folder: Path, chest: _Volume, originals: dict[str, Any]) -> dict[str, Any]:
    """The share of pairs without a common part that are said not to overlap, in both directions."""
    from semblance.core.imaging import ImageAddress
    from semblance.core.workflows.searches.align_volumes import align_volumes

    def part(name: str, values: Any) -> Any:
        return ImageAddress(_saved(folder / f"{name}.nii", _Volume(values, chest.spacing)))

    values, third = chest.values, len(chest.values) // 3
    shuffled = values[np.random.default_rng(1).permutation(len(values))]
    pairs = [
        (originals["chest CT"], originals["abdominal CT"]),
        (originals["chest CT"], part("shuffled", shuffled)),
        (part("lower", values[:third]), part("upper", values[-third:])),
    ]
    pairs += [(other, one) for one, other in pairs]
    said = [not len(align_volumes(None, one, other).slices) for one, other in pairs]
    share = float(np.mean(said))
    return row("pairs without a common part that are said not to overlap", share, "share", 1.0, share == 1.0)


def _chest(data: Path) -> _Volume:
    return _dicom(sorted((data / "dicom" / "series_chest_ct").glob("*.dcm")))


def _abdomen(data: Path) -> _Volume:
    with zipfile.ZipFile(data / "dicom" / "series_abdomen_ct.zip") as archive:
        entries = [io.BytesIO(archive.read(name)) for name in sorted(archive.namelist()) if name[-1] != "/"]
    return _dicom(entries)


def _dicom(files: list[Any]) -> _Volume:
    from pydicom import dcmread

    slices = [one for one in (dcmread(file, force=True) for file in files) if "ImagePositionPatient" in one]
    slices.sort(key=lambda one: float(one.ImagePositionPatient[2]))
    first, second = slices[:2]
    values = [
        one.pixel_array.astype(np.float32) * float(one.RescaleSlope) + float(one.RescaleIntercept)
        for one in slices
    ]
    apart = abs(float(second.ImagePositionPatient[2]) - float(first.ImagePositionPatient[2]))
    down, across = (float(one) for one in first.PixelSpacing)
    return _Volume(np.maximum(np.stack(values), -1024), (apart, down, across))


def _version(
    volume: _Volume, rng: np.random.Generator, distance: float
) -> tuple[_Volume, npt.NDArray[np.float64]]:
    """A generated version with slices ``distance`` times as far apart, and their positions among the original's."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    values, (apart, down, across) = volume
    length = (len(values) - 1) * apart
    stretch = rng.uniform(0.85, 1.15)
    first, last = rng.uniform(0, 0.2) * length, length - rng.uniform(0, 0.2) * length
    step = apart * distance
    mm = np.arange(int((last - first) * stretch / step) + 1) * step / stretch + first
    wave = rng.uniform(0, min(6.0, 0.03 * length)) * np.sin(mm / rng.uniform(12, 32) + rng.uniform(0, 6))
    positions = np.clip(mm + wave, 0, length) / apart
    height, width = values.shape[1:]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    zoom, (shift_y, shift_x) = rng.uniform(0.85, 1.2), rng.uniform(-0.06, 0.06, 2) * height
    warps = [gaussian_filter(rng.standard_normal((height, width)), height / 8) for _ in range(2)]
    strength = rng.uniform(3, 15) / down
    warps = [strength * one / np.abs(one).max() for one in warps]
    rows = (y - height / 2) / zoom + height / 2 + shift_y + warps[0]
    columns = (x - width / 2) / zoom + width / 2 + shift_x + warps[1]
    noise, softness = rng.uniform(5, 40), rng.choice([0.0, 0.7, 1.3])
    out = []
    for position in positions:
        below = min(int(position), len(values) - 2)
        share = position - below
        plane = values[below] * (1 - share) + values[below + 1] * share
        plane = gaussian_filter(plane, softness) if softness else plane
        out.append(map_coordinates(plane, [rows, columns], order=1, cval=-1024))
        out[-1] += rng.normal(0, noise, out[-1].shape)
    return _Volume(np.array(out, dtype=np.float32), (step, down, across)), positions


def _saved(file: Path, volume: _Volume) -> Path:
    """As a NIfTI file, whose slices go up."""
    z, y, x = volume.spacing
    voxels = np.rint(volume.values).astype(np.int16).transpose(2, 1, 0)
    file.write_bytes(nifti(voxels, np.diag([x, y, z, 1.0])))
    return file
