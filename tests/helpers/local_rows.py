"""Rows of local descriptors made at random: every finding prefers some of a few kinds of places."""

from __future__ import annotations

import numpy as np

from semblance.core.local_descriptors import DescriptorPacking

#: Four values of a byte each, of which two share a column.
PACKING = DescriptorPacking(low=(0.0,) * 4, high=(255.0,) * 4, bits=8)
KINDS = np.array(
    [[20, 20, 20, 20], [230, 20, 20, 120], [20, 230, 120, 20], [120, 120, 230, 230]], dtype=float
)


def local_rows(
    n: int = 60, places: int = 30, seed: int = 0, form: DescriptorPacking = PACKING
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, d) float32 rows, (n,) findings, (n, 4) the true share of every kind; some places are missing."""
    rng = np.random.default_rng(seed)
    findings = np.array(["benign", "malignant"])[np.arange(n) % 2]
    rows, shares = [], []
    for finding in findings:
        weights = [6, 2, 1, 1] if finding == "benign" else [2, 6, 1, 1]
        place_count = int(rng.integers(places // 2, places + 1))
        kinds = rng.choice(4, place_count, p=np.array(weights) / 10)
        rows.append(form.pack(KINDS[kinds] + rng.normal(0, 4, (place_count, 4)), places))
        shares.append(np.bincount(kinds, minlength=4) / place_count)
    return np.stack(rows), findings, np.array(shares)
