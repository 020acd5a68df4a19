"""The tables that simulated users click on. Each user has a different split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.splits import hold_out, patient_codes
from semblance.core.library.importers.table import read_table
from semblance.core.metrics.distances import LinearDistance
from semblance.core.metrics.relevance_feedback.feedback_space import FeedbackSpace
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, InitialWeights
from tests.benchmarks.clicks.development_tables import DIGIT_TABLES, GENERATED
from tests.benchmarks.clicks.images import IMAGES, read_images

Matrix = npt.NDArray[np.float64]
Names = npt.NDArray[np.str_]
TABLES = ("lidc_nodules", "ionosphere", "lung_texture", "sonar", "balance_scale", "letter")
NAMES = (*TABLES, *IMAGES)
#: Settings were chosen on these tables, and not on the others.
SETTINGS_TABLES = ("ionosphere", "balance_scale")
#: Largest number of cases. Larger tables are sampled for every user.
MAX_CASES = 1400
RANK = 10


@dataclass(frozen=True, eq=False)
class SplitPart:
    """Standardised rows, their feedback coordinates, and findings and patients as numbers."""

    X: Matrix
    Z: Matrix
    y: npt.NDArray[np.int64]
    patients: npt.NDArray[np.int64]

    def accuracy(self, E: Matrix, queries: Matrix | None = None) -> float:
        """Share of the 10 nearest cases of others with the finding; ``queries`` stand for moved queries."""
        Q = E if queries is None else queries
        return self.accuracy_at((Q**2).sum(axis=1)[:, np.newaxis] - 2.0 * Q @ E.T + (E**2).sum(axis=1))

    def accuracy_at(self, distances: Matrix) -> float:
        D = np.where(self.patients[:, np.newaxis] == self.patients, np.inf, distances)
        near = np.argsort(D, axis=1, kind="stable")[:, :RANK]
        return float((self.y[near] == self.y[:, np.newaxis]).mean())


@dataclass(frozen=True, eq=False)
class SplitTable:
    """The cases of one user: questions are about ``train``, accuracy is measured on ``test``."""

    train: SplitPart
    test: SplitPart
    initial_weights: InitialWeights

    def start(self) -> float:
        """The accuracy before any click."""
        return self.accuracy(FeedbackForm.start(self.test.Z.shape[1], self.initial_weights))

    def accuracy(self, form: FeedbackForm) -> float:
        """Retrieval accuracy@10 within the held-out part, with each case as query."""
        return self.test.accuracy(form.embed(self.test.Z))


def read_click_table(folder: Path, name: str) -> tuple[Matrix, Names, Names | None]:
    """Rows, findings and patients. LIDC ratings are benign (<= 2) or malignant (>= 4); others are left out."""
    if name in IMAGES:
        return read_images(folder, name)
    if name in GENERATED:
        return *GENERATED[name](), None
    table = read_table(folder / "tables" / f"{'optdigits' if name in DIGIT_TABLES else name}.csv")
    X, y = np.asarray(table.X), np.array(table.findings)
    if name in DIGIT_TABLES:
        return *DIGIT_TABLES[name](X, y), None
    if name == "lidc_nodules":
        decided = y != "3"
        X, y = X[decided], np.where(y[decided] < "3", "benign", "malignant")
    return X, y, None


def split_table(X: Matrix, y: Names, groups: Names | None, seed: int) -> SplitTable:
    """70 % of (at most 1,400) cases to train on, 30 % held out, scaled by the training part."""
    selected = np.random.default_rng(seed).permutation(len(y))[:MAX_CASES]
    X, y, groups = X[selected], y[selected], None if groups is None else groups[selected]
    split = hold_out(y.tolist(), groups, seed)
    middle = np.nanmedian(X[split.train], axis=0)
    X = np.where(np.isnan(X), middle, X)
    mean, deviation = X[split.train].mean(axis=0), X[split.train].std(axis=0)
    varying = deviation > 0.0
    X = (X - mean)[:, varying] / deviation[varying]
    codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
    patients = patient_codes(groups, len(y))
    own = np.arange(len(y)) if patients is None else patients.astype(np.int64)
    space = FeedbackSpace.of(LinearDistance(X.shape[1]), X[split.train])
    parts = [
        SplitPart(X[rows], space.coordinates(X[rows]), codes[rows], own[rows])
        for rows in (split.train, split.test)
    ]
    return SplitTable(parts[0], parts[1], space.initial_weights)
