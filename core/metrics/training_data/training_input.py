"""The input of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter


@dataclass(frozen=True, eq=False)
class TrainingInput:
    """The checked input of a fit: ``X`` (n, d); see :meth:`semblance.core.metrics.learner.Learner.fit`."""

    X: Matrix
    y: npt.ArrayLike | None
    pairs: npt.NDArray[np.int64] | None
    triplets: npt.NDArray[np.int64] | None
    groups: npt.ArrayLike | None
    reporter: Reporter
    seed: int
