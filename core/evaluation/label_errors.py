"""Findings that a model of the other patients' cases contradicts (confident learning), and cases far from all others.

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

#: The neighbour whose distance counts, so that a few foreign images do not hide each other.
OUTLIER_NEIGHBOUR = 10
#: With more rows, each is compared with a random sample of this size.
MOST_COMPARED = 5_000
#: A case is an outlier beyond so many robust standard deviations (Iglewicz and Hoaglin 1993). A bound by rank would
#: list the same share of every library, however clean it is.
OUTLIER_Z = 3.5
#: With fewer cases, of a library or of a finding, the usual distance is not known.
MIN_CASES = 30
_MAD_TO_SD = 1.4826
_BLOCK_VALUES = 4_000_000


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


def distances_to_other_units(X: Matrix, units: npt.NDArray[np.int64], seed: int = 0) -> Matrix:
    """(n,) the Euclidean distance of each row of ``X`` (n, m) to its :data:`OUTLIER_NEIGHBOUR`-th nearest row of
    another unit, infinite without one; among :data:`MOST_COMPARED` rows drawn by ``seed`` where there are more."""
    n = len(X)
    rng = np.random.default_rng(seed)
    drawn = np.arange(n) if n <= MOST_COMPARED else np.sort(rng.choice(n, MOST_COMPARED, replace=False))
    rows = X.astype(np.float32)
    others, other_units = rows[drawn], units[drawn]
    squares = np.einsum("ij,ij->i", rows, rows)
    out = np.full(n, np.inf)
    last = min(OUTLIER_NEIGHBOUR, len(drawn)) - 1
    step = max(1, _BLOCK_VALUES // max(len(drawn), 1))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        between = squares[part, None] + squares[drawn] - 2.0 * rows[part] @ others.T
        between[units[part, None] == other_units] = np.inf
        between.partition(last, axis=1)
        out[part] = np.sqrt(np.maximum(between[:, last], 0.0))
    return out if last == OUTLIER_NEIGHBOUR - 1 else np.full(n, np.inf)


def outlier_scores(distances: Matrix, findings: npt.NDArray[np.str_]) -> npt.NDArray[np.float64]:
    """(n,) robust standard deviations by which the logarithm of each distance (n,) exceeds the median of its finding.

    ``findings`` (n,): some lie closely and others, such as photographs of hands, do not. Those of fewer than
    :data:`MIN_CASES` cases have the median of all. 0 for distances that are not finite, and for all where they do not
    differ.
    """
    out = np.zeros(len(distances))
    known = np.isfinite(distances) & (distances > 0)
    if not known.any():
        return out
    logs, codes = np.log(distances[known]), np.unique(findings[known], return_inverse=True)[1]
    deviations = logs - np.median(logs)
    for code in np.flatnonzero(np.bincount(codes) >= MIN_CASES):
        deviations[codes == code] = logs[codes == code] - np.median(logs[codes == code])
    spread = _MAD_TO_SD * float(np.median(np.abs(deviations)))
    if spread > 0:
        out[known] = deviations / spread
    return out
