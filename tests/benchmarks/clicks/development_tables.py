"""Tables on which settings for several and many findings were chosen. None is in the CSV files."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Names = npt.NDArray[np.str_]
#: Tables in the data folder.
STORED_TABLES = ("ecoli", "glass", "wine", "optdigits", "satellite")
_CASES, _FEATURES = 2000, 16


def three_kinds(findings: int) -> tuple[Matrix, Names]:
    """Three different kinds of cases per finding, with the same correlated distribution."""
    rng, d = np.random.default_rng(100), _FEATURES
    y = rng.integers(findings, size=_CASES)
    within = rng.standard_normal((d, d)) * np.geomspace(3.0, 0.5, d)
    centres = rng.standard_normal((findings, 3, d)) * 1.6 * np.geomspace(1.6, 0.4, d)[::-1]
    middle = centres[y, rng.integers(3, size=_CASES)]
    return middle + rng.standard_normal((_CASES, d)) @ within * 0.6, y.astype(str)


def two_kinds(findings: int) -> tuple[Matrix, Names]:
    """Two similar kinds of cases per finding. Features are rotated, scaled and differ in use."""
    rng, d = np.random.default_rng(5), _FEATURES
    y = rng.integers(findings, size=_CASES)
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    kinds = rng.standard_normal((findings, 2, d))
    centres = (kinds[:, :1] + 0.6 * kinds)[y, rng.integers(2, size=_CASES)] * np.geomspace(1.5, 0.3, d)
    noise = rng.standard_normal((_CASES, d)) * np.geomspace(0.35, 1.2, d)[rng.permutation(d)]
    return (centres + noise) @ rotation * rng.uniform(0.5, 2.0, d), y.astype(str)


def digits_in_noise(X: Matrix, y: Names) -> tuple[Matrix, Names]:
    """16 principal directions of the digits with equal variance, beside 6 columns of noise."""
    P = _directions(X, 16)
    return np.hstack([P, np.random.default_rng(7).standard_normal((len(P), 6))]), y


def digit_pairs(X: Matrix, y: Names, only: tuple[str, ...] = ()) -> tuple[Matrix, Names]:
    """A pair of a digit below 5 and one from 5 up is a finding (25 of them, or ``only`` these), beside a random
    third digit."""
    rng, P = np.random.default_rng(7), _directions(X, 8)
    low = np.isin(y, list("01234"))
    A, B, of_A, of_B = P[low], P[~low], y[low], y[~low]
    n = min(len(A), len(B))
    i, j, third = (rng.permutation(len(part))[:n] for part in (A, B, P))
    pairs = np.char.add(of_A[i], of_B[j])
    is_selected = np.isin(pairs, only) if only else np.ones(n, dtype=np.bool_)
    return np.hstack([A[i], B[j], P[third]])[is_selected], pairs[is_selected]


def _directions(X: Matrix, n: int) -> Matrix:
    U = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0][:, :n]
    out: Matrix = U / U.std(axis=0)
    return out


GENERATED: dict[str, Callable[[], tuple[Matrix, Names]]] = {
    "several_kinds_3": lambda: three_kinds(3),
    "several_kinds_26": lambda: three_kinds(26),
    "two_kinds_26": lambda: two_kinds(26),
}
DIGIT_TABLES: dict[str, Callable[[Matrix, Names], tuple[Matrix, Names]]] = {
    "digits_in_noise": digits_in_noise,
    "digit_pairs_4": lambda X, y: digit_pairs(X, y, ("05", "06", "15", "16")),
    "digit_pairs_25": digit_pairs,
}
DEVELOPMENT_TABLES = (*STORED_TABLES, *GENERATED, *DIGIT_TABLES)
