"""Compare two rankings of the same cases: changed ranks, shared cases, agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.index import DistanceIndex, Index, Rows, nearest_first
from semblance.core.retrieval.ranking import EmbeddedQuery, Ranking, rank

#: Two-sided 95 % of the normal distribution.
_Z = 1.959964


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau of two orders of ``n`` cases with its 95 % interval, -1 (reversed) to 1 (the same)."""

    tau: float
    low: float
    high: float
    n: int


def kendall(left: npt.ArrayLike, right: npt.ArrayLike) -> RankAgreement | None:
    """Kendall's tau of two orders; ``left`` and ``right`` (n,) are the ranks of the same cases; a pair of equal ranks
    does not count.

    The interval is that of Hollander, Wolfe and Chicken, Nonparametric Statistical Methods (3rd ed.), section 8.3,
    after Samara and Randles (1988): it treats the cases as a sample and assumes no distribution. ``None`` for fewer
    than three cases.
    """
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    n = len(a)
    if n < 3:
        return None
    same = np.sign(a[:, None] - a) * np.sign(b[:, None] - b)
    concordance = same.sum(axis=1)
    tau = float(concordance.sum() / (n * (n - 1)))
    spread = float(((concordance - concordance.mean()) ** 2).sum())
    variance = 2.0 / (n * (n - 1)) * (2.0 * (n - 2) / (n * (n - 1) ** 2) * spread + 1.0 - tau * tau)
    half = _Z * max(0.0, variance) ** 0.5
    return RankAgreement(tau, max(-1.0, tau - half), min(1.0, tau + half), n)


def shared(left: Rows, right: Rows, depth: int) -> int:
    """How many cases are among the first ``depth`` of both."""
    return len(np.intersect1d(left[:depth], right[:depth]))


def ranks_in(order: Rows, rows: Rows) -> Rows:
    """(w,) the rank, from 1, of each of ``rows`` in ``order`` (from near to far); 0 for those not in it."""
    out = np.zeros(len(rows), dtype=np.int64)
    if len(order):
        by_value = np.argsort(order, kind="stable")
        at = np.minimum(np.searchsorted(order, rows, sorter=by_value), len(order) - 1)
        found = order[by_value[at]] == rows
        out[found] = by_value[at[found]] + 1
    return out


def whole_order(
    index: Index | DistanceIndex,
    query: EmbeddedQuery,
    k: int,
    *,
    patients: npt.NDArray[Any] | None = None,
    keys: Rows | None = None,
) -> tuple[Ranking, Rows]:
    """The ranking of the ``k`` nearest, and the rows (r,) of all cases that can be ranked, from near to far.

    The whole order begins with the ranking. Of near-duplicates only the nearest is in it.

    Raises:
        BadInput: lengths that do not fit the index, or a query it cannot take.
    """
    first = rank(index, query, k, patients=patients, keys=keys)
    rest = np.ones(len(index), dtype=np.bool_)
    if query.position is not None:
        rest[query.position] = False
    if patients is not None:
        rest &= ~query.same_patient_cases(patients)
    rest[first.rows] = False
    if keys is not None:
        rest &= ~query.copies_among(keys)
        shown_keys = keys[first.rows]
        rest &= ~np.isin(keys, shown_keys[shown_keys >= 0])
    rows = np.flatnonzero(rest)
    distances, ties = index.distances(query.embedded, rows), index.tie_distances(rows, query.tie_break)
    rows = rows[nearest_first(distances, ties, rows)]
    if keys is not None:
        mine = keys[rows]
        stays = mine < 0
        stays[np.unique(mine, return_index=True)[1]] = True
        rows = rows[stays]
    return first, np.concatenate([first.rows, rows])
