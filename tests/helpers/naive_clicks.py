"""Learning from clicks, written as the formulas are: one matrix a triplet, plain loops."""

from __future__ import annotations

import numpy as np


def naive_form(points: np.ndarray, triplet: tuple[int, int, int]) -> np.ndarray:
    """A = (z_k z_k' - z_l z_l') / (|z_l|^2 + |z_k|^2)."""
    q, liked, disliked = (points[row] for row in triplet)
    near, far = liked - q, disliked - q
    return (np.outer(far, far) - np.outer(near, near)) / (near @ near + far @ far)


def naive_psd(M: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def naive_replay(points: np.ndarray, triplets: list, weights: list, slope: float) -> np.ndarray:
    """Gradient descent with halving on |D|^2 / 2 + sum w log(1 + exp(-slope <D, A>)), then PSD."""
    forms = [naive_form(points, triplet) for triplet in triplets]
    D = np.zeros((points.shape[1],) * 2)

    def value(D: np.ndarray) -> float:
        return float((D * D).sum()) / 2 + sum(
            w * np.logaddexp(0.0, -slope * (D * A).sum()) for A, w in zip(forms, weights, strict=True)
        )

    step = 1.0 / (1.0 + slope**2 * sum(w * (A * A).sum() for A, w in zip(forms, weights, strict=True)) / 4)
    for _ in range(20_000):
        gradient = D - sum(
            slope * w / (1.0 + np.exp(slope * (D * A).sum())) * A for A, w in zip(forms, weights, strict=True)
        )
        if np.abs(gradient).max() < 1e-12:
            break
        moved = D - step * gradient
        assert value(moved) <= value(D) + 1e-12
        D = moved
    return naive_psd(np.eye(len(D)) + D)
