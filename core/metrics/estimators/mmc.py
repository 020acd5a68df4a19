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
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner, linear_point
from semblance.core.metrics.moment_learner import chosen_shrinkage, shrinkage_note
from semblance.core.metrics.numerics.covariance import ledoit_wolf_of_rows, roots_of_rows
from semblance.core.metrics.numerics.minimise import Descent, minimise
from semblance.core.metrics.training_data.pairs import pair_differences
from semblance.core.metrics.training_data.rows import TrainingInput, codes_of_findings
from semblance.core.metrics.training_data.validation import (
    Rows,
    best_shrinkage,
    chosen_rounds,
    validation_part,
)

#: Arrays of pairs x features held at once.
_COPIES = 5


class MMC(declarations.MMC, LinearLearner):
    """Maximises sum_D |x - x'|_M subject to sum_S |x - x'|_M^2 <= 1, M positive semidefinite (Eqs. 3 to 5).

    Few pairs leave directions in which similar ones hardly differ, and the optimum spreads cases along these. So
    the scatter of similar pairs is shrunk as the covariance of :class:`Mahalanobis` is, and the number of rounds is
    chosen on cases set aside, where findings are given.

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

    def _learn(self, data: TrainingInput) -> LearntMap:
        source, z = pair_differences(self.title, data, draw=self.draw, copies=_COPIES)
        similar, dissimilar = z[source.label > 0], z[source.label < 0]
        if not dissimilar.any():
            raise BadInput("Cases called dissimilar have the same features.", "Extract other features first.")
        if not similar.any():
            raise BadInput("Cases called similar have the same features.", "Nothing is left to learn.")

        codes = None if data.y is None else codes_of_findings(len(data.X), data.y)[0]

        def map_of(rows: Rows) -> Callable[[float], Matrix]:
            within = source.within(rows, len(data.X)).similar_differences(data.X)
            roots = roots_of_rows(within) if len(within) else None
            return lambda amount: np.eye(data.X.shape[1]) if roots is None else roots.root(amount)[0]

        def choose() -> float | None:
            if codes is None:
                return None
            return best_shrinkage(data.X, codes, data.groups, data.seed, map_of, self.n_jobs)

        shrinkage, how = chosen_shrinkage(self.shrinkage, choose, lambda: ledoit_wolf_of_rows(similar))
        white, used = roots_of_rows(similar).root(shrinkage)

        def spread(apart: Matrix, rounds: int, what: str, **reports: Any) -> Descent:
            apart = apart[np.einsum("ij,ij->i", apart, apart) > 0.0]
            start = np.eye(len(white))
            function = functools.partial(negative_spread, apart=apart)
            return minimise(function, start, rounds=rounds, reporter=data.reporter, what=what, **reports)

        def on_part(rows: Rows, ended: Callable[[Matrix], bool]) -> None:
            pairs = source.within(rows, len(data.X))
            apart = pairs.differences(data.X)[pairs.label < 0] @ white.T
            if apart.any():
                what = tr_lazy("{title}: choosing the number of rounds", title=self.title)
                spread(apart, self.rounds, what, ended=lambda F: ended(_unit(F) @ white))

        part = None
        if codes is not None and (codes >= 0).all():
            part = validation_part(data.X, codes, data.groups, self.validation, data.seed)
        rounds, chosen = chosen_rounds(part, self.rounds, on_part)
        found = spread(
            dissimilar @ white.T,
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
