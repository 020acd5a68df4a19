"""Passive-aggressive steps on pairs, one after another, exact and fast (Perez-Suay et al. 2013).

The state is a symmetric matrix M and a threshold b: a pair with difference z and label y (+1 similar, -1
dissimilar) is on the right side by its margin y (b - z'Mz), and its loss is l = max(0, p), p = 1 - margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.numerics.eigenpairs import LowestEigenpair

VARIANTS = ("pa", "pa1", "pa2", "pals")

#: Pairs whose margins come from one matrix product.
BLOCK = 64


@dataclass(frozen=True)
class StepRule:
    """How far one pair moves the state: tau of Eqs. 11 (pa), 12 (pa1), 13 (pa2) and 16 (pals).

    ``C`` > 0, the aggressiveness, is of no effect on pa.
    """

    variant: str
    C: float

    @property
    def most(self) -> float:
        """The largest tau there can be."""
        return self.C if self.variant == "pa1" else math.inf

    @property
    def softening(self) -> float:
        """What is added to 1 + |z|^4 below the fraction."""
        return 0.5 / self.C if self.variant in ("pa2", "pals") else 0.0

    @property
    def signed(self) -> bool:
        """Pairs on the right side are moved too, back to their ideal distance."""
        return self.variant == "pals"


@dataclass(eq=False)
class MarginModel:
    """M (d, d) and b with what has happened so far.

    ``n_pairs`` pairs led to ``updates`` (tau not 0); for ``mistakes`` of them the state before the pair did not
    put it on the right side (the predictive 0-1 loss of 4.3.1, times ``n_pairs``; on the edge is wrong).
    """

    M: Matrix
    b: float = 0.0
    n_pairs: int = 0
    updates: int = 0
    mistakes: int = 0
    _eigen: LowestEigenpair | None = field(default=None, repr=False)

    def copy(self) -> MarginModel:
        """The same state, to learn on from without changing this one."""
        return MarginModel(self.M.copy(), self.b, self.n_pairs, self.updates, self.mistakes)

    def learn(self, Z: Matrix, y: Matrix, rule: StepRule) -> None:
        """Take the pairs with differences Z (p, d) and labels y (p,) in order; M may become indefinite."""
        for start in range(0, len(Z), BLOCK):
            self._block(Z[start : start + BLOCK], y[start : start + BLOCK], rule)

    def _block(self, Z: Matrix, y: Matrix, rule: StepRule) -> None:
        """All of a block at once: tau of one pair lowers p of each later one by tau times its effect."""
        p = 1.0 - y * (self.b - np.einsum("ij,ij->i", Z @ self.M, Z))
        effect = _effects(Z, y)
        size = effect.diagonal() + rule.softening
        if rule.signed:
            tau, loss_before = _solve(p, effect, size)
        else:
            tau, loss_before = _recurse(p, effect, size, rule.most)
        moved = tau * y
        self.M -= (Z * moved[:, np.newaxis]).T @ Z
        self.b += float(moved.sum())
        self.n_pairs += len(y)
        self.updates += int(np.count_nonzero(tau))
        self.mistakes += int(np.count_nonzero(loss_before >= 1.0))

    def learn_positive(self, Z: Matrix, y: Matrix, rule: StepRule) -> None:
        """The same, with M made positive semidefinite and b at least 1 after every step."""
        M, b, most, softening, signed = self.M, self.b, rule.most, rule.softening, rule.signed
        if self._eigen is None:
            self._eigen = LowestEigenpair(len(M))
        updates = mistakes = 0
        sizes = np.einsum("ij,ij->i", Z, Z)
        sizes = sizes * sizes + (1.0 + softening)
        labels = y.tolist()
        for place, size in enumerate(sizes.tolist()):
            z, label = Z[place], labels[place]
            p = 1.0 - label * (b - float((M @ z) @ z))
            mistakes += p >= 1.0
            if p <= 0.0 and not (signed and p < 0.0):
                continue
            updates += 1
            moved = label * min(most, p / size)
            b = max(1.0, b + moved)
            M -= np.multiply.outer(moved * z, z)
            if moved > 0.0 and size > 1.0 + softening:
                low = self._eigen.find(M, z)
                if low is not None:
                    M -= np.multiply.outer(low[0] * low[1], low[1])
        self.b = b
        self.n_pairs += len(labels)
        self.updates += updates
        self.mistakes += mistakes


def learn_by_each(start: MarginModel, Z: Matrix, y: Matrix, rules: Sequence[StepRule], passes: int) -> Matrix:
    """(r, d, d) M after ``passes`` times :meth:`MarginModel.learn` from ``start`` by each of r rules of one variant.

    The rules go through a block together: what depends on its pairs alone is computed once.
    """
    M = np.repeat(start.M[np.newaxis], len(rules), axis=0)
    b = np.full(len(rules), start.b)
    most, softening = np.array([(rule.most, rule.softening) for rule in rules]).T
    least = -math.inf if rules[0].signed else 0.0
    for begin in list(range(0, len(Z), BLOCK)) * passes:
        z, label = Z[begin : begin + BLOCK], y[begin : begin + BLOCK]
        p = 1.0 - label * (b[:, np.newaxis] - ((z @ M) * z).sum(axis=2))
        effect = _effects(z, label)
        size = effect.diagonal()[:, np.newaxis] + softening
        loss, tau = p.T.copy(), np.empty(size.shape)
        for place, step in enumerate(tau):
            np.divide(loss[place], size[place], out=step)
            np.maximum(step, least, out=step)
            np.minimum(step, most, out=step)
            later = slice(place + 1, None)
            loss[later] -= np.multiply.outer(effect[place, later], step)
        moved = tau.T * label
        M -= (z.T * moved[:, np.newaxis]) @ z
        b += moved.sum(axis=1)
    return M


def _effects(Z: Matrix, y: Matrix) -> Matrix:
    """(p, p) by how much tau = 1 of one pair lowers p of another: y y' (1 + (z.z')^2)."""
    effect: Matrix = Z @ Z.T
    effect *= effect
    effect += 1.0
    effect *= y
    effect *= y[:, np.newaxis]
    return effect


def _recurse(p: Matrix, effect: Matrix, size: Matrix, most: float) -> tuple[Matrix, Matrix]:
    """(n,) tau = min(most, max(0, p) / size) of each pair in turn, and p as each was met; spoils ``p``."""
    met: list[float] = []
    tau = np.zeros(len(p))
    fall = np.empty(len(p))
    for place, denominator in enumerate(size.tolist()):
        loss = p.item(place)
        met.append(loss)
        if loss > 0.0:
            step = min(most, loss / denominator)
            tau[place] = step
            # Of the pairs before this one nothing is read any more, so they need not be spared.
            np.multiply(effect[place], step, out=fall)
            p -= fall
    return tau, np.array(met)


def _solve(p: Matrix, effect: Matrix, size: Matrix) -> tuple[Matrix, Matrix]:
    """The same for tau = p / size without its bounds: a triangular system; spoils ``effect``."""
    from scipy.linalg import blas

    np.fill_diagonal(effect, size)
    # Symmetric and in C order: its transpose is the same matrix in the order BLAS reads without a copy.
    tau: Matrix = blas.dtrsv(effect.T, p, lower=1)
    return tau, tau * size
