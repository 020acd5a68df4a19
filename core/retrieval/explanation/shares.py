"""The share of every group of features in a distance, through the metric's steps."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.features.gabor import GRID
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import DistancePart, Matrix
from semblance.core.metrics.distances.bits import BitDistance, KernelBitDistance
from semblance.core.metrics.distances.city_block import CityBlockDistance
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.distances.stumps import SignedDistance, StumpDistance
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.steps.sequence import apply_steps
from semblance.core.metrics.training_data.rows import as_rows

#: Up to so many groups every subset is evaluated; with more, seeded orders are.
EXACT_GROUPS = 9
#: Rows evaluated for one pair of cases if orders are drawn.
ROWS = 2048

#: Larger maps are explained by their rows, because computing their directions takes seconds.
_MOST_DIRECTIONS = 600
#: Names of a direction: so many, each with at least this share of the largest loading.
_MAX_NAMED, _LEAST = 2, 0.35
#: With more columns their groups are named instead.
_FEW_COLUMNS = 120
#: Number of bits and votes that are listed; the others are summed.
DETAILED = 12


class Grouping:
    """A metric and the groups of its columns, for explaining many pairs.

    ``names`` (d',): groups of the columns that the linear steps take (after a codebook and imputation), by default
    those of the extractor.
    """

    def __init__(self, metric: Metric, names: Sequence[str] = ()) -> None:
        self.metric = metric
        self.tail = metric.linear_tail()
        self.head = metric.steps[: len(metric.steps) - len(self.tail)]
        column_groups = tuple(names) or metric.names_before_tail()
        #: The groups, in the order of their first columns.
        self.groups = tuple(dict.fromkeys(column_groups))
        place = {name: number for number, name in enumerate(self.groups)}
        self._codes = np.array([place[name] for name in column_groups], dtype=np.intp)

    @functools.cached_property
    def linear(self) -> Matrix:
        """(m, d') the linear part of the tail: a difference z of head rows becomes ``linear`` z."""
        return self.pull_back(np.eye(self.metric.distance.n_features))

    def head_rows(self, X: npt.ArrayLike) -> Matrix:
        """(n, d) as extracted -> (n, d') in the columns of the groups: words counted, values imputed.

        Raises:
            BadInput: rows the metric cannot take.
        """
        if not self.head:
            return as_rows(X, self.metric.n_features)
        return apply_steps(self.head, X, self.metric.n_features)

    def after(self, rows: Matrix) -> Matrix:
        """(n, d') -> (n, m), the rows that the distance compares."""
        for step in self.tail:
            rows = step.transform(rows)
        return rows

    def pull_back(self, gradient: Matrix) -> Matrix:
        """(..., m) -> (..., d')."""
        for step in reversed(self.tail):
            gradient = step.pull_back(gradient)
        return gradient

    def deviations(self) -> Matrix:
        """(d',) of the training rows, by which columns of different units are compared; 1 where unknown."""
        from semblance.core.metrics.steps.scaling import Standardise

        rows = np.ones(len(self._codes))
        for step in self.tail:
            if isinstance(step, Standardise):
                rows[:] = 0.0
                rows[step.selected_] = step.deviation_
                break
            if step.n_features != len(rows):
                break
        return rows

    def shares(self, q: Matrix, X: Matrix, *, rows: int = ROWS) -> Matrix:
        """(d',) and (n, d') head rows -> (n, G): the contribution of each group to each distance.

        For a linear distance z_g (Mz)_g, which is the Shapley value of a quadratic form; for every other the Shapley
        value of replacing the query's values by the case's, group by group
        (:func:`semblance.core.retrieval.explanation.shares.shapley_shares`). Each row sums to its distance; the
        rounding error is added to the largest.
        """
        after = self.after(np.concatenate([q[np.newaxis], X]))
        distance = self.metric.distance
        if isinstance(distance, LinearDistance):
            e = distance.embed(after)
            e = e[:1] - e[1:]
            amounts = (q - X) * self.pull_back(distance.pull_back(e))
            found, totals = self._summed(amounts), np.einsum("ij,ij->i", e, e)
        else:
            totals = distance.between(after[:1], after[1:])[0]
            found = np.stack(
                [self._shared(q, x, after[0], to, rows) for x, to in zip(X, after[1:], strict=True)]
            )
        largest = np.abs(found).argmax(axis=1)
        found[np.arange(len(found)), largest] += totals - found.sum(axis=1)
        return found

    def steps_of(self, q: Matrix, x: Matrix) -> Matrix:
        """(G, m) how far each group moves the query towards the case, after the steps."""
        z = x - q
        return np.stack([part @ z[own] for part, own in zip(self._linear_of, self._columns, strict=True)])

    @functools.cached_property
    def _linear_of(self) -> list[Matrix]:
        """The columns of :attr:`linear` of each group."""
        return [np.ascontiguousarray(self.linear[:, own]) for own in self._columns]

    def parts(self, q: Matrix, x: Matrix) -> list[DistancePart]:
        """The shares of one pair of head rows (d',), by name."""
        amounts = self.shares(q, x[np.newaxis])[0].tolist()
        return [DistancePart(name, amount) for name, amount in zip(self.groups, amounts, strict=True)]

    def columns_of(self, group: int) -> npt.NDArray[np.intp]:
        """The head columns of the group with this number."""
        return self._columns[group]

    @functools.cached_property
    def _columns(self) -> list[npt.NDArray[np.intp]]:
        return [np.flatnonzero(self._codes == group) for group in range(len(self.groups))]

    def _shared(self, q: Matrix, x: Matrix, start: Matrix, end: Matrix, rows: int) -> Matrix:
        def value(mixed: Matrix) -> Matrix:
            return self.metric.distance.between(start[np.newaxis], mixed).T

        shares: Matrix = shapley_shares(value, start, end, self.steps_of(q, x), rows)[:, 0]
        return shares

    def _summed(self, amounts: Matrix) -> Matrix:
        """(n, d') -> (n, G)."""
        one = np.zeros((len(self._codes), len(self.groups)))
        one[np.arange(len(self._codes)), self._codes] = 1.0
        out: Matrix = amounts @ one
        return out


@functools.cache
def subsets(groups: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(2^G, G) the subsets, 1 for what is in, and (G, 2^G) the weights that make shares of their values.

    Shapley, A value for n-person games, 1953: the share of a group is what it adds, on average over all
    orders in which the groups can come.
    """
    rows = np.arange(1 << groups)
    inside = ((rows[:, np.newaxis] >> np.arange(groups)) & 1).astype(np.float64)
    size = inside.sum(axis=1).astype(int)
    factorial = [math.factorial(number) for number in range(groups + 1)]
    joins = np.array(
        [factorial[s] * factorial[groups - s - 1] if s < groups else 0 for s in range(groups + 1)]
    )
    joins = joins / factorial[groups]
    weights = np.where(inside.T > 0, joins[np.maximum(size - 1, 0)], -joins[size])
    return inside, weights


def shapley_shares(
    value: Callable[[Matrix], Matrix], start: Matrix, end: Matrix, steps: Matrix, rows: int = ROWS
) -> Matrix:
    """(G, T) shares of ``value(end) - value(start)``, which they sum to but for rounding.

    ``value`` maps (r, d) to (r, T); ``start`` and ``end`` (d,); ``steps`` (G, d) sum to end - start. Up to
    :data:`EXACT_GROUPS` groups that change anything get their Shapley values, more of them the average over
    seeded orders and their reverses (at most ``rows`` rows are tried), which sums as exactly.
    """
    moving = np.flatnonzero((steps != 0.0).any(axis=1))
    whole = value(np.stack([start, end]))
    out = np.zeros((len(steps), whole.shape[1]))
    if not len(moving):
        return out
    if len(moving) <= EXACT_GROUPS and 1 << len(moving) <= rows:
        inside, weights = subsets(len(moving))
        values = np.empty((len(inside), whole.shape[1]))
        # The ends are exact, because rounding at a threshold would give another value.
        values[[0, -1]] = whole
        if len(inside) > 2:
            values[1:-1] = value(start + inside[1:-1] @ steps[moving])
        out[moving] = weights @ values
        return out
    pairs = max(1, rows // (2 * len(moving)))
    rng = np.random.default_rng(0)
    for _ in range(pairs):
        order = rng.permutation(len(moving))
        for one in (order, order[::-1]):
            between = start + np.cumsum(steps[moving[one]], axis=0)[:-1]
            values = np.concatenate([whole[:1], value(between) if len(between) else whole[:0], whole[1:]])
            out[moving[one]] += np.diff(values, axis=0)
    out /= 2 * pairs
    return out


@dataclass(frozen=True)
class DistanceShare:
    """A part of a distance: a short ``name``, its amount, and further details."""

    name: str
    amount: float
    detail: str = ""


def shares_of(
    grouping: Grouping, q: Matrix, x: Matrix, feature_names: Sequence[str] = ()
) -> tuple[str, list[DistanceShare]]:
    """The kind of the parts ("Directions", "Bits", ...) and all that are not 0, the largest first.

    ``q`` and ``x`` (d',) are head rows of ``grouping``; ``feature_names`` (d',) name their columns. The amounts sum
    to the distance; the rounding error is added to the largest.
    """
    pair = grouping.after(np.stack([q, x]))
    distance = grouping.metric.distance
    total = float(distance.between(pair[:1], pair[1:])[0, 0])
    names = _Names(grouping, feature_names)
    if isinstance(distance, LinearDistance | SignedDistance):
        kind, shares = _directions(distance, pair, names)
    elif isinstance(distance, BitDistance):
        kind, shares = "Bits", _bits(distance, pair, names.of)
    elif isinstance(distance, KernelBitDistance):
        kind, shares = "Bits", _kernel_bits(distance, grouping, pair, q, x)
    elif isinstance(distance, CityBlockDistance):
        size = np.abs(pair[0] - pair[1])
        kind, shares = "Features", _columns(size * size.sum(), names)
    elif isinstance(distance, StumpDistance):
        kind, shares = "Votes", _votes(distance, pair, names)
    else:
        parts = distance.parts(pair[0], pair[1], (tr_lazy("the features"),) * pair.shape[1])
        shares = [DistanceShare(part.name[:1].upper() + part.name[1:], part.amount) for part in parts]
        kind = _KINDS.get(distance.kind, tr_lazy("Parts"))
    left = total - sum(share.amount for share in shares)
    shares = sorted((share for share in shares if share.amount), key=lambda share: -abs(share.amount))
    if shares and left:
        first = shares[0]
        shares[0] = DistanceShare(first.name, first.amount + left, first.detail)
    elif left:
        shares = [DistanceShare(tr_lazy("Lifted to zero") if left > 0 else tr_lazy("Rounding"), left)]
    return kind, shares


_KINDS = {
    "mixtures": tr_lazy("Clouds"),
    "convolution": tr_lazy("Places"),
    "mapped": tr_lazy("Dimensions"),
    "clicked": tr_lazy("Parts"),
}


class _Names:
    """Which features a direction after the steps weighs most."""

    def __init__(self, grouping: Grouping, feature_names: Sequence[str]) -> None:
        self._grouping = grouping
        self._deviations = grouping.deviations()
        columns = len(self._deviations)
        by_name = columns <= _FEW_COLUMNS and len(feature_names) == columns
        self._features = tuple(feature_names) if by_name else ()
        self._bands = _Bands.of(feature_names) if len(feature_names) == columns else None

    def of(self, direction: Matrix) -> str:
        """(m,) -> ``Sharpness − Solidity``: the heaviest, the sign of the first taken as plus."""
        loads = self._grouping.pull_back(direction) * self._deviations
        if self._bands is not None:
            return self._bands.description(np.square(loads))
        if self._features or len(loads) == len(self._grouping.groups):
            detailed = self._features or self._grouping.groups
            return self._signed(loads, detailed)
        weight = [
            float(np.square(loads[self._grouping.columns_of(group)]).sum())
            for group in range(len(self._grouping.groups))
        ]
        order = np.argsort(weight)[::-1][:_MAX_NAMED]
        selected = [self._grouping.groups[group] for group in order if weight[group] >= _LEAST * max(weight)]
        return " + ".join(selected)

    @staticmethod
    def _signed(loads: Matrix, names: Sequence[str]) -> str:
        order = np.argsort(-np.abs(loads), kind="stable")[:_MAX_NAMED].tolist()
        heaviest = float(loads[order[0]])
        text = str(names[order[0]])
        for column in order[1:]:
            if abs(loads[column]) >= _LEAST * abs(heaviest) > 0.0:
                text += f" {'+' if loads[column] * heaviest > 0 else '−'} {names[column]}"
        return text


class _Bands:
    """Gabor features: a direction weighs stripes of a width, an angle and a part of the image most."""

    _NAME = re.compile(r"Gabor (.+ px), (.+°), row (\d+), column (\d+)")
    _ROWS, _COLUMNS = ("upper", "middle", "lower"), ("left", "centre", "right")

    def __init__(self, kinds: list[tuple[str, str, str]]) -> None:
        self._kinds = [np.unique([kind[which] for kind in kinds], return_inverse=True) for which in range(3)]

    @classmethod
    def of(cls, names: Sequence[str]) -> _Bands | None:
        """``None`` for features of another kind."""
        found = [cls._NAME.fullmatch(name) for name in names]
        kinds = [(m[1], m[2], cls._part(int(m[3]), int(m[4]))) for m in found if m is not None]
        return cls(kinds) if kinds and len(kinds) == len(names) else None

    @classmethod
    def _part(cls, row: int, column: int) -> str:
        down, right = (min(2, (place - 1) * 3 // GRID) for place in (row, column))
        return f"{cls._ROWS[down]} {cls._COLUMNS[right]}".replace("middle centre", "centre")

    def description(self, weights: Matrix) -> str:
        """``10 px, 45°, upper left``: components half above an even share; the width always."""
        labels = []
        for place, (names, codes) in enumerate(self._kinds):
            sums = np.bincount(codes, weights=weights, minlength=len(names))
            if place == 0 or sums.max() >= 1.5 * sums.mean():
                labels.append(str(names[sums.argmax()]))
        return ", ".join(labels)


def _directions(
    distance: LinearDistance | SignedDistance, pair: Matrix, names: _Names
) -> tuple[str, list[DistanceShare]]:
    z = pair[0] - pair[1]
    if isinstance(distance, LinearDistance) and distance.L is None:
        return "Features", _columns(z**2, names)
    L = distance.L
    assert L is not None
    signs = distance.signs if isinstance(distance, SignedDistance) else np.ones(len(L))
    if isinstance(distance, LinearDistance) and min(L.shape) <= _MOST_DIRECTIONS:
        # With L = U S V' the distance is the sum of (s_k v_k . z)^2.
        _, values, rows = np.linalg.svd(L, full_matrices=False)
        L, signs = values[:, np.newaxis] * rows, np.ones(len(rows))
    along = L @ pair[0] - L @ pair[1]
    amounts = signs * along**2
    shares = []
    detailed = set(np.argsort(-np.abs(amounts))[:DETAILED].tolist())
    for k, amount in enumerate(amounts.tolist()):
        if k not in detailed:
            shares.append(DistanceShare(tr_lazy("direction {k}", k=k + 1), amount))
            continue
        side = (
            tr_lazy("The query lies higher than the case")
            if along[k] > 0
            else tr_lazy("The query lies lower than the case")
        )
        of = tr_lazy(" (a similarity, which is subtracted)") if signs[k] < 0 else ""
        shares.append(
            DistanceShare(
                names.of(L[k]),
                amount,
                tr_lazy("Direction {k} of {n}{of}. {side} along it.", k=k + 1, n=len(L), of=of, side=side),
            )
        )
    return "Directions", shares


def _columns(amounts: Matrix, names: _Names) -> list[DistanceShare]:
    """One share for each number that is compared, (m,) of them."""
    detailed = set(np.argsort(-amounts)[:DETAILED].tolist())
    shares = []
    for k, amount in enumerate(amounts.tolist()):
        unit = np.zeros(len(amounts))
        unit[k] = 1.0
        shares.append(
            DistanceShare(names.of(unit) if k in detailed else tr_lazy("number {k}", k=k + 1), amount)
        )
    return shares


def _bits(distance: BitDistance, pair: Matrix, name: Callable[[Matrix], str]) -> list[DistanceShare]:
    bits = distance.bits(pair)
    amounts = np.where(bits[0] != bits[1], 4.0 * distance.weights, 0.0)
    detailed = set(np.argsort(-amounts)[:DETAILED].tolist())
    shares = []
    for t, amount in enumerate(amounts.tolist()):
        if amount and t in detailed:
            text = name(distance.directions[:, t])
            shares.append(
                DistanceShare(
                    text,
                    amount,
                    tr_lazy("Bit {t} of {n}. {bits}", t=t + 1, n=len(amounts), bits=_sides(bool(bits[0, t]))),
                )
            )
        elif amount:
            shares.append(DistanceShare(tr_lazy("bit {t}", t=t + 1), amount))
    return shares


def _sides(above: bool) -> str:
    if above:
        return tr_lazy("The query is on its high side, the case on its low side.")
    return tr_lazy("The query is on its low side, the case on its high side.")


def _kernel_bits(
    distance: KernelBitDistance, grouping: Grouping, pair: Matrix, q: Matrix, x: Matrix
) -> list[DistanceShare]:
    """Bits of kernel values have no direction among features, so the features that separate the pair are named."""
    values = distance.kernel.values(pair, distance.rows)
    bits = distance.bits.bits(values)
    amounts = np.where(bits[0] != bits[1], 4.0 * distance.bits.weights, 0.0)
    detailed = [int(t) for t in np.argsort(-amounts)[:DETAILED] if amounts[t]]
    directions = distance.bits.directions[:, detailed]

    def value(mixed: Matrix) -> Matrix:
        projected: Matrix = distance.kernel.values(mixed, distance.rows) @ directions
        return projected

    moved = shapley_shares(value, pair[0], pair[1], grouping.steps_of(q, x)) if detailed else np.empty((0, 0))
    shares = [
        DistanceShare(tr_lazy("bit {t}", t=t + 1), float(amount))
        for t, amount in enumerate(amounts)
        if amount and t not in detailed
    ]
    for place, t in enumerate(detailed):
        across = moved[:, place] * (-1.0 if bits[0, t] else 1.0)
        order = [
            int(group)
            for group in np.argsort(-across)[:_MAX_NAMED]
            if across[group] >= _LEAST * across.max() > 0
        ]
        anchors = np.argsort(-np.abs(distance.bits.directions[:, t]))[:2] + 1
        detail = tr_lazy(
            "Bit {t} of {n}, moved across by these. {bits} Heaviest reference cases: {anchors} "
            "and {anchors2} of {n2}.",
            t=t + 1,
            n=len(amounts),
            bits=_sides(bool(bits[0, t])),
            anchors=anchors[0],
            anchors2=anchors[-1],
            n2=len(distance.rows),
        )
        shares.append(
            DistanceShare(" + ".join(grouping.groups[group] for group in order), float(amounts[t]), detail)
        )
    return shares


def _votes(distance: StumpDistance, pair: Matrix, names: _Names) -> list[DistanceShare]:
    z = pair[0] @ distance.directions - pair[1] @ distance.directions
    voted = z * z >= distance.thresholds
    amounts = np.where(voted, distance.weights, 0.0)
    detailed = set(np.argsort(-np.abs(amounts))[:DETAILED].tolist())
    shares = []
    for t, amount in enumerate(amounts.tolist()):
        if amount and t in detailed:
            times = abs(z[t]) / np.sqrt(distance.thresholds[t])
            text = names.of(distance.directions[:, t])
            detail = tr_lazy(
                "Vote {t} of {n}: the two are {times:.2g} times its threshold apart.",
                t=t + 1,
                n=len(amounts),
                times=times,
            )
            shares.append(DistanceShare(text, amount, detail))
        elif amount:
            shares.append(DistanceShare(tr_lazy("vote {t}", t=t + 1), amount))
    total = float(amounts.sum())
    return [*shares, DistanceShare(tr_lazy("Lifted to zero"), -total)] if total < 0.0 else shares
