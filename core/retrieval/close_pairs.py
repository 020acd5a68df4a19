"""Find pairs of close rows among many, without comparing every row with every other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from semblance.core.tasks import SILENT, Reporter

Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

#: Up to so many rows all are compared; with more, each is compared with the rows of the cells nearest to it.
_ALL, _CELLS_SEARCHED = 4000, 5
#: Rows compared at once.
_BLOCK = 2048


def close_pairs(
    rows: Vectors,
    queries: Sequence[Vectors],
    numbers: Rows,
    *,
    least: float,
    most: int,
    reporter: Reporter = SILENT,
) -> list[tuple[int, int, float]]:
    """Pairs (one, other, product) of numbers of ``rows`` (n, d) whose product is at least ``least``, closest first.

    ``rows`` have length 1. Each of ``queries`` (q, d) has one form of the rows ``numbers`` (q,), unchanged or
    mirrored. Of each form the ``most`` closest rows are paired. Many rows are divided into cells around some of them,
    drawn at random (an inverted file), and only the cells nearest to a query are searched: for 100,000 rows about one
    pair in sixty is compared.
    """
    n = len(rows)
    found: dict[tuple[int, int], float] = {}
    centres = rows[_spread(n)]
    cell = _nearest(rows, centres, 1)[:, 0]
    members = np.split(
        np.argsort(cell, kind="stable"), np.cumsum(np.bincount(cell, minlength=len(centres)))[:-1]
    )
    done, total = 0, len(queries) * len(numbers)
    for form in queries:
        searched = _nearest(form, centres, min(_CELLS_SEARCHED, len(centres)))
        order = np.argsort(searched.ravel(), kind="stable")
        bounds = np.searchsorted(searched.ravel()[order], np.arange(len(centres) + 1))
        for number, there in enumerate(members):
            asking = order[bounds[number] : bounds[number + 1]] // searched.shape[1]
            for start in range(0, len(asking), _BLOCK):
                reporter.check_cancelled()
                part = asking[start : start + _BLOCK]
                products = form[part] @ rows[there].T
                products[numbers[part][:, None] == there] = -1.0
                _add(found, products, numbers[part], there, least, most)
            done += len(asking) // max(1, searched.shape[1])
            reporter.progress(min(done, total), total, "Looking for the same lesions and copies")
    return [(one, other, value) for (one, other), value in sorted(found.items(), key=lambda item: -item[1])]


def _spread(n: int) -> Rows:
    """The centres of the cells: one for few rows."""
    if n <= _ALL:
        return np.zeros(min(n, 1), dtype=np.int64)
    return np.sort(np.random.default_rng(0).choice(n, int(np.sqrt(n)), replace=False)).astype(np.int64)


def _nearest(rows: Vectors, centres: Vectors, k: int) -> npt.NDArray[np.intp]:
    """(n, k) the centres nearest to each of ``rows``."""
    out = np.empty((len(rows), k), dtype=np.intp)
    for start in range(0, len(rows), _BLOCK):
        products = rows[start : start + _BLOCK] @ centres.T
        out[start : start + _BLOCK] = np.argpartition(-products, k - 1, axis=1)[:, :k]
    return out


def _add(
    found: dict[tuple[int, int], float], products: Vectors, asking: Rows, there: Rows, least: float, most: int
) -> None:
    if products.shape[1] > most and int((products >= least).sum()) > most * len(products):
        columns = np.argpartition(-products, most - 1, axis=1)[:, :most]
        values = np.take_along_axis(products, columns, axis=1)
        lines, at = np.nonzero(values >= least)
        pairs = zip(
            asking[lines].tolist(),
            there[columns[lines, at]].tolist(),
            values[lines, at].tolist(),
            strict=True,
        )
    else:
        lines, at = np.nonzero(products >= least)
        pairs = zip(asking[lines].tolist(), there[at].tolist(), products[lines, at].tolist(), strict=True)
    for one, other, value in pairs:
        key = (one, other) if one < other else (other, one)
        found[key] = max(found.get(key, -1.0), value)
