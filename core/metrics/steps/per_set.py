"""Steps of their own for each of several fused feature sets, which then have the same weight."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import join_texts, tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.steps.codebook import Codebook
from semblance.core.metrics.steps.excluded_groups import ExcludedGroups
from semblance.core.metrics.steps.levels import Levels
from semblance.core.metrics.steps.mrmr import MRMR
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.steps.scaling import L2, Impute, Standardise
from semblance.core.metrics.steps.step import Step

#: The kinds of steps that a set can have.
SINGLE_STEPS: tuple[type[Step], ...] = (Impute, Standardise, L2, PCA, MRMR, Codebook, ExcludedGroups, Levels)

_WRONG_FORM = tr_lazy("A stored step 'sets' has the wrong form.")


@dataclass(frozen=True)
class SetSteps:
    """A set by ``name``, how many ``columns`` of the rows are its own, and its ``steps``."""

    name: str
    columns: int
    steps: tuple[Step, ...]


class PerSet(Step):
    """Each set of columns through its own steps, then divided by one number.

    That number is the root mean square distance of its training rows from their mean, so each set contributes
    the same to an average squared distance before a learner weighs them.
    """

    kind: ClassVar[str] = "sets"

    def __init__(self, sets: Sequence[SetSteps] = ()) -> None:
        self.sets = tuple(sets)
        #: (sets,) what each is divided by.
        self.scales_ = np.empty(0)

    @property
    def uses_findings(self) -> bool:
        """Whether a step of any set does."""
        return any(step.uses_findings for one in self.sets for step in one.steps)

    @property
    def n_features(self) -> int:
        """d, the columns of all sets."""
        return sum(one.columns for one in self.sets)

    def fit(self, X: Matrix, y: npt.NDArray[Any] | None = None) -> Self:
        """Raises BadInput if the rows are not those of the sets, or a set's step cannot be learnt."""
        if X.shape[1] != self.n_features:
            raise BadInput(
                "The step 'sets' needs features of several sets.", "Name them: --features encoder,mass."
            )
        fitted, scales = [], []
        for one, rows in self._parted(X):
            steps = []
            for step in one.steps:
                steps.append(copy.deepcopy(step).fit(rows, y))
                rows = steps[-1].transform(rows)
            fitted.append(SetSteps(one.name, one.columns, tuple(steps)))
            scales.append(math.sqrt(float(rows.var(axis=0).sum())) or 1.0)
        self.sets, self.scales_ = tuple(fitted), np.array(scales)
        return self

    def transform(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, m): the sets after their steps, side by side."""
        out = []
        for (one, rows), scale in zip(self._parted(X), self.scales_, strict=True):
            for step in one.steps:
                rows = step.transform(rows)
            out.append(rows / scale)
        return np.concatenate(out, axis=1)

    def _parted(self, X: Matrix) -> list[tuple[SetSteps, Matrix]]:
        ends = np.cumsum([one.columns for one in self.sets])[:-1]
        return list(zip(self.sets, np.split(X, ends, axis=1), strict=True))

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of each set; the set's own for its principal components, which have no other."""
        out: list[str] = []
        start = 0
        for one in self.sets:
            own = names[start : start + one.columns]
            start += one.columns
            for step in one.steps:
                own = step.names(own)
            mixed = any(isinstance(step, PCA) for step in one.steps)
            out += [one.name] * len(own) if mixed else own
        return tuple(out)

    def describe(self) -> str:
        """The steps of each set."""
        descriptions = [
            tr_lazy(
                "{feature_set} ({steps})",
                feature_set=one.name,
                steps=join_texts(step.describe() for step in one.steps),
            )
            for one in self.sets
        ]
        return tr_lazy("sets: {sets}", sets=join_texts(descriptions))

    def settings(self) -> dict[str, Any]:
        """The sets, and the kinds and settings of their steps."""
        return {
            "sets": [
                {
                    "name": one.name,
                    "columns": one.columns,
                    "steps": [{"kind": step.kind, "settings": step.settings()} for step in one.steps],
                }
                for one in self.sets
            ]
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The scales, and the arrays of the sets' steps under the numbers of set and step."""
        found = {"scales": self.scales_}
        for place, one in enumerate(self.sets):
            for number, step in enumerate(one.steps):
                found |= {f"{place}_{number}_{name}": array for name, array in step.arrays().items()}
        return found

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: sets, steps or scales that do not fit together.
        """
        kinds = {kind.kind: kind for kind in SINGLE_STEPS}
        scales, sets = arrays.get("scales"), []
        try:
            for place, one in enumerate(settings["sets"]):
                steps, columns = [], one["columns"]
                for number, stored in enumerate(one["steps"]):
                    begin = f"{place}_{number}_"
                    own = {
                        name.removeprefix(begin): array
                        for name, array in arrays.items()
                        if name.startswith(begin)
                    }
                    steps.append(kinds[stored["kind"]].restore(stored["settings"], own))
                if type(columns) is not int or columns < 1 or (steps and steps[0].n_features != columns):
                    raise BadInput(_WRONG_FORM)
                sets.append(SetSteps(str(one["name"]), columns, tuple(steps)))
        except (KeyError, TypeError, AttributeError):
            raise BadInput(_WRONG_FORM) from None
        if (
            scales is None
            or scales.dtype != np.float64
            or scales.shape != (len(sets),)
            or not (scales > 0).all()
        ):
            raise BadInput(_WRONG_FORM)
        step = cls(sets)
        step.scales_ = scales
        return step
