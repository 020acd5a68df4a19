"""The tables on which fits are timed: standardised on the training part, the rest held out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.splits import HoldOut, hold_out
from semblance.core.library.importers.table import read_table

MAX_CASES = 2000
NAMES = ("wine", "ionosphere", "sonar", "breast_cancer_original", "satellite", "letter")
#: Where the customary training part ends.
_TRAINING = {"satellite": 4435, "letter": 16_000}
_SEED = 0


@dataclass(frozen=True, eq=False)
class TimingTable:
    """Standardised rows with their findings, and which are trained on and which are held out."""

    name: str
    data: EvaluationData
    split: HoldOut

    @property
    def size(self) -> str:
        return f"{len(self.split.train):,} × {self.data.X.shape[1]}"

    @property
    def train(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_]]:
        return self.data.X[self.split.train], self.data.y[self.split.train]


def timing_table(folder: Path, name: str) -> TimingTable:
    """A table of the folder of real data; 30 % are held out where no division is customary."""
    read = read_table(folder / "tables" / f"{name}.csv")
    y = np.array(read.findings)
    if name in _TRAINING:
        train, test = np.arange(min(MAX_CASES, _TRAINING[name])), np.arange(_TRAINING[name], len(y))
        # The first rows of satellite lack a finding, which nothing fitted on them could tell.
        test = test[np.isin(y[test], y[train])]
        split = HoldOut(train, test, by_patient=False, seed=_SEED)
    else:
        split = hold_out(y.tolist(), None, _SEED)
    return standardised_table(name, np.asarray(read.X), y, split)


def standardised_table(
    name: str, X: npt.NDArray[np.float64], y: npt.NDArray[np.str_], split: HoldOut
) -> TimingTable:
    """Rows (n, d) scaled by mean and deviation of the training rows; columns constant there are dropped."""
    mean, deviation = X[split.train].mean(axis=0), X[split.train].std(axis=0)
    varying = deviation > 0.0
    return TimingTable(
        name, EvaluationData((X - mean)[:, varying] / deviation[varying], y, source=name), split
    )
