"""Merging visual words with the same distribution over findings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


def merge_words(counts: Matrix, k: int) -> Places:
    """(w,) to which of ``k`` groups each word goes, from ``counts`` (w, c), the frequency of each by finding.

    Two by two those are merged that lose least of the mutual information between words and findings
    (Slonim & Tishby: Agglomerative information bottleneck. NIPS 1999): merging words i and j of shares p_i
    and p_j with findings distributed as q_i and q_j loses (p_i + p_j) JS(q_i, q_j). Groups are numbered by
    their first word. O(w^2 c) time at first, O(w c) a merge.
    """
    shares = counts / counts.sum()
    w = len(shares)
    member = np.arange(w)
    alive = np.ones(w, dtype=bool)
    inner = _entropy_sum(shares)
    loss = np.full((w, w), np.inf)
    for word in range(w - 1):
        loss[word, word + 1 :] = _losses(shares, inner, word, slice(word + 1, w))
    nearest = loss.argmin(axis=1)
    least = loss[np.arange(w), nearest]
    for _ in range(w - k):
        first = int(least.argmin())
        second = int(nearest[first])
        member[member == second] = first
        shares[first] += shares[second]
        inner[first] = _entropy_sum(shares[first : first + 1])[0]
        alive[second] = False
        loss[second, :] = loss[:, second] = np.inf
        least[second] = np.inf
        again = _losses(shares, inner, first, slice(0, w))
        again[~alive] = np.inf
        loss[:first, first], loss[first, first + 1 :] = again[:first], again[first + 1 :]
        # Rows whose nearest was one of the two look again; the others only whether the new one is nearer.
        stale = alive & ((nearest == first) | (nearest == second))
        stale[first] = True
        rows = np.flatnonzero(stale)
        nearest[rows] = loss[rows].argmin(axis=1)
        least[rows] = loss[rows, nearest[rows]]
        closer = np.flatnonzero(loss[:, first] < least)
        nearest[closer], least[closer] = first, loss[closer, first]
    return np.unique(member, return_inverse=True)[1].astype(np.int64)


def _entropy_sum(shares: Matrix) -> Matrix:
    """(n,) p log p - sum_c p_c log p_c of (n, c), p = sum_c p_c: p times the entropy of the findings."""
    found: Matrix = _xlogx(shares.sum(axis=1)) - _xlogx(shares).sum(axis=1)
    return found


def _losses(shares: Matrix, inner: Matrix, word: int, others: slice) -> Matrix:
    """(n,) the information lost by merging ``word`` with each of ``others``: never below 0."""
    lost: Matrix = np.maximum(_entropy_sum(shares[others] + shares[word]) - inner[others] - inner[word], 0.0)
    return lost


def _xlogx(values: Matrix) -> Matrix:
    safe = np.where(values > 0.0, values, 1.0)
    out: Matrix = values * np.log(safe)
    return out
