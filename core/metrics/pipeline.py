"""Fit steps and a learner together on training rows, to a metric that takes extracted features."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.steps.mrmr import MRMR
from semblance.core.metrics.steps.scaling import Impute, Standardise
from semblance.core.metrics.steps.sequence import fit_steps, step_sample_note
from semblance.core.metrics.steps.step import Step
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    from semblance.core.metrics.learner import Learner


def fit_metric(
    learner: Learner,
    X: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    *,
    steps: Sequence[Step] = (),
    pairs: npt.NDArray[np.int64] | None = None,
    triplets: npt.NDArray[np.int64] | None = None,
    groups: npt.ArrayLike | None = None,
    feature_names: Sequence[str] = (),
    feature_groups: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Metric:
    """Fit ``steps`` and then ``learner`` on training rows (n, d), NaN where a value is missing.

    ``feature_names`` and ``feature_groups`` (d,) name columns on the card and in explanations; a data frame
    names them itself. ``steps``
    stay unfitted, the metric holds copies. The other arguments are those of ``learner.fit``.

    Raises:
        BadInput, BadArguments, Cancelled: as the steps and the learner do.
    """
    names = tuple(feature_names) or tuple(map(str, getattr(X, "columns", ())))
    fitted, rows = fit_steps(steps, X, None if y is None else np.asarray(y))
    learner.fit(rows, y, pairs=pairs, triplets=triplets, groups=groups, reporter=reporter)
    metric = attach_steps(learner.metric(), fitted, names, feature_groups)
    return metric.with_card(notes=(*metric.card.notes, *step_sample_note(len(rows), metric.n_features)))


def attach_steps(
    metric: Metric,
    steps: Sequence[Step],
    feature_names: Sequence[str] = (),
    feature_groups: Sequence[str] = (),
) -> Metric:
    """``metric``, fitted on rows after ``steps``, made to take rows before them.

    Raises:
        BadInput: steps, metric and names that do not fit together.
    """
    steps = tuple(steps)
    n_features = steps[0].n_features if steps else metric.distance.n_features
    names = tuple(feature_names) or tuple(
        tr_lazy("feature {number}", number=number) for number in range(1, n_features + 1)
    )
    dropped: list[str] = []
    selected: tuple[str, ...] = ()
    imputed = 0
    here = names
    for step in steps:
        if isinstance(step, Standardise):
            dropped += [here[column] for column in step.dropped]
        if isinstance(step, MRMR):
            selected = step.names(here)
        if isinstance(step, Impute):
            imputed += step.count_
        here = step.names(here)
    described = tuple(step.describe() for step in steps if not (isinstance(step, Impute) and not step.count_))
    card = dataclasses.replace(
        metric.card,
        steps=described,
        imputed=imputed,
        dropped_columns=tuple(dropped),
        selected_columns=selected,
    )
    return Metric(steps, metric.distance, card, tuple(feature_groups) or names)
