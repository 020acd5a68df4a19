"""The frozen result of training: steps, distance and card."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance, DistancePart, Matrix
from semblance.core.metrics.distances.linear import LinearDistance, parts_by_group
from semblance.core.metrics.steps.excluded_groups import ExcludedGroups
from semblance.core.metrics.steps.scaling import Impute
from semblance.core.metrics.steps.sequence import apply_steps
from semblance.core.metrics.steps.step import Step
from semblance.core.metrics.storage import content_hash, naming_the_file, read_metric_file, save_metric
from semblance.core.metrics.training_data.rows import as_rows


@dataclass(frozen=True, eq=False)
class Metric:
    """A squared distance between rows of features, as extracted: the steps are its own.

    ``feature_groups`` names the group of every column it takes (``n_features`` of them); left empty, each
    column is a group of its own.

    Raises:
        BadInput: steps, distance and groups that do not fit together.
    """

    steps: tuple[Step, ...]
    distance: Distance
    card: MetricCard
    feature_groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        groups = self.feature_groups or tuple(
            tr_lazy("feature {n}", n=n) for n in range(1, self.n_features + 1)
        )
        if len(groups) != self.n_features:
            raise BadInput(
                tr_lazy(
                    "The metric takes {n_features} features, {n} are named.",
                    n_features=self.n_features,
                    n=len(groups),
                )
            )
        names = groups
        for step in self.steps:
            if step.n_features != len(names):
                raise BadInput(tr_lazy("The step '{value}' does not fit the one before it.", value=step.text))
            names = step.names(names)
        if self.distance.n_features != len(names):
            raise BadInput("The distance of the metric does not fit its steps.")
        object.__setattr__(self, "feature_groups", groups)
        card = dataclasses.replace(self.card, content_hash=content_hash(self))
        object.__setattr__(self, "card", card)

    @property
    def n_features(self) -> int:
        """Columns of the rows it takes, before its steps."""
        return self.steps[0].n_features if self.steps else self.distance.n_features

    @property
    def is_metric(self) -> bool:
        """The square root obeys the triangle inequality."""
        return self.distance.is_metric

    def with_card(self, **changes: Any) -> Self:
        """The same metric with some values of its card changed."""
        return dataclasses.replace(self, card=dataclasses.replace(self.card, **changes))

    def transform(self, X: npt.ArrayLike) -> Matrix:
        """(n, d) -> (n, m): rows after the steps.

        Raises:
            BadInput: rows this metric cannot take.
        """
        return apply_steps(self.steps, X, self.n_features)

    def embed(self, X: npt.ArrayLike) -> Matrix:
        """(n, d) -> (n, m) float64: the distance is the squared Euclidean one between embeddings.

        Raises:
            BadInput: rows this metric cannot take, or its distance has no embedding.
        """
        return self.distance.embed(self.transform(X))

    def coordinates(self, X: npt.ArrayLike) -> Matrix:
        """(n, d) -> (n, m): what an index keeps of each case, the embedding where there is one.

        Where there is none (``distance.embeds``), the rows after the steps, for ``distance`` to compare.

        Raises:
            BadInput: rows this metric cannot take.
        """
        return self.embed(X) if self.distance.embeds else self.transform(X)

    def tie_break(self, X: npt.ArrayLike) -> Matrix | None:
        """(n, m) rows whose Euclidean distance orders cases at equal distance; ``None`` where none tie.

        Raises:
            BadInput: rows this metric cannot take.
        """
        return self.transform(X) if self.distance.ties else None

    def distances(self, Q: npt.ArrayLike, X: npt.ArrayLike) -> Matrix:
        """(q, d), (n, d) -> (q, n) squared distances, by direct difference in float64.

        Raises:
            BadInput: rows this metric cannot take.
        """
        return self.distance.between(self.transform(Q), self.transform(X))

    def explain(self, q: npt.ArrayLike, x: npt.ArrayLike) -> list[DistancePart]:
        """Parts of the distance of two rows (d,), which they sum to within 1e-9 of it.

        For a linear distance there is one part a feature group, z_g (Mz)_g traced back through the linear
        steps to the columns as extracted; a part may be negative.

        Raises:
            BadInput: rows this metric cannot take.
        """
        pair = np.stack([np.asarray(row, dtype=np.float64).reshape(-1) for row in (q, x)])
        rows, names = as_rows(pair, self.n_features, missing=True), self.feature_groups
        tail = self.linear_tail()
        for step in self.steps[: len(self.steps) - len(tail)]:
            rows, names = step.transform(rows), step.names(names)
        mapped = self.transform(pair)
        if not isinstance(self.distance, LinearDistance):
            for step in tail:
                names = step.names(names)
            return self.distance.parts(mapped[0], mapped[1], names)
        embedded = self.distance.embed(mapped)
        e = embedded[0] - embedded[1]
        gradient = self.distance.pull_back(e)
        for step in reversed(tail):
            gradient = step.pull_back(gradient)
        return parts_by_group((rows[0] - rows[1]) * gradient, names, float(e @ e))

    def linear_tail(self) -> tuple[Step, ...]:
        """The steps after the last one that is not linear."""
        start = len(self.steps)
        while start and self.steps[start - 1].linear:
            start -= 1
        return self.steps[start:]

    def names_before_tail(self) -> tuple[str, ...]:
        """The groups of the columns that :meth:`linear_tail` takes: what distances are explained with."""
        names = self.feature_groups
        for step in self.steps[: len(self.steps) - len(self.linear_tail())]:
            names = step.names(names)
        return names

    def save(self, path: Path) -> None:
        """Store at ``path``; see :func:`semblance.core.metrics.storage.save_metric`.

        Raises:
            BadInput: the file cannot be written; whatever was at ``path`` is still there.
        """
        save_metric(self, path, private=False)


def load_metric(path: str | Path) -> Metric:
    """The metric stored at ``path``.

    Raises:
        BadInput: no such file, not a metric, damaged, too large, or of a newer program.
    """
    path = Path(path)
    with naming_the_file(path):
        contents = read_metric_file(path)
        metric = Metric(*contents)
        if metric.card.content_hash != contents.card.content_hash:
            raise BadInput("Its numbers are not those it was saved with.")
    return metric


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
