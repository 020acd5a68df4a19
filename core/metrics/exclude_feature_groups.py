"""A metric that ignores some groups of features."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import numpy as np

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.steps.excluded_groups import ExcludedGroups
from semblance.core.metrics.steps.impute import Impute


def explained_groups(metric: Metric) -> tuple[str, ...]:
    """The groups its distances are explained with and can be asked without, in the order of their columns.

    Local descriptors are named by the words a codebook counts.
    """
    return tuple(dict.fromkeys(metric.names_before_tail()))


def replacement_values(metric: Metric) -> Matrix:
    """(d',) what columns become that are left out: the medians of the training rows, 0 where unknown."""
    head = metric.steps[: len(metric.steps) - len(metric.linear_tail())]
    if head and isinstance(head[-1], Impute):
        return head[-1].medians_
    return np.zeros(len(metric.names_before_tail()))


def exclude_feature_groups(metric: Metric, groups: Collection[str]) -> Metric:
    """``metric`` with the columns of ``groups`` set to the medians of its training rows in every case.

    Which constant it is matters only to distances that are not linear.

    Raises:
        BadArguments: a group the metric does not have, or all it has.
    """
    if not groups:
        return metric
    names, known = metric.names_before_tail(), explained_groups(metric)
    unknown = [group for group in groups if group not in known]
    if unknown:
        raise BadArguments(
            tr_lazy("The metric has no group of features '{unknown}'.", unknown=unknown[0]),
            tr_lazy("It has: {known}.", known=", ".join(known[:20])),
        )
    left_out = tuple(name for name in known if name in set(groups))
    if len(left_out) == len(known):
        raise BadArguments("Without all its features nothing can be compared.", "Leave one group of them in.")
    columns = np.flatnonzero(np.isin(np.array(names, dtype=object), left_out)).astype(np.int64)
    start = len(metric.steps) - len(metric.linear_tail())
    constants = replacement_values(metric)[columns]
    step = ExcludedGroups(len(names), columns, constants, left_out)
    card = dataclasses.replace(metric.card, steps=(*metric.card.steps, step.describe()))
    return dataclasses.replace(metric, steps=(*metric.steps[:start], step, *metric.steps[start:]), card=card)
