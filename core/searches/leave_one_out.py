"""What judgements would have taught without one of them, without learning anew for each.

From what all of them taught, D, one Newton step leads towards what the rest teach: D - H^-1 g, g the gradient
of their objective (:mod:`semblance.core.metrics.relevance_feedback.triplet_learning`) at D and H the
Hessian of all judgements'. What was said of the same query is taken into account anew and exactly, and so are
weights, trust and directions;
only the curvature is that of all (Beirami et al. 2017). In many coordinates it is told along those where what
was judged differs most, and taken to be that of no judgement across.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.relevance_feedback.judgement_agreement import (
    SeparatingDirection,
    agreement_of_sums,
)
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, InitialWeights
from semblance.core.metrics.relevance_feedback.triplet_learning import (
    GRAM_TRIPLETS,
    SLOPE,
    Pairs,
    on_form,
    sigma,
)
from semblance.core.searches.judgement import Judgement, Kind
from semblance.core.searches.relevance_feedback import (
    Coordinates,
    gather_feedback,
    learn,
    most_weight,
    one_thread,
    opened,
    stretched_along,
    trust,
)

#: Coordinates the Hessian, of half as many squared, is made in at most.
MOST_COORDINATES = 64
#: Steps solved for together.
_TOGETHER = 64


@dataclass(frozen=True, eq=False)
class _Group:
    """What was said of one query, or one comparison, in numbers.

    ``pairs`` with their ``weights`` before all are weighed; ``pull`` (m, m) the gradient they make at D;
    ``change`` (m, m) what they ask for; ``n_triplets`` and ``weight`` also of those that teach nothing.
    """

    pairs: Pairs | None
    pull: Matrix | None
    change: Matrix | None
    n_triplets: int
    weight: float
    judgements: int
    separating_directions: list[tuple[int, SeparatingDirection | None]]


class LeaveOneOut:
    """Forms (:func:`semblance.core.searches.relevance_feedback.learn`) of all ``said`` but one, each said once."""

    def __init__(
        self,
        judgements: Sequence[Judgement],
        coordinates: Coordinates,
        m: int,
        strength: float = 1.0,
        beginning: InitialWeights | None = None,
    ) -> None:
        self._judgements, self._coordinates, self._m = list(judgements), coordinates, m
        self._strength, self._beginning = strength, beginning

    def forms(self) -> Iterator[FeedbackForm]:
        """One for each judgement, in order."""
        with one_thread():
            judged = gather_feedback(self._judgements, self._coordinates).judged()
        if judged is None or len(judged.triplets) <= GRAM_TRIPLETS:
            for place in range(len(self._judgements)):
                rest = self._judgements[:place] + self._judgements[place + 1 :]
                yield learn(rest, self._coordinates, self._m, self._strength, self._beginning)
            return
        with one_thread():
            self._prepare()
        for start in range(0, len(self._judgements), _TOGETHER):
            with one_thread():
                forms = self._some(range(start, min(start + _TOGETHER, len(self._judgements))))
            yield from forms

    def _prepare(self) -> None:
        self._members: dict[object, list[Judgement]] = {}
        for one in self._judgements:
            self._members.setdefault(_query_of(one), []).append(one)
        raw = {key: self._group(members) for key, members in self._members.items()}
        every = [group.pairs for group in raw.values() if group.pairs is not None]
        self._change = self._sum_of([group.change for group in raw.values()])
        self._own = sum(_norm(group.change) for group in raw.values())
        whole = _joined(every, _weight(list(raw.values()), self._change, self._own))
        self._D = on_form(whole)
        self._groups = {key: self._pulled(group) for key, group in raw.items()}
        self._pull = self._sum_of([group.pull for group in self._groups.values()])
        self._curvature = _Curvature.of(whole, self._D)

    def _group(self, members: Sequence[Judgement]) -> _Group:
        given = gather_feedback(members, self._coordinates)
        if not given.parts:
            return _Group(None, None, None, 0, 0.0, given.judgements, [])
        points = np.stack(given.points.points)
        triplets = np.concatenate([part for part, _ in given.parts])
        weights = np.concatenate([part for _, part in given.parts])
        pairs = Pairs.of(points, triplets, weights)
        return _Group(
            pairs,
            None,
            pairs.summed(pairs.weights / weights.sum()),
            len(weights),
            float(weights.sum()),
            given.judgements,
            given.separating_directions(),
        )

    def _pulled(self, group: _Group) -> _Group:
        return group if group.pairs is None else replace(group, pull=_pull(group.pairs, self._D))

    def _sum_of(self, matrices: Sequence[Matrix | None]) -> Matrix:
        out = np.zeros((self._m, self._m))
        for one in matrices:
            if one is not None:
                out += one
        return out

    def _some(self, places: range) -> list[FeedbackForm]:
        gradients, rest = [], []
        for place in places:
            one = self._judgements[place]
            key = _query_of(one)
            before = self._groups[key]
            left = [other for other in self._members[key] if other is not one]
            now = self._pulled(self._group(left))
            groups = [now if other == key else group for other, group in self._groups.items()]
            change = self._change - _or_zero(before.change, self._m) + _or_zero(now.change, self._m)
            weight = _weight(groups, change, self._own - _norm(before.change) + _norm(now.change))
            pull = self._pull - _or_zero(before.pull, self._m) + _or_zero(now.pull, self._m)
            gradients.append(self._D - weight * pull)
            rest.append(groups)
        steps = self._curvature.solved(np.stack(gradients))
        return [self._form(self._D - step, groups) for step, groups in zip(steps, rest, strict=True)]

    def _form(self, D: Matrix, groups: Sequence[_Group]) -> FeedbackForm:
        number, m = len(self._judgements) - 1, self._m
        directions = [one for group in groups for one in group.separating_directions]
        judgements = sum(group.judgements for group in groups)
        form = FeedbackForm.nearest(D, np.eye(m)).blended(trust(number))
        form = form.stretched(stretched_along(directions, judgements, m))
        return form.begun(self._beginning, opened(number)).blended(self._strength)


def _weight(groups: Sequence[_Group], change: Matrix, own: float) -> float:
    """What each triplet's own weight is times; ``change`` and ``own`` as for :func:`agreement_of_sums`."""
    teach = [group for group in groups if group.pairs is not None]
    weight = sum(group.weight for group in teach)
    most = most_weight(
        sum(group.n_triplets for group in teach),
        sum(group.judgements for group in groups),
        agreement_of_sums(change, own, len(teach)),
    )
    return most / weight if weight > 0.0 else 0.0


