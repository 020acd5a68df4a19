"""Steps in a row: from the words of ``--steps``, fitted one after another."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from core.errors import BadArguments
from core.metrics.distance import Matrix
from core.metrics.inputs.rows import as_rows
from core.metrics.steps.impute import Impute
from core.metrics.steps.mrmr import MRMR
from core.metrics.steps.pca import PCA
from core.metrics.steps.standardise import Standardise
from core.metrics.steps.step import Step

STEPS: tuple[type[Step], ...] = (Impute, Standardise, PCA, MRMR)

_MEANINGS = "standardise, impute, pca:N (N components), mrmr:N (N features)"
#: Steps written with the number of columns they leave.
_COUNTED: dict[str, Callable[[int], Step]] = {"pca": PCA, "mrmr": MRMR}
#: Extractors whose numbers are many and alike; those of pixels share their unit and have to stay a picture.
_DEFAULTS = {"gabor": "standardise,pca:200", "pixels": "none"}


def parse_steps(text: str) -> tuple[Step, ...]:
    """Unfitted steps from ``standardise,pca:200``; an empty text or ``none`` gives none.

    Raises:
        BadArguments: an unknown word, a missing or unneeded number, or the same step twice.
    """
    steps: list[Step] = []
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in [] if words == ["none"] else words:
        kind, colon, number = word.partition(":")
        if kind in _COUNTED and number.isascii() and number.isdigit() and int(number) > 0:
            step: Step = _COUNTED[kind](int(number))
        elif kind == "standardise" and not colon:
            step = Standardise()
        elif kind == "impute" and not colon:
            step = Impute()
        else:
            raise BadArguments(f"'{word}' is not a step.", f"Steps: {_MEANINGS}, separated by commas.")
        if any(other.kind == step.kind for other in steps):
            raise BadArguments(f"The step '{step.kind}' is named twice.", "Name each step once.")
        steps.append(step)
    return tuple(steps)


def default_steps(extractor: str) -> tuple[Step, ...]:
    """Unfitted steps that suit the numbers of the extractor so named."""
    return parse_steps(_DEFAULTS.get(extractor, "standardise"))


def steps_text(steps: Sequence[Step]) -> str:
    """The inverse of :func:`parse_steps`."""
    return ",".join(step.text for step in steps)


def fit_steps(
    steps: Sequence[Step], X: npt.ArrayLike, y: npt.NDArray[Any] | None = None
) -> tuple[tuple[Step, ...], Matrix]:
    """Fitted copies of ``steps`` and the training rows (n, m) after them.

    ``impute`` always comes first, named or not: a later query may lack a value even where the training
    rows lack none.

    Raises:
        BadInput: rows from which a step cannot be learnt.
    """
    rows = as_rows(X, missing=True)
    fitted: list[Step] = []
    for step in (Impute(), *(step for step in steps if step.kind != Impute.kind)):
        fitted.append(copy.deepcopy(step).fit(rows, y))
        rows = fitted[-1].transform(rows)
    return tuple(fitted), rows


def apply_steps(steps: Sequence[Step], X: npt.ArrayLike, n_features: int | None = None) -> Matrix:
    """Rows (n, d) -> (n, m) through fitted ``steps``; ``n_features`` is d where there is no step.

    Raises:
        BadInput: rows the steps cannot take.
    """
    missing = any(isinstance(step, Impute) for step in steps)
    rows = as_rows(X, steps[0].n_features if steps else n_features, missing=missing)
    for step in steps:
        rows = step.transform(rows)
    return rows
