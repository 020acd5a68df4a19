"""Small public tables that come with scikit-learn, for ``--table builtin:NAME``."""

from __future__ import annotations

import numpy as np

from semblance.core.errors import BadArguments
from semblance.core.evaluation.data import EvaluationData
from semblance.core.language import tr_lazy

PREFIX = "builtin:"
NAMES = ("breast_cancer", "digits", "iris", "wine")


def builtin_table(name: str) -> EvaluationData:
    """The table called ``name``, with or without the prefix ``builtin:``; patients are unknown.

    Raises:
        BadArguments: no such table.
    """
    name = name.removeprefix(PREFIX)
    if name not in NAMES:
        raise BadArguments(
            tr_lazy("There is no built-in table '{name}'.", name=name),
            tr_lazy("The tables are: {names}.", names=", ".join(NAMES)),
        )
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    findings = np.array([str(finding) for finding in bunch.target_names])
    return EvaluationData(
        X=np.asarray(bunch.data, dtype=np.float64),
        y=findings[bunch.target],
        feature_names=tuple(str(column) for column in bunch.feature_names),
        source=PREFIX + name,
    )
