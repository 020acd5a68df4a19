"""BDM (Yang et al. 2010) written as its definitions read: plain loops, slow, for small problems."""

from __future__ import annotations

import itertools
import math

import numpy as np


def problem(n=45, d=5, findings=3, seed=0):
    """Rows (n, d) and findings (n,) that overlap enough for many rounds."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % findings
    X = rng.normal(size=(n, d)) + 0.9 * rng.normal(size=(findings, d))[y]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array([f"finding {code}" for code in y])


def similarity(y, visual=()):
    """y_ij of findings, visual pairs over them, 0 on the diagonal."""
    n = len(y)
    table = [[0 if i == j else 1 if y[i] == y[j] else -1 for j in range(n)] for i in range(n)]
    for i, j in visual:
        table[i][j] = table[j][i] = 1
    return table


def visual_neighbour_pairs(X, k):
    """i < j, one among the k nearest of the other; equally near ones by row."""
    found = set()
    for i, x in enumerate(X):
        others = sorted(
            (sum((a - b) ** 2 for a, b in zip(x, z, strict=True)), j) for j, z in enumerate(X) if j != i
        )
        found |= {(min(i, j), max(i, j)) for _, j in others[:k]}
    return sorted(found)


def distances(bits):
    """d_ij = sum_t alpha_t (f_t(i) - f_t(j))^2 from a list of (f, alpha), f of +-1."""
    n = len(bits[0][0])
    return [[sum(a * (f[i] - f[j]) ** 2 for f, a in bits) for j in range(n)] for i in range(n)]


def objective(y, d):
    """Eq. 5, its three sums as they stand; dissimilar j and similar k."""
    n, total = len(y), []
    for i in range(n):
        for j in range(n):
            if y[i][j] == -1:
                total += [math.exp(d[i][k] - d[i][j]) for k in range(n) if y[i][k] == 1]
    return math.fsum(total)


def weights(y, d):
    """S+ and S- (Eq. 12) as arrays."""
    n = len(y)
    plus = [[math.exp(d[i][j]) if y[i][j] == 1 else 0.0 for j in range(n)] for i in range(n)]
    minus = [[math.exp(-d[i][j]) if y[i][j] == -1 else 0.0 for j in range(n)] for i in range(n)]
    g_plus, g_minus = [math.fsum(row) for row in plus], [math.fsum(row) for row in minus]
    s_plus, s_minus = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s_plus[i, j] = 0.5 * plus[i][j] * (g_minus[i] + g_minus[j])
            s_minus[i, j] = 0.5 * minus[i][j] * (g_plus[i] + g_plus[j])
    return s_plus, s_minus


def form(s, f):
    """f'L(S)f as half the sum over all pairs of S_ij (f_i - f_j)^2."""
    n = len(f)
    return 0.5 * math.fsum(s[i, j] * (f[i] - f[j]) ** 2 for i in range(n) for j in range(n))


def laplacian(s):
    return np.diag(s.sum(axis=1)) - s


def all_cuts(s_plus, s_minus, projection):
    """(threshold, f'L+f, f'L-f) for every cut between two neighbouring values."""
    ordered = sorted(set(projection))
    cuts = []
    for low, high in itertools.pairwise(ordered):
        threshold = 0.5 * (low + high)
        f = [1.0 if value > threshold else -1.0 for value in projection]
        cuts.append((threshold, form(s_plus, f), form(s_minus, f)))
    return cuts
