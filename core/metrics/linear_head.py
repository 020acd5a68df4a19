"""What the linear heads share: a smooth loss of deep metric learning, minimised over one linear map.

A head is what is trained on the features of a frozen encoder. The losses are written for the cosine s of unit vectors,
for which |z - z'|^2 = 2 - 2s. Here s = 1 - d/2 with d the squared distance after the map itself, so the result is a
Mahalanobis metric, with all that goes with one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner, linear_point
from semblance.core.metrics.numerics.minimise import Descent, minimise
from semblance.core.metrics.numerics.pair_weights import median_distance
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.validation import chosen_rounds, set_aside

Codes = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]

_COMPONENTS = 128
#: Median squared distance at the start: that of unit vectors in directions of their own.
_SPREAD = 2.0


class Loss(NamedTuple):
    """Value and gradient at parameters (m + r, d), L above; and the r further rows to start from."""

    function: Callable[[Matrix], tuple[float, Matrix]]
    further: Matrix


class LinearHead(LinearLearner):
    """Minimises a loss by L-BFGS from the principal components, for as many rounds as do best on cases set aside."""

    components: int
    rounds: int
    validation: float

    def _minimised(
        self,
        X: Matrix,
        codes: Codes,
        groups: npt.NDArray[np.generic] | None,
        data: TrainingInput,
        loss: Callable[[Rows], Loss],
    ) -> LearntMap:
        """The map learnt from rows (n, d); ``loss(rows)`` is that of these rows after centring and scaling."""
        most = min(*X.shape, self.components or _COMPONENTS)
        directions = PCA(most).fit(X).components_
        start = directions * np.sqrt(_SPREAD / (median_distance(X @ directions.T, data.seed) or 1.0))
        size = len(start)

        def descent(rows: Rows, rounds: int, what: str, **reports: Callable[..., object]) -> Descent:
            found = loss(rows)
            return minimise(
                found.function,
                np.concatenate([start, found.further]),
                rounds=rounds,
                reporter=data.reporter,
                what=what,
                **reports,  # type: ignore[arg-type]
            )

        def on_part(rows: Rows, ended: Callable[[Matrix], bool]) -> None:
            what = tr_lazy("{title}: choosing the number of rounds", title=self.title)
            descent(rows, self.rounds, what, ended=lambda F: ended(F[:size]))

        part = set_aside(X, codes, groups, self.validation, data.seed) if len(codes) else None
        rounds, notes = chosen_rounds(part, self.rounds, on_part)
        found = descent(
            np.arange(len(X)),
            rounds,
            self.title,
            point=lambda number, value, F: linear_point(number, value, F[:size]),
        )
        return LearntMap(found.best[:size], (found.note, *notes), rounds=found.rounds)
