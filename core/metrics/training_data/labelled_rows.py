"""Rows with their findings, for learners that need nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import check_findings, finding_codes
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.rows import check_different
from semblance.core.metrics.training_data.training_input import TrainingInput


class LabelledRows(NamedTuple):
    """``X`` (n, d) with findings numbered ``codes`` (n,) 0, 1, ... into ``names``; every number occurs."""

    X: Matrix
    codes: npt.NDArray[np.int64]
    names: tuple[str, ...]

    def means(self) -> Matrix:
        """(c, d) the mean row of each finding."""
        sums = np.zeros((len(self.names), self.X.shape[1]))
        np.add.at(sums, self.codes, self.X)
        means: Matrix = sums / np.bincount(self.codes)[:, np.newaxis]
        return means

    def groups(self, data: TrainingInput) -> npt.NDArray[np.generic] | None:
        """(n,) the patients of these rows, which are those of ``data`` with a finding."""
        if data.groups is None or data.y is None:
            return None
        groups: npt.NDArray[np.generic] = np.asarray(data.groups)[finding_codes(data.y)[0] >= 0]
        return groups


def check_one_finding_each(cases: int, findings: int) -> None:
    """Refuse more or fewer findings than cases.

    Raises:
        BadInput: their numbers differ.
    """
    if cases != findings:
        raise BadInput(
            tr_lazy("There are {cases} cases but {findings} findings.", cases=cases, findings=findings),
            "Give one finding a case.",
        )


def codes_of_findings(cases: int, y: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """:func:`semblance.core.constraints.finding_codes` of ``y``, one finding a case.

    Raises:
        BadInput: more or fewer findings than ``cases``.
    """
    codes, names = finding_codes(y)
    check_one_finding_each(cases, len(codes))
    return codes, names


def codes_to_learn_from(
    title: str, cases: int, y: npt.ArrayLike | None
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """:func:`codes_of_findings` for a learner that is called ``title`` and can only learn from findings.

    Raises:
        BadInput: no findings, not one a case, fewer than two, or none with two cases.
    """
    if y is None:
        raise BadInput(
            tr_lazy("{title} learns from findings.", title=title), "Give the findings of the training cases."
        )
    codes, names = codes_of_findings(cases, y)
    check_findings(np.bincount(codes[codes >= 0], minlength=len(names)), names)
    return codes, names


def labelled_rows(title: str, X: Matrix, y: npt.ArrayLike | None) -> LabelledRows:
    """The rows of ``X`` that have a finding.

    Raises:
        BadInput: no findings, not one a case, fewer than two, or none with two cases; equal rows. ``title``
            names the learner.
    """
    codes, names = codes_to_learn_from(title, len(X), y)
    check_different(X)
    known = codes >= 0
    return LabelledRows(X[known], codes[known], names) if not known.all() else LabelledRows(X, codes, names)
