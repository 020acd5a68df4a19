"""MMC: spreads dissimilar pairs as far as a fixed sum over similar pairs allows.

Xing, Ng, Jordan, Russell: Distance metric learning, with application to clustering with side-information.
NIPS 2002 (their Eqs. 3 to 5). Measured in the scatter of similar pairs the constraint is tr(B) = 1, so the
problem is a smooth one over factors of B, as Ying & Li (2012, Distance metric learning with eigenvalue
optimization) noted; no alternating projections are needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, linear_point
from semblance.core.metrics.moment_learner import chosen_shrinkage, shrinkage_note
from semblance.core.metrics.numerics.covariance import (
    Moments,
    ShrunkRoots,
    covariance,
    fourth_moment,
    ledoit_wolf,
    roots_of_rows,
)
from semblance.core.metrics.numerics.minimise import Descent, minimise
from semblance.core.metrics.prepared_learner import PreparedLinearLearner
from semblance.core.metrics.training_data.pairs import FEWER_PAIRS, Pairs, training_pairs
from semblance.core.metrics.training_data.rows import (
    TrainingInput,
    check_different,
    check_memory,
    codes_of_findings,
)
from semblance.core.metrics.training_data.validation import (
    Rows,
    best_shrinkage,
    chosen_rounds,
    validation_part,
)

#: Arrays of pairs x features held at once.
_COPIES = 5
#: Pairs of findings at most where their number is not given.
_MOST_PAIRS = 20_000
#: Whitened directions in which cases are spread, at most.
_MOST_DIRECTIONS = 128
#: Splits by whose mean error the number of rounds is chosen: one alone depends on the seed.
_SPLITS = 4


class MMC(declarations.MMC, PreparedLinearLearner):
    """Maximises sum_D |x - x'|_M subject to sum_S |x - x'|_M^2 <= 1, M positive semidefinite (Eqs. 3 to 5).

    Few pairs leave directions in which similar ones hardly differ, and the optimum spreads cases along these. So
    the scatter of similar pairs is shrunk as the covariance of :class:`Mahalanobis` is, and the number of rounds is
    chosen on cases set aside, where findings are given. With findings alone, and no number
    of pairs asked for, that scatter is the one of all cases about the means of their findings, which needs no draw.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("mmc", random_state=0).fit(X, y)
        >>> learner.score(X, y) > 0.9
        True
    """

    def _choices(self) -> dict[str, Any]:
        return {"shrinkage": self._shrinkage, "rounds": self._rounds, "validation": 0.0}

    def _learn(self, data: TrainingInput) -> LearntMap:
        X, n = data.X, len(data.X)
        codes = None if data.y is None else codes_of_findings(n, data.y)[0]
        draw = self.draw
        if not draw:
            findings = 2 if codes is None else max(2, int(codes.max(initial=0)) + 1)
            draw = -(-_MOST_PAIRS // (findings * (findings - 1)))
        source = training_pairs(self.title, n, data.y, data.pairs, draw=draw, seed=data.seed)
        check_different(X)
        check_memory(
            8.0 * _COPIES * len(source) * min(X.shape[1], _MOST_DIRECTIONS),
            tr_lazy("{n:,} pairs of cases of {shape:,} features", n=len(source), shape=X.shape[1]),
            FEWER_PAIRS,
        )
        if not (source.take(np.flatnonzero(source.label < 0)).lengths(X) > 0.0).any():
            raise BadInput("Cases called dissimilar have the same features.", "Extract other features first.")

        def roots_of(rows: Rows | None = None) -> ShrunkRoots | None:
            """Of the scatter of similar cases; ``None`` where no two of ``rows`` are similar."""
            if codes is not None and data.pairs is None and not self.draw:
                part = slice(None) if rows is None else rows
                moments = Moments.of(X[part], codes[part], int(codes.max()) + 1)

                def estimate() -> float:
                    return ledoit_wolf(
                        moments.covariance, moments.n, fourth_moment(X[part], codes[part], moments.means)
                    )

                return ShrunkRoots(moments.covariance, estimate) if moments.scatter.any() else None
            pairs = source if rows is None else source.within(rows, n)
            similar = pairs.similar_differences(X)
            return roots_of_rows(similar) if similar.any() else None

        def map_of(rows: Rows) -> Callable[[float], Matrix]:
            roots = roots_of(rows)
            return lambda amount: np.eye(X.shape[1]) if roots is None else roots.root(amount)[0]

        def choose() -> float | None:
            return (
                None
                if codes is None
                else best_shrinkage(X, codes, data.groups, data.seed, map_of, self.n_jobs)
            )

        roots = roots_of()
        if roots is None:
            raise BadInput("Cases called similar have the same features.", "Nothing is left to learn.")
        shrinkage, how = chosen_shrinkage(self.shrinkage, choose, roots.estimate)
        white, used = roots.root(shrinkage)
        self._shrinkage = used
        whitened = X @ white.T
        if len(white) > _MOST_DIRECTIONS:
            # Dissimilar cases do not differ along the others more than similar ones.
            directions = np.linalg.eigh(covariance(whitened - whitened.mean(axis=0)))[1]
            white = directions[:, -_MOST_DIRECTIONS:].T @ white
            whitened = X @ white.T

        def spread(pairs: Pairs, rounds: int, what: str, **reports: Any) -> Descent:
            apart = pairs.take(np.flatnonzero(pairs.label < 0)).differences(whitened)
            apart = apart[np.einsum("ij,ij->i", apart, apart) > 0.0]
            start = np.eye(len(white))
            function = functools.partial(negative_spread, apart=apart)
            return minimise(function, start, rounds=rounds, reporter=data.reporter, what=what, **reports)

        def on_part(rows: Rows, ended: Callable[[Matrix], bool]) -> None:
            pairs = source.within(rows, n)
            if (pairs.label < 0).any():
                what = tr_lazy("{title}: choosing the number of rounds", title=self.title)
                spread(pairs, self.rounds, what, ended=lambda F: ended(_unit(F) @ white))

        parts = []
        if codes is not None and (codes >= 0).all():
            for turn in range(_SPLITS):
                part = validation_part(X, codes, data.groups, self.validation, data.seed, turn)
                parts += [] if part is None else [part]
        rounds, chosen = chosen_rounds(parts, self.rounds, on_part)
        self._rounds = rounds
        found = spread(
            source,
            rounds,
            self.title,
            point=lambda number, value, F: linear_point(number, value, _unit(F) @ white),
        )
        notes = (found.note, *chosen, *shrinkage_note(used, how))
        return LearntMap(_unit(found.best) @ white, notes, source.counts(), rounds=found.rounds)


def negative_spread(F: Matrix, apart: Matrix) -> tuple[float, Matrix]:
    """-mean |F z| / |F| over the rows z of ``apart`` (p, d), and its gradient in F (m, d).

    With B = F'F / |F|^2, of trace 1, that is -mean sqrt(z'Bz), convex in B.
    """
    size = float(np.sqrt(np.square(F).sum()))
    Y = apart @ F.T
    lengths = np.sqrt(np.einsum("ij,ij->i", Y, Y))
    value = float(lengths.mean()) / size
    weights = np.where(lengths > 0.0, 1.0 / np.maximum(lengths, 1e-300), 0.0) / (len(apart) * size)
    gradient: Matrix = (Y * weights[:, np.newaxis]).T @ apart
    return -value, value / size**2 * F - gradient


def _unit(F: Matrix) -> Matrix:
    unit: Matrix = F / np.sqrt(np.square(F).sum())
    return unit