def _query_of(one: Judgement) -> object:
    """What judgements are taken together by: the query of thumbs, a comparison for itself."""
    return one.statement if one.kind == Kind.CLOSER else one.asked


def _or_zero(matrix: Matrix | None, m: int) -> Matrix:
    return np.zeros((m, m)) if matrix is None else matrix


def _norm(matrix: Matrix | None) -> float:
    return 0.0 if matrix is None else float((matrix**2).sum())


def _joined(parts: Sequence[Pairs], weight: float) -> Pairs:
    """All of them as one, ``weight`` times as heavy."""
    starts = np.cumsum([0, *(len(part.z) for part in parts)])
    return Pairs(
        np.concatenate([part.z for part in parts]),
        np.concatenate([part.near + start for part, start in zip(parts, starts, strict=False)]),
        np.concatenate([part.far + start for part, start in zip(parts, starts, strict=False)]),
        np.concatenate([part.sizes for part in parts]),
        weight * np.concatenate([part.weights for part in parts]),
    )


def _pull(pairs: Pairs, D: Matrix) -> Matrix:
    """(m, m) sum of w s sigma(-s <D, A>) A: where D would be if they weighed as they are."""
    return pairs.summed(SLOPE * pairs.weights * sigma(-SLOPE * pairs.margins(D)))


@dataclass(frozen=True, eq=False)
class _Curvature:
    """H = I + sum of c A A' over symmetric matrices, c = w s^2 sigma (1 - sigma).

    ``basis`` B (m, r), orthonormal columns, or ``None`` for all coordinates; ``factor`` that of Cholesky, in
    float32, of H inside B.
    """

    basis: Matrix | None
    factor: tuple[Matrix, bool]

    @classmethod
    def of(cls, pairs: Pairs, D: Matrix) -> _Curvature:
        from scipy.linalg import cho_factor
        from scipy.sparse import csr_array

        n, t = len(pairs.z), len(pairs.sizes)
        wrong = sigma(-SLOPE * pairs.margins(D))
        rooted = SLOPE * np.sqrt(pairs.weights * wrong * (1.0 - wrong)) / pairs.sizes
        rows, ends = np.tile(np.arange(t), 2), np.concatenate([pairs.far, pairs.near])
        K = csr_array((np.concatenate([rooted, -rooted]), (rows, ends)), shape=(t, n))
        z, basis = pairs.z, None
        if len(D) > MOST_COORDINATES:
            each = np.bincount(pairs.far, rooted, n) + np.bincount(pairs.near, rooted, n)
            basis = np.linalg.eigh((z.T * each) @ z)[1][:, -MOST_COORDINATES:]
            z = z @ basis
        squares = _squares(z)
        H = squares.T @ np.asarray((K.T @ K).astype(np.float32) @ squares)
        H[np.diag_indices(len(H))] += 1.0
        return cls(basis, cho_factor(H, lower=True, overwrite_a=True))

    def solved(self, gradients: Matrix) -> Matrix:
        """(n, m, m) -> (n, m, m): H^-1 of each."""
        from scipy.linalg import cho_solve

        B = self.basis
        inside = gradients if B is None else B.T @ gradients @ B
        first, second = np.triu_indices(inside.shape[1])
        halves = cho_solve(self.factor, _halves(inside).T).T.astype(np.float64)
        halves /= np.where(first == second, 1.0, np.sqrt(2.0))
        out = np.empty_like(inside)
        out[:, first, second] = halves
        out[:, second, first] = halves
        return out if B is None else gradients + B @ (out - inside) @ B.T


def _halves(symmetric: Matrix) -> npt.NDArray[np.float32]:
    """(n, m, m) -> (n, m (m + 1) / 2), lengths kept, float32."""
    first, second = np.triu_indices(symmetric.shape[1])
    out = symmetric[:, first, second] * np.where(first == second, 1.0, np.sqrt(2.0))
    return out.astype(np.float32)


def _squares(z: Matrix) -> npt.NDArray[np.float32]:
    """(n, m) -> (n, m (m + 1) / 2): :func:`_halves` of each zz', without making n (m, m) of them."""
    single = z.astype(np.float32)
    first, second = np.triu_indices(z.shape[1])
    out = single[:, first]
    out *= single[:, second]
    out *= np.where(first == second, 1.0, np.sqrt(2.0)).astype(np.float32)
    return out
