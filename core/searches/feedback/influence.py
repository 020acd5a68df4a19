"""The influence of each judgement on the ranking: the ranks with it and without it.

From the form D of all judgements one Newton step approximates the form of the others: D - H^-1 g, where g is the
gradient of their objective (:mod:`semblance.core.metrics.relevance_feedback.triplet_learning`) at D and H the Hessian
for all judgements (Beirami et al. 2017). The judgements of the same query, the weights, the trust and the directions
are computed again exactly. With many coordinates the Hessian is computed in those where the judged cases differ most,
and is the identity in the others.
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
    DifferencePairs,
    on_form,
    sigma,
)
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.feedback.ledger import LedgerEntry
from semblance.core.searches.feedback.relevance_feedback import (
    Coordinates,
    feature_weight,
    gather_feedback,
    learn_form,
    maximum_weight,
    stretch_directions,
    trust,
)
from semblance.core.tasks import SILENT, Reporter
from semblance.core.threads import one_thread

#: Maximum number m of coordinates of the Hessian, which has m (m + 1) / 2 rows.
MAX_COORDINATES = 64
#: Number of Newton steps solved together.
_BATCH = 64

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _QueryFeedback:
    """The triplets of one query, or of one comparison.

    ``pairs`` with their ``weights`` before the common factor; ``gradient`` (m, m) of their loss at D; ``change``
    (m, m) their weighted sum; ``n_triplets`` and ``weight`` include triplets of identical points.
    """

    pairs: DifferencePairs | None
    gradient: Matrix | None
    change: Matrix | None
    n_triplets: int
    weight: float
    judgements: int
    separating_directions: list[tuple[int, SeparatingDirection | None]]


class LeaveOneOut:
    """The forms of :func:`~semblance.core.searches.feedback.relevance_feedback.learn_form` without one judgement."""

    def __init__(
        self,
        judgements: Sequence[Judgement],
        coordinates: Coordinates,
        m: int,
        strength: float = 1.0,
        initial_weights: InitialWeights | None = None,
    ) -> None:
        self._judgements, self._coordinates, self._m = list(judgements), coordinates, m
        self._strength, self._initial_weights = strength, initial_weights

    def forms(self) -> Iterator[FeedbackForm]:
        """The form without each judgement, in their order."""
        with one_thread():
            triplets = gather_feedback(self._judgements, self._coordinates).weighted_triplets()
        if triplets is None or len(triplets.triplets) <= GRAM_TRIPLETS:
            for place in range(len(self._judgements)):
                remaining = self._judgements[:place] + self._judgements[place + 1 :]
                yield learn_form(remaining, self._coordinates, self._m, self._strength, self._initial_weights)
            return
        with one_thread():
            self._prepare()
        for start in range(0, len(self._judgements), _BATCH):
            with one_thread():
                forms = self._forms_without(range(start, min(start + _BATCH, len(self._judgements))))
            yield from forms

    def _prepare(self) -> None:
        self._members: dict[object, list[Judgement]] = {}
        for one in self._judgements:
            self._members.setdefault(_group_key(one), []).append(one)
        groups_before = {key: self._group(members) for key, members in self._members.items()}
        all_pairs = [group.pairs for group in groups_before.values() if group.pairs is not None]
        self._change = self._sum_of([group.change for group in groups_before.values()])
        self._own_norm = sum(_norm(group.change) for group in groups_before.values())
        joined = _join_pairs(all_pairs, _weight(list(groups_before.values()), self._change, self._own_norm))
        self._D = on_form(joined)
        self._groups = {key: self._with_gradient(group) for key, group in groups_before.items()}
        self._gradient = self._sum_of([group.gradient for group in self._groups.values()])
        self._curvature = _Curvature.of(joined, self._D)

    def _group(self, members: Sequence[Judgement]) -> _QueryFeedback:
        feedback = gather_feedback(members, self._coordinates)
        if not feedback.parts:
            return _QueryFeedback(None, None, None, 0, 0.0, feedback.judgements, [])
        points = np.stack(feedback.points.points)
        triplets = np.concatenate([part for part, _ in feedback.parts])
        weights = np.concatenate([part for _, part in feedback.parts])
        pairs = DifferencePairs.of(points, triplets, weights)
        return _QueryFeedback(
            pairs,
            None,
            pairs.summed(pairs.weights / weights.sum()),
            len(weights),
            float(weights.sum()),
            feedback.judgements,
            feedback.separating_directions(),
        )

    def _with_gradient(self, group: _QueryFeedback) -> _QueryFeedback:
        return group if group.pairs is None else replace(group, gradient=_gradient(group.pairs, self._D))

    def _sum_of(self, matrices: Sequence[Matrix | None]) -> Matrix:
        out = np.zeros((self._m, self._m))
        for one in matrices:
            if one is not None:
                out += one
        return out

    def _forms_without(self, places: range) -> list[FeedbackForm]:
        gradients, groups_without = [], []
        for place in places:
            one = self._judgements[place]
            key = _group_key(one)
            before = self._groups[key]
            remaining = [other for other in self._members[key] if other is not one]
            after = self._with_gradient(self._group(remaining))
            groups = [after if other == key else group for other, group in self._groups.items()]
            change = self._change - _or_zero(before.change, self._m) + _or_zero(after.change, self._m)
            weight = _weight(groups, change, self._own_norm - _norm(before.change) + _norm(after.change))
            gradient = self._gradient - _or_zero(before.gradient, self._m) + _or_zero(after.gradient, self._m)
            gradients.append(self._D - weight * gradient)
            groups_without.append(groups)
        steps = self._curvature.solve(np.stack(gradients))
        return [
            self._form(self._D - step, groups) for step, groups in zip(steps, groups_without, strict=True)
        ]

    def _form(self, D: Matrix, groups: Sequence[_QueryFeedback]) -> FeedbackForm:
        n_judgements, m = len(self._judgements) - 1, self._m
        directions = [one for group in groups for one in group.separating_directions]
        judgements = sum(group.judgements for group in groups)
        form = FeedbackForm.nearest(D, np.eye(m)).blended(trust(n_judgements))
        form = form.stretched(stretch_directions(directions, judgements, m))
        return form.with_initial_weights(self._initial_weights, feature_weight(n_judgements)).blended(
            self._strength
        )


def _weight(groups: Sequence[_QueryFeedback], change: Matrix, own_norm: float) -> float:
    """The common factor of all weights; ``change`` and ``own_norm`` as for :func:`agreement_of_sums`."""
    informative = [group for group in groups if group.pairs is not None]
    weight = sum(group.weight for group in informative)
    maximum = maximum_weight(
        sum(group.n_triplets for group in informative),
        sum(group.judgements for group in groups),
        agreement_of_sums(change, own_norm, len(informative)),
    )
    return maximum / weight if weight > 0.0 else 0.0


def _group_key(one: Judgement) -> object:
    """Marks are grouped by query; each comparison is its own group."""
    return one.statement if one.kind == JudgementKind.CLOSER else one.query_key


def _or_zero(matrix: Matrix | None, m: int) -> Matrix:
    return np.zeros((m, m)) if matrix is None else matrix


def _norm(matrix: Matrix | None) -> float:
    return 0.0 if matrix is None else float((matrix**2).sum())


def _join_pairs(parts: Sequence[DifferencePairs], weight: float) -> DifferencePairs:
    """All pairs in one, with weights multiplied by ``weight``."""
    starts = np.cumsum([0, *(len(part.z) for part in parts)])
    return DifferencePairs(
        np.concatenate([part.z for part in parts]),
        np.concatenate([part.near + start for part, start in zip(parts, starts, strict=False)]),
        np.concatenate([part.far + start for part, start in zip(parts, starts, strict=False)]),
        np.concatenate([part.sizes for part in parts]),
        weight * np.concatenate([part.weights for part in parts]),
    )


def _gradient(pairs: DifferencePairs, D: Matrix) -> Matrix:
    """(m, m) sum of w s sigma(-s <D, A>) A, the negative gradient of the loss at D."""
    return pairs.summed(SLOPE * pairs.weights * sigma(-SLOPE * pairs.margins(D)))


@dataclass(frozen=True, eq=False)
class _Curvature:
    """H = I + sum of c A A' over symmetric matrices, c = w s^2 sigma (1 - sigma).

    ``basis`` B (m, r), orthonormal columns, or ``None`` for all coordinates; ``factor`` the Cholesky factor, in
    float32, of H in this basis.
    """

    basis: Matrix | None
    factor: tuple[Matrix, bool]

    @classmethod
    def of(cls, pairs: DifferencePairs, D: Matrix) -> _Curvature:
        from scipy.linalg import cho_factor
        from scipy.sparse import csr_array

        n, t = len(pairs.z), len(pairs.sizes)
        error = sigma(-SLOPE * pairs.margins(D))
        roots = SLOPE * np.sqrt(pairs.weights * error * (1.0 - error)) / pairs.sizes
        rows, ends = np.tile(np.arange(t), 2), np.concatenate([pairs.far, pairs.near])
        K = csr_array((np.concatenate([roots, -roots]), (rows, ends)), shape=(t, n))
        z, basis = pairs.z, None
        if len(D) > MAX_COORDINATES:
            sums = np.bincount(pairs.far, roots, n) + np.bincount(pairs.near, roots, n)
            basis = np.linalg.eigh((z.T * sums) @ z)[1][:, -MAX_COORDINATES:]
            z = z @ basis
        squares = _outer_products(z)
        H = squares.T @ np.asarray((K.T @ K).astype(np.float32) @ squares)
        H[np.diag_indices(len(H))] += 1.0
        return cls(basis, cho_factor(H, lower=True, overwrite_a=True))

    def solve(self, gradients: Matrix) -> Matrix:
        """(n, m, m) -> (n, m, m): H^-1 of each."""
        from scipy.linalg import cho_solve

        B = self.basis
        projected = gradients if B is None else B.T @ gradients @ B
        first, second = np.triu_indices(projected.shape[1])
        triangles = cho_solve(self.factor, _upper_triangles(projected).T).T.astype(np.float64)
        triangles /= np.where(first == second, 1.0, np.sqrt(2.0))
        out = np.empty_like(projected)
        out[:, first, second] = triangles
        out[:, second, first] = triangles
        return out if B is None else gradients + B @ (out - projected) @ B.T


def _upper_triangles(symmetric: Matrix) -> npt.NDArray[np.float32]:
    """(n, m, m) -> (n, m (m + 1) / 2), with the same norms, float32."""
    first, second = np.triu_indices(symmetric.shape[1])
    out = symmetric[:, first, second] * np.where(first == second, 1.0, np.sqrt(2.0))
    return out.astype(np.float32)


def _outer_products(z: Matrix) -> npt.NDArray[np.float32]:
    """(n, m) -> (n, m (m + 1) / 2): :func:`_upper_triangles` of each zz', without n matrices (m, m)."""
    single = z.astype(np.float32)
    first, second = np.triu_indices(z.shape[1])
    out = single[:, first]
    out *= single[:, second]
    out *= np.where(first == second, 1.0, np.sqrt(2.0)).astype(np.float32)
    return out


