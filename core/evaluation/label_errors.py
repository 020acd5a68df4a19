"""Findings that a model of the other patients' cases contradicts: confident learning.

C. Northcutt, L. Jiang, I. Chuang, Confident Learning: Estimating Uncertainty in Dataset Labels, Journal of Artificial
Intelligence Research 70, 2021. The probabilities are those of logistic regressions, cross-validated with whole units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import finding_codes
from semblance.core.evaluation.splits import folds
from semblance.core.metrics.training_data.training_sample import stratified_sample

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: Folds of the cross-validation; findings of fewer units are not checked.
FOLDS = 5
#: Smallest difference between the probability of another finding and that of the given one.
LEAST_MARGIN = 0.6
#: A probability that is enough even if cases of the finding usually have a larger one.
LIKELY = 0.65
#: Of more cases a sample, stratified by finding, is fitted on.
MOST_FITTED = 20_000
#: Inverse strength of the ridge, for rows whose typical length is 1.
_C = 5.0


@dataclass(frozen=True)
class DoubtfulFinding:
    """The case at ``place``: the probability of its own finding, and of the one that is ``suggested``."""

    place: int
    suggested: str
    own: float
    other: float

    @property
    def margin(self) -> float:
        """Probability of the suggested finding less that of the given one."""
        return self.other - self.own


def judged_findings(y: npt.NDArray[np.str_], units: npt.NDArray[np.int64]) -> list[str]:
    """The findings in ``y`` (n,) of at least :data:`FOLDS` ``units`` (n,); "" is none."""
    return [name for name in np.unique(y).tolist() if name and len(np.unique(units[y == name])) >= FOLDS]


def doubtful_findings(
    X: Matrix, y: npt.NDArray[np.str_], units: npt.NDArray[np.int64], seed: int = 0
) -> list[DoubtfulFinding]:
    """Cases whose finding ``y`` (n,) is unlikely by the rows ``X`` (n, m), the most doubtful first.

    A case counts as of another finding where that is at least as likely as it is, on average, for the cases that have
    it (Northcutt et al., Eq. 2), or :data:`LIKELY`, and by :data:`LEAST_MARGIN` more likely than its own. Nothing is
    judged unless two findings have enough ``units`` (n,), of which none is both fitted on and judged.
    """
    judged = np.flatnonzero(np.isin(y, judged_findings(y, units)))
    codes, names = finding_codes(y[judged])
    if len(names) < 2:
        return []
    P = _cross_validated(X[judged], codes, units[judged], len(names), seed)
    own = P[np.arange(len(P)), codes]
    usual = np.array([own[codes == code].mean() for code in range(len(names))])
    P[np.minimum(usual, LIKELY) > P] = -1.0
    P[np.arange(len(P)), codes] = -1.0
    best = P.argmax(axis=1)
    other = P.max(axis=1)
    found = [
        DoubtfulFinding(int(judged[place]), str(names[best[place]]), float(own[place]), float(other[place]))
        for place in np.flatnonzero(other - own >= LEAST_MARGIN).tolist()
    ]
    return sorted(found, key=lambda one: (-one.margin, one.place))


def _cross_validated(
    X: Matrix, codes: Rows, units: npt.NDArray[np.int64], n_findings: int, seed: int
) -> Matrix:
    """(n, f) the probability of each finding, by the cases of the other parts."""
    from sklearn.linear_model import LogisticRegression

    rows = X - np.median(X, axis=0)
    # By the median, because a single outlier would shrink all other rows.
    rows /= float(np.sqrt(np.median(np.einsum("ij,ij->i", rows, rows)))) or 1.0
    P = np.zeros((len(X), n_findings))
    for part in folds([str(code) for code in codes], units.astype(str), seed, FOLDS):
        fitted = part.train
        if len(fitted) > MOST_FITTED:
            fitted = fitted[stratified_sample(codes[fitted], MOST_FITTED, seed)]
        model = LogisticRegression(C=_C, max_iter=500).fit(rows[fitted], codes[fitted])
        P[np.ix_(part.test, model.classes_)] = model.predict_proba(rows[part.test])
    return P
