"""A sequence of steps, parsed from ``--steps`` and fitted one after another."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import finding_codes
from semblance.core.errors import BadArguments
from semblance.core.features.fusion import Fusion, fused_sets
from semblance.core.features.imported import COLUMNS, FORM, Imported
from semblance.core.features.registry import extractors, stored_extractor
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.steps.codebook import Codebook
from semblance.core.metrics.steps.levels import CHOICES, Levels, of_levels
from semblance.core.metrics.steps.mrmr import MRMR
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.steps.per_set import SINGLE_STEPS, PerSet, SetSteps
from semblance.core.metrics.steps.scaling import L2, Impute, Standardise
from semblance.core.metrics.steps.step import Step
from semblance.core.metrics.training_data.rows import as_rows
from semblance.core.metrics.training_data.training_sample import stratified_sample

STEPS: tuple[type[Step], ...] = (*SINGLE_STEPS, PerSet)

_MEANINGS = tr_lazy(
    "standardise, l2 (each case brought to length 1), impute, pca:N (N components), mrmr:N (N features), "
    "codebook:N (N words) or codebook:N:M (N words merged to M), sets (of several feature sets, each its own steps), "
    "levels:head, levels:means, levels:generalised or levels:blocks (some of the levels of the encoder)"
)
#: Steps written with the number of columns they leave.
_COUNTED: dict[str, Callable[[int], Step]] = {"pca": PCA, "mrmr": MRMR}
_PLAIN: dict[str, Callable[[], Step]] = {
    "standardise": Standardise,
    "l2": L2,
    "impute": Impute,
    "sets": PerSet,
}
#: Rows of local descriptors that are made float64 together.
_BLOCK = 64
#: Values of training rows (96 MB) above which steps are fitted on a sample of the rows, and rows are transformed
#: in blocks.
MOST_VALUES = 12_000_000
#: Values of such a block.
_BLOCK_VALUES = 1 << 22

#: Extractors with many numbers of one kind; those of pixels share their unit and have to stay an image. Those of
#: encoders share theirs too: standardised, the many that hardly vary count as much as the others.
_DEFAULTS = {
    "encoder": "l2,pca:64",
    "onnx": "l2,pca:64",
    "imported": "l2,pca:64",
    "gabor": "standardise,pca:200",
    "pixels": "none",
    "visual_words": "codebook:200",
    "textons": "codebook:2000:300",
    "fusion": "sets",
}
#: The same for the levels of the encoder: the choice that was best or nearly so on each kind of image tried.
_OF_LEVELS = "levels:generalised,l2,pca:64"
#: The same where there are no findings to merge words by.
_WITHOUT_FINDINGS = {"textons": "codebook:300"}


def parse_steps(text: str) -> tuple[Step, ...]:
    """Unfitted steps from ``standardise,pca:200``; an empty text or ``none`` gives none.

    Raises:
        BadArguments: an unknown word, a missing or unneeded number, or the same step twice.
    """
    steps: list[Step] = []
    names = [word.strip() for word in text.split(",") if word.strip()]
    for word in [] if names == ["none"] else names:
        kind, _, number = word.partition(":")
        if kind in _COUNTED and number.isascii() and number.isdigit() and int(number) > 0:
            step: Step = _COUNTED[kind](int(number))
        elif kind == Levels.kind and number in CHOICES:
            step = Levels(number)
            if steps:
                raise BadArguments("The step 'levels' has to come first.", "Name it before the others.")
        elif kind == Codebook.kind:
            step = _codebook(word, number)
            if steps:
                raise BadArguments("The step 'codebook' has to come first.", "Name it before the others.")
        elif word in _PLAIN:
            step = _PLAIN[word]()
        else:
            raise _no_step(word)
        if any(other.kind == step.kind for other in steps):
            raise BadArguments(
                tr_lazy("The step '{kind}' is named twice.", kind=step.kind), "Name each step once."
            )
        steps.append(step)
    return tuple(steps)


def _codebook(word: str, numbers: str) -> Codebook:
    names, colon, merged = numbers.partition(":")
    sizes = [names, merged] if colon else [names]
    if not all(size.isascii() and size.isdigit() and int(size) > 1 for size in sizes):
        raise _no_step(word)
    if colon and int(merged) > int(names):
        raise BadArguments(
            tr_lazy("{n_words} words cannot be merged to {merged}.", n_words=names, merged=merged),
            "The second number of 'codebook' is the smaller.",
        )
    return Codebook(int(names), int(merged) if colon else None)


def _no_step(word: str) -> BadArguments:
    return BadArguments(
        tr_lazy("'{word}' is not a step.", word=word),
        tr_lazy("Steps: {meanings}, separated by commas.", meanings=_MEANINGS),
    )


def steps_text(steps: Sequence[Step]) -> str:
    """The inverse of :func:`parse_steps`."""
    return ",".join(step.text for step in steps)


def fit_steps(
    steps: Sequence[Step],
    X: npt.ArrayLike,
    y: npt.NDArray[Any] | None = None,
    rows: npt.NDArray[np.intp] | None = None,
) -> tuple[tuple[Step, ...], Matrix]:
    """Fitted copies of ``steps`` and the training rows (n, m) after them.

    ``rows`` (n,): which rows of ``X`` are the training rows with the findings ``y`` (n,); all if it is left out.
    Of more than :data:`MOST_VALUES` values a stratified sample of rows is fitted on: :func:`step_sample`.

    ``impute`` always comes first, named or not: a later query may lack a value even where the training
    rows lack none. Only a codebook stands before it: a place that an image lacks is not imputed.

    Raises:
        BadInput: rows from which a step cannot be learnt.
    """
    table = _numbers(X)
    places = np.arange(len(table)) if rows is None else rows
    of_descriptors = any(step.of_descriptors for step in steps)
    sample = None if of_descriptors else step_sample(len(places), table.shape[1], y)
    if sample is not None:
        chosen = table[places[sample]]
        fitted, _ = _fit_all(steps, chosen, None if y is None else np.asarray(y)[sample])
        del chosen
        return fitted, _in_blocks(fitted, table, places)
    return _fit_all(steps, table if rows is None else table[places], y)


def step_sample(
    n: int, d: int, y: npt.NDArray[Any] | None = None, seed: int = 0
) -> npt.NDArray[np.intp] | None:
    """Which of ``n`` training rows of ``d`` columns steps are fitted on; ``None``: all of them."""
    if n * d <= MOST_VALUES:
        return None
    strata = np.zeros(n) if y is None else finding_codes(y)[0]
    return stratified_sample(strata, max(MOST_VALUES // d, len(np.unique(strata))), seed)


def step_sample_note(n: int, d: int) -> tuple[str, ...]:
    """The note on the card about the rows that steps were fitted on; empty if these are all rows."""
    sample = step_sample(n, d)
    if sample is None:
        return ()
    return (
        tr_lazy(
            "The steps were fitted on {sample:,} of {n:,} training cases, stratified by finding, seed 0.",
            sample=len(sample),
            n=n,
        ),
    )


def _fit_all(
    steps: Sequence[Step], X: npt.NDArray[Any], y: npt.NDArray[Any] | None
) -> tuple[tuple[Step, ...], Matrix]:
    rows: npt.NDArray[Any] = X
    fitted: list[Step] = []
    requested = [step for step in steps if step.kind != Impute.kind]
    if requested and requested[0].of_descriptors:
        fitted.append(copy.deepcopy(requested.pop(0)).fit(rows, y))
        rows = _counted(fitted[0], rows)
    rows = as_rows(rows, missing=True)
    for step in (Impute(), *requested):
        fitted.append(copy.deepcopy(step).fit(rows, y))
        rows = fitted[-1].transform(rows)
    return tuple(fitted), rows


def apply_steps(steps: Sequence[Step], X: npt.ArrayLike, n_features: int | None = None) -> Matrix:
    """Rows (n, d) -> (n, m) through fitted ``steps``; ``n_features`` is d where there is no step.

    Raises:
        BadInput: rows the steps cannot take.
    """
    if steps and steps[0].of_descriptors:
        return apply_steps(steps[1:], _counted(steps[0], X))
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.size > MOST_VALUES and len(X) > 1:
        return _in_blocks(steps, X, np.arange(len(X)), n_features)
    missing = any(isinstance(step, Impute) for step in steps)
    rows = as_rows(X, steps[0].n_features if steps else n_features, missing=missing)
    for step in steps:
        rows = step.transform(rows)
    return rows


def _in_blocks(
    steps: Sequence[Step], X: npt.NDArray[Any], places: npt.NDArray[np.intp], n_features: int | None = None
) -> Matrix:
    """(k, m) the rows ``places`` (k,) of ``X`` through fitted ``steps``, few at a time in double precision."""
    size = max(1, min(MOST_VALUES, _BLOCK_VALUES) // X.shape[1])
    blocks = [
        apply_steps(steps, X[places[start : start + size]], n_features)
        for start in range(0, len(places), size)
    ]
    return np.concatenate(blocks)


def _numbers(X: npt.ArrayLike) -> npt.NDArray[Any]:
    """``X`` itself where it is a table of single precision, which rows of local descriptors stay."""
    if isinstance(X, np.ndarray) and X.dtype == np.float32 and X.ndim == 2:
        return X
    return as_rows(X, missing=True)


def _counted(codebook: Step, X: npt.ArrayLike) -> Matrix:
    """(n, words) of rows of local descriptors (n, d), few at a time: they are far larger."""
    rows = np.atleast_2d(_numbers(X) if np.ndim(X) == 2 else np.asarray(X))
    return np.concatenate(
        [
            codebook.transform(as_rows(rows[start : start + _BLOCK], codebook.n_features, missing=True))
            for start in range(0, max(1, len(rows)), _BLOCK)
        ]
    )


def chosen_steps(
    text: str, extractor: str, settings: Mapping[str, Any] | None = None, *, labelled: bool = True
) -> tuple[Step, ...]:
    """Unfitted steps from ``text``, where empty those that suit it, for the rows of ``extractor``.

    ``labelled``: there are findings. A codebook gets the layout of the extractor's local descriptors, and the step
    ``sets`` the fused sets, both from the ``settings`` of the extractor.

    Raises:
        BadArguments: as :func:`parse_steps`; a codebook for rows without local descriptors, or none for
            rows of them; no such extractor.
    """
    steps = parse_steps(text) if text else default_steps(extractor, settings, labelled=labelled)
    if settings is not None and extractor == Fusion.name:
        for step in steps:
            if isinstance(step, PerSet):
                step.sets = tuple(
                    SetSteps(
                        one.name, one.columns, default_steps(one.extractor, one.settings, labelled=labelled)
                    )
                    for one in fused_sets(settings)
                )
    form = stored_extractor(extractor).local
    codebook = steps[0] if steps and isinstance(steps[0], Codebook) else None
    if form is None and codebook is not None:
        local = ", ".join(one.name for one in extractors() if one.local is not None)
        raise BadArguments(
            tr_lazy(
                "The numbers of '{extractor}' are no local descriptors for a codebook.", extractor=extractor
            ),
            tr_lazy("Leave the step out; extractors with local descriptors: {local}.", local=local),
        )
    if form is not None:
        if codebook is None:
            raise BadArguments(
                tr_lazy(
                    "'{extractor}' holds local descriptors, which have to be counted first.",
                    extractor=extractor,
                ),
                tr_lazy(
                    "Begin the steps with a codebook: {extractor}.",
                    extractor=steps_text(default_steps(extractor)),
                ),
            )
        codebook.form = form
    return steps


def default_steps(
    extractor: str, settings: Mapping[str, Any] | None = None, *, labelled: bool = True
) -> tuple[Step, ...]:
    """Unfitted steps that suit the numbers of the extractor so named with these ``settings``; ``labelled``: there are
    findings."""
    if of_levels(extractor, settings):
        return parse_steps(_OF_LEVELS)
    measured = extractor == Imported.name and (settings or {}).get(FORM) == COLUMNS
    usual = "standardise" if measured else _DEFAULTS.get(extractor, "standardise")
    return parse_steps(usual if labelled else _WITHOUT_FINDINGS.get(extractor, usual))