@dataclass(frozen=True)
class Influence:
    """The influence of the judgement ``entry`` on the first ``k`` ranks.

    ``mean_shift``: the mean change of their ranks without it, and ``moved`` the number of ranks that change.
    ``most_moved``: the index, among the candidates, of the case that moves most, ``rank`` its rank (from 1) and
    ``shift`` its rank without the judgement minus its rank with it. Above 0 the judgement improves its rank.
    """

    entry: int
    mean_shift: float
    moved: int
    most_moved: int
    rank: int
    shift: int


def influences(
    entries: Sequence[LedgerEntry],
    coordinates: Coordinates,
    candidates: Matrix,
    query: Matrix,
    *,
    k: int = 20,
    strength: float = 1.0,
    initial_weights: InitialWeights | None = None,
    reporter: Reporter = SILENT,
) -> list[Influence]:
    """The influence of each of the ``entries`` in force, by learning without it.

    ``candidates`` (c, m): the cases that may get one of the first ``k`` ranks, such as the nearest
    500; ``query`` (m,); ``initial_weights`` as for
    :func:`semblance.core.searches.feedback.relevance_feedback.learn_form`.
    """
    judgements = [entry.judgement for entry in entries]
    differences = candidates - query
    now = _ranks(learn_form(judgements, coordinates, len(query), strength, initial_weights), differences)
    out = []
    # One at a time, so that a cancelled job stops learning.
    without = LeaveOneOut(judgements, coordinates, len(query), strength, initial_weights).forms()
    for place, entry in enumerate(entries):
        reporter.check_cancelled()
        reporter.progress(place, len(entries), "Influence of each mark")
        out.append(influence_of(entry.id, now, _ranks(next(without), differences), k))
    return out


def influence_of(entry: int, now: Rows, without: Rows, k: int) -> Influence:
    """Of ``entry``, by the ranks (c,) of the candidates ``now`` and ``without`` it, from 0."""
    shown = np.flatnonzero(now < k)
    if not len(shown):
        return Influence(entry, 0.0, 0, 0, 0, 0)
    shift = without - now
    of_shown = np.abs(shift[shown])
    most = int(shown[of_shown.argmax()])
    moved = int(np.count_nonzero(of_shown))
    return Influence(entry, float(of_shown.mean()), moved, most, int(now[most]) + 1, int(shift[most]))


def ranks_of(values: Matrix) -> Rows:
    """(c,) the rank of each, from 0; the smallest is first, equal ones stay in their order."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks


def _ranks(form: FeedbackForm, differences: Matrix) -> Rows:
    return ranks_of(form.squared(differences))
