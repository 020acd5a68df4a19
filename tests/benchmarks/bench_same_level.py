"""The same level in another volume: errors on generated versions of real CT (:mod:`tests.helpers.ct_versions`), and
volumes without a common part."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.harness import require_data, row
from tests.helpers.ct_versions import Volume, abdominal_ct, chest_ct, saved, version_of

VERSIONS = 8
#: Slices of the versions in turn, in units of the original's distance.
DISTANCES = (1.0, 2.0, 1.0, 4.0)
MEDIAN_MM, LARGE_MM = 1.5, 5.0


def run(data: Path | None) -> list[dict[str, Any]]:
    """Errors in mm, and how often volumes are said to overlap or not."""
    from semblance.core.imaging import ImageAddress
    from semblance.core.workflows.searches.align_volumes import align_volumes

    found = require_data(data)
    chest, abdomen = chest_ct(found), abdominal_ct(found)
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), []
        originals = {}
        for title, volume in (("chest CT", chest), ("abdominal CT", abdomen)):
            original = originals[title] = ImageAddress(saved(folder / f"{title}.nii", volume))
            errors, alone, missing, seconds = [], [], 0, []
            # Not the seed with which the constants were chosen, and other volumes.
            rng = np.random.default_rng(2026)
            for number in range(VERSIONS):
                changed, positions = version_of(volume, rng, DISTANCES[number % len(DISTANCES)])
                address = ImageAddress(saved(folder / f"{number}.nii", changed))
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
        row(f"{title}: error, median", median, "mm", most=MEDIAN_MM),
        row(f"{title}: error, 95 %", large, "mm", most=LARGE_MM),
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


def _without_overlap(folder: Path, chest: Volume, originals: dict[str, Any]) -> dict[str, Any]:
    """The share of pairs without a common part that are said not to overlap, in both directions."""
    from semblance.core.imaging import ImageAddress
    from semblance.core.workflows.searches.align_volumes import align_volumes

    def part(name: str, values: Any) -> Any:
        return ImageAddress(saved(folder / f"{name}.nii", Volume(values, chest.spacing)))

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
