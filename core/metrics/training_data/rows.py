"""Checks of the rows of features that learners, steps and metrics take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix

#: The largest number of training rows lies between: learners take it to the sixth power.
_LEAST, _MOST = 1e-50, 1e50
#: How many times as much as the median column one may vary: squares of more hide those of the others in rounding.
_MOST_UNEQUAL = 1e7
#: Training rows between which a learnt distance is tried.
_CHECKED = 50


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
