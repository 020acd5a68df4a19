"""Checks of the rows of features that learners, steps and metrics take."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import check_findings, finding_codes
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter

#: The share of the memory that a learner may take; the rest is for the window and other programs.
_SHARE = 0.75
#: Assumed if the system does not report its memory.
_UNKNOWN = 8 << 30
#: A matrix of all features has 0.9 GiB: a stored metric may have 1.
MAX_FEATURES = 11_000
#: Matrices of all features that learning one holds at once.
_MATRICES = 4

#: The largest number of training rows lies between: learners take it to the sixth power.
_LEAST, _MOST = 1e-50, 1e50
#: How many times as much as the median column one may vary: squares of more hide those of the others in rounding.
_MOST_UNEQUAL = 1e7
#: Training rows between which a learnt distance is tried.
_CHECKED = 50


@dataclass(frozen=True, eq=False)
class TrainingInput:
    """The checked input of a fit: ``X`` (n, d); see :meth:`semblance.core.metrics.learner.Learner.fit`."""

    X: Matrix
    y: npt.ArrayLike | None
    pairs: npt.NDArray[np.int64] | None
    triplets: npt.NDArray[np.int64] | None
    groups: npt.ArrayLike | None
    reporter: Reporter
    seed: int


@functools.cache
def budget() -> int:
    """Bytes a learner may hold at once: a share of the memory of this machine, free or not.

    Free memory changes from minute to minute, and the same training must always give the same answer.
    """
    return int(_SHARE * _installed())


def check_memory(needed: float, what: str, way_out: str) -> None:
    """Refuse what would need ``needed`` bytes at once, if that is beyond :func:`budget`.

    ``what`` begins the message ("5,000 cases compared with each other"); ``way_out`` says what to do.

    Raises:
        BadInput: with the number of bytes that are needed and available.
    """
    available = budget()
    if needed > available:
        raise BadInput(
            tr_lazy(
                "{what} would take {needed} of memory; {there} may be used.",
                what=what,
                needed=_text(needed),
                there=_text(available),
            ),
            way_out,
        )


def check_features(count: int) -> None:
    """Refuse rows of ``count`` features where a matrix of all of them is needed.

    Raises:
        BadInput: it would be larger than a stored metric may be, or several would not fit into memory.
    """
    way_out = tr_lazy(
        "Reduce them to {max_features:,} or fewer, for example by the step 'pca:200'.",
        max_features=MAX_FEATURES,
    )
    if count > MAX_FEATURES:
        raise BadInput(
            tr_lazy(
                "A matrix of {count:,} features would take {count2}.",
                count=count,
                count2=_text(8.0 * count**2),
            ),
            way_out,
        )
    check_memory(
        8.0 * _MATRICES * count**2,
        tr_lazy("{matrices} matrices of {count:,} features", matrices=_MATRICES, count=count),
        way_out,
    )


def _installed() -> int:
    """Bytes of memory, or fewer where a container is allowed fewer."""
    sizes = []
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file():
        text = limit.read_text(encoding="ascii").strip()
        if text.isdigit():
            sizes.append(int(text))
    return min((size for size in sizes if size > 0), default=_UNKNOWN)


def _text(size: float) -> str:
    return (
        tr_lazy("{size:,.1f} GiB", size=size / 2**30)
        if size >= 2**30
        else tr_lazy("{size:,.1f} MiB", size=size / 2**20)
    )


def as_rows(X: npt.ArrayLike, n_features: int | None = None, *, missing: bool = False) -> Matrix:
    """``X`` as a C-contiguous float64 (n, d) array; one row (d,) becomes (1, d).

    ``missing`` allows NaN for a value that is not known.

    Raises:
        BadInput: not numbers, not a table, no column, another number of columns than ``n_features``,
            an infinite value, or a missing one where none is allowed.
    """
    try:
        source = np.asarray(X)
        if np.iscomplexobj(source):
            raise TypeError("complex")
        rows = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput("The features are not all numbers.", "Remove or encode the columns of text.") from None
    if rows.ndim == 1 and n_features is not None:
        rows = rows[np.newaxis]
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise BadInput("The features are not a table of cases by numbers.", "Give one row of numbers a case.")
    if n_features is not None and rows.shape[1] != n_features:
        raise BadInput(
            tr_lazy(
                "{n_features} numbers a case are expected, {shape} were given.",
                n_features=n_features,
                shape=rows.shape[1],
            ),
            "Use the feature set this metric was trained on, or train a metric on this one.",
        )
    if np.isinf(rows).any():
        raise BadInput("The features hold an infinite value.", "Correct it, or leave the cell empty.")
    if not missing and np.isnan(rows).any():
        raise BadInput("The features hold missing values (NaN).", "Add the step 'impute' in front.")
    return np.ascontiguousarray(rows)


def training_rows(X: npt.ArrayLike, groups: npt.ArrayLike | None, n_features: int | None = None) -> Matrix:
    """The rows of :func:`as_rows` to learn from; ``groups`` (n,) are their patients, where known.

    Raises:
        BadInput: as :func:`as_rows`, no row, not one patient a case, or numbers whose sixth powers overflow or
            underflow.
    """
    rows = as_rows(X, n_features)
    if not len(rows):
        raise BadInput("There is no case to learn from.", "Add cases, or hold fewer of them out.")
    largest = float(np.abs(rows).max())
    if largest > 0.0 and not _LEAST < largest < _MOST:
        size = "large" if largest >= _MOST else "small"
        raise BadInput(
            tr_lazy("The features are too {size} to learn from.", size=size), "Add the step 'standardise'."
        )
    if groups is not None:
        patients = np.asarray(groups)
        if patients.shape != (len(rows),):
            raise BadInput(
                tr_lazy("There are {n} cases but {size} patients.", n=len(rows), size=patients.size),
                "Give one patient a case, empty where unknown.",
            )
    return rows


def all_equal(rows: Matrix) -> bool:
    """Whether rows (n, d) do not differ."""
    return len(rows) == 0 or bool((rows == rows[0]).all())


def check_scales(rows: Matrix) -> None:
    """Refuse rows (n, d) of which a column varies so much more than another that its squares hide that of the other.

    Raises:
        BadInput: how much more.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = rows.std(axis=0)
    varying = spreads[np.isfinite(spreads) & (spreads > 0.0)]
    usual = np.sort(varying)[: (len(varying) + 1) // 2]
    if len(varying) < 2 or not varying.max() > _MOST_UNEQUAL * usual[-1]:
        return
    raise BadInput(
        tr_lazy(
            "One column varies {ratio:,.0f} times as much as the others, which are lost in rounding beside it.",
            ratio=float(varying.max() / usual[-1]),
        ),
        tr_lazy("Add the step 'standardise', or leave the column out."),
    )


def check_different(rows: Matrix) -> None:
    """Refuse training rows (n, d) that are all equal.

    Raises:
        BadInput: there is nothing to learn from.
    """
    if all_equal(rows):
        raise BadInput("All training cases have the same features.", "Extract other features first.")


def check_usable(title: str, distances: Callable[[Matrix, Matrix], Matrix], rows: Matrix) -> None:
    """Refuse ``distances`` learnt from ``rows`` (n, d) that are no numbers between some of them, or 0 between all.

    Raises:
        BadInput: ``title``, the name of the learner, and why.
    """
    if all_equal(rows):
        return
    # A row that differs from the first is among them.
    other = int((rows != rows[0]).any(axis=1).argmax())
    chosen = rows[
        np.unique([0, other, *np.linspace(0, len(rows) - 1, min(len(rows), _CHECKED), dtype=np.intp)])
    ]
    with np.errstate(all="ignore"):
        found = distances(chosen, chosen)
    if not np.isfinite(found).all():
        raise BadInput("The features are too large to learn from.", "Add the step 'standardise'.")
    if not found.any():
        raise BadInput(
            tr_lazy("{title} learnt nothing: by its distance all cases would be the same.", title=title),
            "Add the step 'standardise' or other features, check the findings, or use another learner.",
        )


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
