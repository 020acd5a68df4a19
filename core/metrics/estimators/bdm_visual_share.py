"""BDM+V at a chosen place between visual and diagnostic likeness (Yang et al. 2010, 3.5).

The paper calls the nearest neighbours of a case similar beside all that findings say, which leads only part
of the way to looks. Here looks decide a share of the pairs, from none (BDM) to all of them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Similarity, check_usable, count_pairs, no_findings
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.estimators.bdm import BDM
from semblance.core.metrics.training_data.labelled_rows import numbered
from semblance.core.metrics.training_data.looks_and_findings import pairs_between
from semblance.core.parameters import Parameter
from semblance.core.tasks import Reporter


class BDMBetween(BDM):
    """BDM on pairs of which looks decide ``visual_share``; at 0 it is BDM itself."""

    name: ClassVar[str] = "bdm_v"
    title: ClassVar[str] = "BDM+V"
    summary: ClassVar[str] = "One step of the slider between visual and diagnostic likeness."
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "visual_share",
            0.5,
            "Share of the pairs of training cases that looks decide; findings decide the others.",
            minimum=0.0,
            maximum=1.0,
        ),
        *BDM.parameters,
    )

    def __init__(
        self,
        visual_share: float = 0.5,
        rounds: int = 200,
        step: str = "paper",
        random_state: int | None = None,
    ) -> None:
        super().__init__(rounds, step, random_state)
        self.visual_share = visual_share

    def _constraints(
        self,
        X: Matrix,
        y: npt.ArrayLike | None,
        pairs: npt.NDArray[np.int64] | None,
        reporter: Reporter,
    ) -> tuple[Similarity, dict[str, int]]:
        if not self.visual_share:
            return super()._constraints(X, y, pairs, reporter)
        if y is None:
            raise BadInput(
                tr_lazy("{title} learns from findings.", title=self.title), "Give the cases findings."
            )
        codes, names = numbered(len(X), y)
        told = pairs_between(X, codes, self.visual_share, self.random_state or 0, reporter)
        similarity = no_findings(len(X)).with_pairs(told)
        if pairs is not None:
            similarity = similarity.with_pairs(pairs)
        check_usable(similarity, names if self.visual_share < 1.0 else None)
        return similarity, count_pairs(similarity)
