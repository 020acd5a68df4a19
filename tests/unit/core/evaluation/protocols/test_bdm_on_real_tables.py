"""The figures an independent implementation reached on public tables are reached again."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.metrics.steps import parse_steps

#: Retrieval accuracy @10: the least BDM and BDM+V must reach, and Euclid's to within 0.02.
FIGURES = {"sonar": (0.645, 0.70), "ionosphere": (0.787, 0.83)}


@pytest.mark.parametrize("table", FIGURES)
def test_bdm_retrieves_clearly_better_than_euclidean(data, table):
    text = np.loadtxt(data / "tables" / f"{table}.csv", delimiter=",", dtype=str, skiprows=1)
    rows = EvaluationData(text[:, :-1].astype(float), text[:, -1], source=f"{table}.csv")
    learners = [LearnerSpec(name) for name in ("euclidean", "bdm", "bdm_v")]
    result = get_protocol("bdm").run(rows, learners, steps=parse_steps("standardise"), repeats=5)
    plain, *boosted = (one.scores["retrieval_accuracy@10"].mean for one in result.results)
    known, least = FIGURES[table]
    assert plain == pytest.approx(known, abs=0.02)
    assert min(boosted) >= least
