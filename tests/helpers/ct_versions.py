"""CT at hand as arrays, and generated versions of them that stand for other patients.

A version is stretched by up to 15 % along the slices, cut at both ends by up to a fifth, zoomed, shifted and warped in
its plane, made softer, and given noise. Its slices have known positions in the original.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.helpers.volume_files import nifti


class Volume(NamedTuple):
    """Hounsfield units (z, y, x), feet first, and mm along each axis."""

    values: npt.NDArray[np.float32]
    spacing: tuple[float, float, float]


def chest_ct(data: Path) -> Volume:
    return _dicom(sorted((data / "dicom" / "series_chest_ct").glob("*.dcm")))


def abdominal_ct(data: Path) -> Volume:
    with zipfile.ZipFile(data / "dicom" / "series_abdomen_ct.zip") as archive:
        entries = [io.BytesIO(archive.read(name)) for name in sorted(archive.namelist()) if name[-1] != "/"]
    return _dicom(entries)


def _dicom(files: list[Any]) -> Volume:
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
    return Volume(np.maximum(np.stack(values), -1024), (apart, down, across))


def version_of(
    volume: Volume, rng: np.random.Generator, distance: float
) -> tuple[Volume, npt.NDArray[np.float64]]:
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
    return Volume(np.array(out, dtype=np.float32), (step, down, across)), positions


def saved(file: Path, volume: Volume) -> Path:
    """As a NIfTI file, whose slices go up."""
    z, y, x = volume.spacing
    voxels = np.rint(volume.values).astype(np.int16).transpose(2, 1, 0)
    file.write_bytes(nifti(voxels, np.diag([x, y, z, 1.0])))
    return file
