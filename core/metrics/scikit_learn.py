"""What scikit-learn expects of the arguments of a learner, and of the errors about them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, column_or_1d

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy


class BadRows(BadInput, ValueError):
    """Rows, findings or constraints that a learner cannot use. scikit-learn expects ``ValueError``."""


class BadRowType(BadInput, TypeError):
    """Values that are no numbers, or rows of another type. scikit-learn expects ``TypeError``."""


class BadParameter(BadArguments, ValueError):
    """A parameter outside its range. scikit-learn expects ``ValueError``."""


@contextlib.contextmanager
def as_value_errors(n_rows: int | None = None) -> Iterator[None]:
    """Turn errors about arguments inside into errors that are ours and scikit-learn's, with the same sentences.

    ``n_rows``: the number of training rows; the message mentions it if there is a single one.
    """
    try:
        yield
    except (BadRows, BadRowType, BadParameter):
        raise
    except BadInput as error:
        message = error.message
        if n_rows == 1:
            message = tr_lazy("There is only one case (1 sample). {message}", message=message)
        raise BadRows(message, error.hint) from error
    except BadArguments as error:
        raise BadParameter(error.message, error.hint) from error


def check_rows(X: npt.ArrayLike) -> npt.NDArray[Any]:
    """``X`` as an array: (n, d), or (n, t, d) for tuples.

    Raises:
        BadRows: complex numbers, one dimension, no column, values that are no numbers.
        BadRowType: a sparse matrix, values that are neither numbers nor text.
    """
    try:
        rows: npt.NDArray[Any] = check_array(X, ensure_all_finite=False, allow_nd=True, ensure_min_samples=0)
    except TypeError as error:
        raise BadRowType(str(error)) from None
    except ValueError as error:
        if np.asarray(X).dtype.kind in "OSU":
            raise BadRows(
                "The features are not all numbers.", "Remove or encode the columns of text."
            ) from None
        # Its further lines are the rows themselves.
        raise BadRows(str(error).partition("\n")[0].rstrip(":") + ".") from None
    return rows


def check_findings(y: npt.ArrayLike | None) -> npt.NDArray[Any] | None:
    """``y`` (n,); a column (n, 1) becomes (n,) with the warning that scikit-learn gives."""
    if y is None:
        return None
    found: npt.NDArray[Any] = np.asarray(y)
    return column_or_1d(found, warn=True) if found.ndim == 2 and found.shape[1] == 1 else found
