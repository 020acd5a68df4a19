"""The training pairs of a pairwise learner: given ones, and ones drawn from findings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Rows, checked_pairs, sample_pairs
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.rows import (
    TrainingInput,
    check_different,
    check_memory,
    codes_of_findings,
)

#: The way out where pairs do not fit into memory.
FEWER_PAIRS = tr_lazy("Draw fewer pairs (draw), train on fewer cases, or put the step pca in front.")
#: Drawing one pair from findings takes about this many bytes: two rows, a rank, and its place in a set.
_PER_PAIR = 200


class Pairs(NamedTuple):
    """Rows ``i`` and ``j`` (p,) with ``label`` (p,) +1.0 similar or -1.0 dissimilar."""

    i: Rows
    j: Rows
    label: Matrix

    def __len__(self) -> int:
        return len(self.label)

    def take(self, places: Rows) -> Pairs:
        """The pairs at these ``places``."""
        return Pairs(self.i[places], self.j[places], self.label[places])

    def differences(self, X: Matrix) -> Matrix:
        """(p, d) x_i - x_j."""
        z: Matrix = X[self.i] - X[self.j]
        return z

    def lengths(self, X: Matrix) -> Matrix:
        """(p,) |x_i - x_j|^2, without an array of the differences."""
        step = max(1, (1 << 22) // max(1, X.shape[1]))
        out = np.empty(len(self))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            z = X[self.i[part]] - X[self.j[part]]
            out[part] = np.einsum("ij,ij->i", z, z)
        return out

    def within(self, rows: npt.NDArray[np.intp], n: int) -> Pairs:
        """The pairs of two of these ``rows`` of ``n``."""
        present = np.zeros(n, dtype=np.bool_)
        present[rows] = True
        return self.take(np.flatnonzero(present[self.i] & present[self.j]))

    def similar_differences(self, X: Matrix) -> Matrix:
        """(s, d) x_i - x_j of the similar pairs."""
        return self.take(np.flatnonzero(self.label > 0)).differences(X)

    def counts(self) -> dict[str, int]:
        """For the card of a metric."""
        similar = int((self.label > 0).sum())
        return {"similar": similar, "dissimilar": len(self.label) - similar}


def as_pairs(table: Rows) -> Pairs:
    """From a table (p, 3) as :func:`semblance.core.constraints.checked_pairs` gives it."""
    return Pairs(table[:, 0], table[:, 1], table[:, 2].astype(np.float64))


def training_pairs(
    title: str, n: int, y: npt.ArrayLike | None, pairs: npt.ArrayLike | None, *, draw: int, seed: int
) -> Pairs:
    """The ``pairs`` given, and ``draw`` c (c - 1) drawn from ``n`` findings y of c kinds.

    If both contain the same two rows, the given pair counts.

    Raises:
        BadInput: there are neither, they would not fit into memory, or they have no similar or no dissimilar pair;
            ``title`` names the learner.
    """
    if y is None and pairs is None:
        raise BadInput(
            tr_lazy("{title} learns from findings or pairs.", title=title), "Give it at least one of them."
        )
    tables = []
    if y is not None:
        codes, names = codes_of_findings(n, y)
        if pairs is None or np.bincount(codes[codes >= 0], minlength=1).max() > 1 < len(names):
            count = min(draw * len(names) * (len(names) - 1), n * (n - 1) // 2)
            check_memory(
                _PER_PAIR * count,
                tr_lazy("Drawing {count:,} pairs of {n:,} findings", count=count, n=len(names)),
                FEWER_PAIRS,
            )
            tables.append(sample_pairs(y, count, seed))
    if pairs is not None:
        checked = checked_pairs(pairs, n)
        if tables:
            drawn = _keys(tables[0], n)
            tables[0] = tables[0][~np.isin(drawn, _keys(checked, n))]
        tables.append(checked)
    found = as_pairs(np.concatenate(tables))
    if not (found.label < 0).any():
        raise BadInput(
            "No two training cases are called dissimilar.",
            "Add cases of another finding or dissimilar pairs.",
        )
    if not (found.label > 0).any():
        raise BadInput(
            "No two training cases are called similar.", "Add cases of the same finding or similar pairs."
        )
    return found


def _keys(table: Rows, n: int) -> Rows:
    keys: Rows = np.minimum(table[:, 0], table[:, 1]) * n + np.maximum(table[:, 0], table[:, 1])
    return keys


def pair_differences(title: str, data: TrainingInput, *, draw: int, copies: int) -> tuple[Pairs, Matrix]:
    """The :func:`training_pairs` of ``data`` and their differences (p, d), of which ``copies`` fit into memory.

    Raises:
        BadInput: as :func:`training_pairs`; all cases have the same features; too many pairs for the memory.
    """
    source = training_pairs(title, len(data.X), data.y, data.pairs, draw=draw, seed=data.seed)
    check_different(data.X)
    features = data.X.shape[1]
    check_memory(
        8.0 * copies * len(source) * features,
        tr_lazy("{n:,} pairs of cases of {shape:,} features", n=len(source), shape=features),
        FEWER_PAIRS,
    )
    return source, source.differences(data.X)
