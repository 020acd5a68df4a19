"""The methods that papers compare with err no more here than their printed values say."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.library.importers.table import read_table
from semblance.core.metrics.steps import parse_steps

#: 3-NN errors in percent with their deviations over ten runs: Shen et al. 2012 (JMLR 13), Table 1. That of ITML on wine
#: is left out: it is on features that were not scaled.
PRINTED = {
    "balance_scale": {
        "lda": (12.58, 2.38),
        "rca": (17.42, 3.58),
        "lmnn": (12.04, 5.59),
        "itml": (10.11, 4.06),
    },
    "wine": {"lda": (0.77, 1.62), "rca": (0.38, 1.22), "lmnn": (3.46, 3.82)},
    "iris": {"lda": (3.18, 3.07), "rca": (3.18, 3.07), "lmnn": (3.64, 2.87), "itml": (3.64, 3.59)},
}


@pytest.mark.parametrize("table", PRINTED)
def test_rivals_reach_printed_errors(data, table):
    read = read_table(data / "tables" / f"{table}.csv")
    cases = EvaluationData(np.asarray(read.X), np.array(read.findings), source=table)
    specs = [LearnerSpec(name) for name in PRINTED[table]]
    result = get_protocol("boostmetric").run(cases, specs, steps=parse_steps("standardise"), seed=0)
    errors = {one.learner: 100 * one.scores["knn_error@3"].mean for one in result.results}
    for name, (mean, deviation) in PRINTED[table].items():
        assert errors[name] <= mean + deviation, errors
