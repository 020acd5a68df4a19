"""What learners of triplets learn from: findings, or triplets named one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.labelled_rows import check_one_each, labelled
from semblance.core.metrics.training_data.rows import check_different
from semblance.core.metrics.training_data.triplets import Rows, checked_triplets


class TripletSource(NamedTuple):
    """``triplets`` (t, 3) of the rows ``X`` (n, d), or ``None`` and the findings ``codes`` (n,)."""

    X: Matrix
    codes: npt.NDArray[np.int64]
    triplets: Rows | None


def triplet_source(
    title: str, X: Matrix, y: npt.ArrayLike | None, triplets: npt.ArrayLike | None
) -> TripletSource:
    """The given ``triplets`` of all rows, or else the rows that have a finding.

    Raises:
        BadInput: neither, triplets that :func:`checked_triplets` or findings that :func:`labelled` refuses,
            or equal rows. ``title`` names the learner.
    """
    if triplets is None:
        if y is None:
            raise BadInput(
                tr_lazy("{title} learns from findings or triplets.", title=title), "Give it one of them."
            )
        known = labelled(title, X, y)
        return TripletSource(known.X, known.codes, None)
    if y is not None:
        check_one_each(len(X), len(np.asarray(y)))
    checked = checked_triplets(triplets, len(X))
    check_different(X)
    return TripletSource(X, np.empty(0, dtype=np.int64), checked)
