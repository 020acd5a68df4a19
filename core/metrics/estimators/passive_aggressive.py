"""The passive-aggressive family: a metric learnt from pairs, one after another.

Perez-Suay, Ferri, Arevalillo-Herraez: Passive-aggressive online distance metric learning and extensions.
Progress in Artificial Intelligence 2, 2013. Equation numbers are theirs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.distances.linear import LinearDistance, LinearEmbeddingDistance
from semblance.core.metrics.estimators.margin_model import MarginModel, StepRule, learn_by_each
from semblance.core.metrics.learner import as_value_errors
from semblance.core.metrics.linear_learner import RowSpace
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.numerics.eigenpairs import psd_root
from semblance.core.metrics.prepared_learner import PlainShare, PreparedLearner
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.pairs import Pairs, as_pairs, training_pairs
from semblance.core.metrics.training_data.rows import TrainingInput, check_different, check_features
from semblance.core.metrics.training_data.validation import parallel_map
from semblance.core.tasks import Reporter

#: The candidates for C (4.2).
GRID: tuple[float, ...] = tuple(10.0 ** (exponent / 2.0) for exponent in range(-8, 5))
#: Without a choice and too few pairs to make one.
FALLBACK_C = 0.01
#: Pairs used to choose C at most.
_MOST_TO_CHOOSE = 4_500
#: Numbers of the matrices M that are learnt together, each by another C.
_VALUES = 1 << 20
_FEWEST_PASSES, _USUAL_PASSES, _MOST_STEPS = 2, 50, 100_000
#: Pairs between two looks at the reporter.
_CHUNK = {"end": 4096, "always": 512}
_POINTS = 50


class PassiveAggressive(declarations.PassiveAggressive, PreparedLearner):
    """Each pair on the wrong side of its margin moves the metric just far enough.

    It learns from r = ``draw`` c (c - 1) pairs of c findings (4.2), and from pairs that are given. The reporter
    receives a :class:`TrainingPoint` now and then: how many pairs were learnt from, and the share of them that
    was on the wrong side when it came (predictive 0-1 loss, 4.3.1). Fitted: ``model_``, ``C_``.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("passive_aggressive", random_state=0)
        >>> for part in range(3):  # as they come
        ...     learner = learner.partial_fit(X[part::3], y[part::3])
        >>> learner.threshold_ >= 1.0
        True
    """

    def start_from(self, distance: Distance, threshold: float | None = None) -> Self:
        """Let the next :meth:`fit` or first :meth:`partial_fit` start from ``distance``, not from zero.

        Without a ``threshold`` b, distance and b are scaled to the margin by least squares over the training
        pairs. What is learnt is then a matrix over the embedding of ``distance``.

        Raises:
            BadInput: a distance without an embedding.
        """
        if not getattr(distance, "embeds", True):
            raise BadInput(
                "This metric has no embedding to start from.", "Start from another, or from none at all."
            )
        self._start = (distance, threshold)
        return self

    def _can_prepare(self) -> bool:
        return self._started is None and self.start == "zero"

    def _choices(self) -> dict[str, Any]:
        return {"C": self.C_}

    def _take(self, before: Matrix | None, learnt: Matrix, plain: PlainShare) -> None:
        if before is not None:
            self._base_distance: Distance = LinearDistance(before.shape[1], before)
        self._plain = plain

    def _fit_exactly(self, data: TrainingInput) -> None:
        self._plain, self._preparation = PlainShare(), ()
        rows, seed, reporter = data.X, data.seed, data.reporter
        source = training_pairs(self.title, len(rows), data.y, data.pairs, draw=self.draw, seed=seed)
        check_different(rows)
        base = self._base(rows.shape[1])
        embedded = base.embed(rows)
        space = RowSpace(embedded, plain=self._started is not None)
        state = self._initial(space.rows, source)
        C = self._aggressiveness(state, space.rows, source, seed, reporter)
        passes = self.passes or usual_passes(len(rows), len(source))
        order = _order(source, passes, np.random.default_rng([seed, 1]))
        stopped = self._run_passes(state, space, order, passes * len(source), C, base, reporter)
        ended = stopped or tr_lazy("All {passes} passes over {n} pairs.", passes=passes, n=len(source))
        self._store_model(_whole(state, space), base, C)
        self._card: MetricCard = begin_card(
            self, data, constraints=source.counts(), notes=self._notes(ended), rounds=self.model_.n_pairs
        )

    def partial_fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        pairs: npt.NDArray[np.int64] | None = None,
        groups: npt.ArrayLike | None = None,
        reporter: Reporter | None = None,
    ) -> Self:
        """Take further pairs, once each and in order, on from what was learnt; from nothing the first time.

        With findings and no ``pairs`` those are drawn as by :meth:`fit`. Before any fit, C = 0 means 0.01.

        Raises:
            BadInput, BadArguments, Cancelled: as :meth:`fit`; the learner is then as before the call.
        """
        from semblance.core.constraints import checked_pairs

        fitted = hasattr(self, "model_")
        with self._unchanged_on_failure():
            data = self._training_input(X, y, pairs, None, groups, reporter, further=fitted)
            rows = data.X
            with as_value_errors(len(rows)):
                if data.pairs is None:
                    source = training_pairs(
                        self.title, len(rows), data.y, None, draw=self.draw, seed=data.seed
                    )
                else:
                    source = as_pairs(checked_pairs(data.pairs, len(rows)))
            self._learn_further(data, source, self.C or (self.C_ if fitted else FALLBACK_C), fitted)
        return self

    def _learn_further(self, data: TrainingInput, source: Pairs, C: float, fitted: bool) -> None:
        """The pairs ``source`` of ``data`` once, on from what is ``fitted``."""
        rows = data.X
        base = self._base_distance if fitted else self._base(rows.shape[1])
        embedded = base.embed(rows)
        state = self.model_.copy() if fitted else self._initial(embedded, source)
        space = RowSpace(embedded, plain=True)
        self._run_passes(state, space, iter([source]), len(source), C, base, data.reporter)
        self._store_model(state, base, C)
        card = self._card if fitted else begin_card(self, data)
        counts = {kind: card.constraints.get(kind, 0) + count for kind, count in source.counts().items()}
        notes = (*self._notes(), *getattr(self, "_preparation", ()))
        self._card = dataclasses.replace(card, constraints=counts, notes=notes, rounds=state.n_pairs)

    def metric(self) -> Metric:
        """M made positive semidefinite; C, b, updates and mistakes are on the card."""
        distance: Distance = _distance(self.model_.M, self._base_distance)
        plain: PlainShare = getattr(self, "_plain", PlainShare())
        if plain.share and isinstance(distance, LinearDistance) and distance.L is not None:
            distance = LinearDistance(distance.n_features, plain.mixed(distance.L))
        return self._as_metric(distance)

    @property
    def threshold_(self) -> float:
        """b: pairs at a smaller squared distance count as similar; at least 1."""
        return max(1.0, self.model_.b)

    @property
    def _started(self) -> tuple[Distance, float | None] | None:
        """What to start from, and b there; ``None`` for nothing."""
        given: tuple[Distance, float | None] | None = getattr(self, "_start", None)
        return given

    def _base(self, n_features: int) -> Distance:
        """The distance over whose embedding a matrix is learnt."""
        check_features(n_features)
        distance = LinearDistance(n_features) if self._started is None else self._started[0]
        if distance.n_features != n_features:
            takes = tr_lazy(
                "The metric to start from takes {n_features} features", n_features=distance.n_features
            )
            raise BadInput(
                tr_lazy("{takes}, not {n_features}.", takes=takes, n_features=n_features),
                "Use the same features and steps.",
            )
        if isinstance(distance, LinearEmbeddingDistance):
            return distance.base
        return LinearDistance(n_features) if isinstance(distance, LinearDistance) else distance

    def _initial(self, X: Matrix, source: Pairs) -> MarginModel:
        """M and b before the first pair, for rows X (n, w) in the coordinates learnt in."""
        distance, threshold = self._started or (None, None)
        if distance is None and self.start == "zero":
            return MarginModel(np.zeros((X.shape[1], X.shape[1])))
        L = distance.L if isinstance(distance, LinearDistance | LinearEmbeddingDistance) else None
        M = np.eye(X.shape[1]) if L is None else L.T @ L
        if threshold is not None:
            return MarginModel(M, threshold)
        z = source.differences(X)
        found = np.einsum("ij,ij->i", z @ M, z)
        spread = float(found.var())
        # Least squares of scale d - b = -label: similar pairs belong at b - 1, dissimilar ones at b + 1.
        scale = -float(np.mean((found - found.mean()) * source.label)) / spread if spread > 0.0 else 0.0
        if scale <= 0.0:
            scale = 1.0 / float(found.mean()) if found.mean() > 0.0 else 1.0
        return MarginModel(scale * M, max(1.0, float(scale * found.mean() + source.label.mean())))

    def _aggressiveness(
        self, start: MarginModel, X: Matrix, source: Pairs, seed: int, reporter: Reporter
    ) -> float:
        """The C of :data:`GRID` with the largest AUC on the third of the pairs that is held out."""
        if self.C or self.variant == "pa":
            return self.C or FALLBACK_C
        chosen = np.random.default_rng([seed, 2]).permutation(len(source))[:_MOST_TO_CHOOSE]
        training, validation = chosen[: 2 * len(chosen) // 3], chosen[2 * len(chosen) // 3 :]
        if any(abs(part.label.sum()) > len(part) - 4 for part in map(source.take, (training, validation))):
            training = validation = chosen
        held = source.take(validation).differences(X)
        dissimilar = source.label[validation] < 0
        training_pairs = source.take(training)
        z = training_pairs.differences(X)

        together = max(1, _VALUES // start.M.size)

        def areas_of(first: int) -> list[float]:
            reporter.check_cancelled()
            reporter.progress(first, len(GRID), "Choosing C")
            rules = [StepRule(self.variant, C) for C in GRID[first : first + together]]
            learnt = learn_by_each(start, z, training_pairs.label, rules, _FEWEST_PASSES)
            return [_area(np.square(held @ psd_root(M).T).sum(axis=1), dissimilar) for M in learnt]

        areas = np.concatenate(parallel_map(areas_of, range(0, len(GRID), together), self.n_jobs))
        return GRID[int(np.argmax(areas))]

    def _run_passes(
        self,
        state: MarginModel,
        space: RowSpace,
        order: Iterator[Pairs],
        steps: int,
        C: float,
        base: Distance,
        reporter: Reporter,
    ) -> str:
        """Take all pairs of ``order``, ``steps`` of them; why it ended early, or nothing."""
        rule = StepRule(self.variant, C)
        learn = state.learn if self.psd == "end" else state.learn_positive
        chunk = _CHUNK[self.psd]
        done, n_points = 0, 0
        for pairs in order:
            for begin in range(0, len(pairs), chunk):
                reporter.check_cancelled()
                if done and reporter.stop_requested:
                    return tr_lazy(
                        "Stopped on request after {done} of {steps} pairs.", done=done, steps=steps
                    )
                part = pairs.take(np.arange(begin, min(begin + chunk, len(pairs))))
                learn(part.differences(space.rows), part.label, rule)
                done += len(part)
                reporter.progress(done, steps, self.title)
                if done * _POINTS >= steps * (n_points + 1):
                    n_points = done * _POINTS // steps
                    reporter.partial(_point(state, space, base))
        if not np.isfinite(state.M).all() or not math.isfinite(state.b):
            raise BadInput("The features are too large to learn from.", "Add the step 'standardise'.")
        return ""

    def _store_model(self, state: MarginModel, base: Distance, C: float) -> None:
        self.model_ = state
        self.C_ = C
        self._base_distance = base

    def _notes(self, ended: str = "") -> tuple[str, ...]:
        state = self.model_
        notes = [ended] if ended else []
        if self.variant != "pa":
            notes.append(f"C = {self.C_:.3g}{'' if self.C else ', chosen on training pairs'}.")
        notes.append(
            tr_lazy(
                "{updates} of {n_pairs} pairs moved the metric; threshold {threshold:.4g}.",
                updates=state.updates,
                n_pairs=state.n_pairs,
                threshold=self.threshold_,
            )
        )
        notes.append(
            tr_lazy("{mistakes} pairs were on the wrong side when they came.", mistakes=state.mistakes)
        )
        return tuple(notes)


def usual_passes(n: int, pairs: int) -> int:
    """How often the paper goes through its pairs (4.2): up to a fifth of all pairs of ``n`` cases.

    At least twice, at most 50 times; here also no more than 100,000 pairs in all, for time.
    """
    steps = min(n * (n - 1) // 10, _USUAL_PASSES * pairs, _MOST_STEPS)
    return max(_FEWEST_PASSES, -(-steps // pairs))


def _order(source: Pairs, passes: int, rng: np.random.Generator) -> Iterator[Pairs]:
    for _ in range(passes):
        yield source.take(rng.permutation(len(source)))


def _whole(state: MarginModel, space: RowSpace) -> MarginModel:
    return MarginModel(space.matrix(state.M), state.b, state.n_pairs, state.updates, state.mistakes)


def _distance(M: Matrix, base: Distance) -> Distance:
    L = psd_root(M)
    if not isinstance(base, LinearDistance):
        return LinearEmbeddingDistance(base, L)
    # Without another start it is what whitens the features, if anything does.
    return LinearDistance(base.n_features, L if base.L is None else L @ base.L)


def _point(state: MarginModel, space: RowSpace, base: Distance) -> TrainingPoint:
    M = state.M.copy()
    return TrainingPoint(
        state.n_pairs, state.mistakes / state.n_pairs, lambda: _distance(space.matrix(M), base)
    )


def _area(distances: Matrix, dissimilar: npt.NDArray[np.bool_]) -> float:
    """Chance that a dissimilar pair is farther apart than a similar one, ties counting half."""
    _, place, count = np.unique(distances, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2.0)[place]
    n = int(dissimilar.sum())
    return float((ranks[dissimilar].sum() - n * (n + 1) / 2) / (n * (len(distances) - n)))
