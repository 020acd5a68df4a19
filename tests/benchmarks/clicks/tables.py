"""The tables users click on: split anew for every user, the training part laid out for learning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from core.evaluation.splits import holdout
from core.library.importers.tables_csv import read_table
from core.metrics.distances import LinearDistance
from core.metrics.online.click_form import ClickForm
from core.metrics.online.click_space import ClickSpace

Matrix = npt.NDArray[np.float64]
NAMES = ("lidc_nodules", "ionosphere", "lung_texture", "sonar", "balance_scale", "letter")
#: Settings were chosen on these; the others were left alone.
DEVELOPMENT = ("ionosphere", "balance_scale")
#: Cases drawn of larger tables, anew for every user.
MOST = 1400
RANK = 10


@dataclass(frozen=True, eq=False)
class Part:
    """Standardised rows, their coordinates for clicks and findings as numbers."""

    X: Matrix
    Z: Matrix
    y: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Desk:
    """One user's cases: asked about only in ``train``, measured only on ``test``."""

    train: Part
    test: Part

    def accuracy(self, form: ClickForm) -> float:
        """Retrieval accuracy@10 inside the held-out part, each case asking all others."""
        return accuracy(form.embed(self.test.Z), self.test.y)


def accuracy(E: Matrix, y: npt.NDArray[np.int64], queries: Matrix | None = None) -> float:
    """Share of the 10 nearest others with the finding; ``queries`` (n, m) stand for moved queries."""
    Q = E if queries is None else queries
    D = (Q**2).sum(axis=1)[:, np.newaxis] - 2.0 * Q @ E.T + (E**2).sum(axis=1)
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1, kind="stable")[:, :RANK]
    return float((y[near] == y[:, np.newaxis]).mean())


def read(folder: Path, name: str) -> tuple[Matrix, npt.NDArray[np.str_]]:
    """Rows and findings; LIDC's ratings as benign (<= 2) and malignant (>= 4), the undecided left out."""
    table = read_table(folder / "tables" / f"{name}.csv")
    X, y = np.asarray(table.X), np.array(table.findings)
    if name == "lidc_nodules":
        decided = y != "3"
        X, y = X[decided], np.where(y[decided] < "3", "benign", "malignant")
    return X, y


def desk(X: Matrix, y: npt.NDArray[np.str_], seed: int) -> Desk:
    """70 % of (at most 1,400) cases to train on, 30 % held out, scaled by the training part."""
    chosen = np.random.default_rng(seed).permutation(len(y))[:MOST]
    X, y = X[chosen], y[chosen]
    split = holdout(y.tolist(), None, seed)
    middle = np.nanmedian(X[split.train], axis=0)
    X = np.where(np.isnan(X), middle, X)
    mean, deviation = X[split.train].mean(axis=0), X[split.train].std(axis=0)
    kept = deviation > 0.0
    X = (X - mean)[:, kept] / deviation[kept]
    codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
    space = ClickSpace.of(LinearDistance(X.shape[1]), X[split.train])
    parts = [Part(X[rows], space.coordinates(X[rows]), codes[rows]) for rows in (split.train, split.test)]
    return Desk(*parts)
