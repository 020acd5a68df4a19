"""The control of the score of a trained metric: the same training with shuffled findings, which must score at chance.

After Ojala and Garriga, "Permutation tests for studying classifier performance", Journal of Machine Learning Research
11, 2010: a score above chance after training on shuffled findings is an error of the measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.json_document import JsonDocument, JsonKeys

Rows = npt.NDArray[np.intp]

_DRAWS = 2000
#: Of 100 correct controls about one is outside this interval.
INTERVAL = (0.5, 99.5)


@dataclass(frozen=True)
class ShuffledControl(JsonDocument):
    """``accuracy``: mean retrieval accuracy @10 of ``n_queries`` held-out cases among ``n_train`` training cases with
    shuffled findings; ``chance`` and ``interval`` (99 %): the same with the findings of the queries shuffled too."""

    #: As stored with the scores of a metric.
    JSON_KEYS: ClassVar[JsonKeys] = (
        "n_train",
        "n_queries",
        "accuracy",
        "chance",
        "interval",
        ("near_chance", "is_near_chance"),
    )
    JSON_STRICT: ClassVar[bool] = True

    n_train: int
    n_queries: int
    accuracy: float
    chance: float
    interval: tuple[float, float]

    @property
    def is_near_chance(self) -> bool:
        """Whether the control is at chance, as expected."""
        return self.accuracy <= self.interval[1]


def stored_control(scores: Mapping[str, Any] | None) -> ShuffledControl | None:
    """The control in the stored ``scores`` of a metric; ``None`` where there is none that can be read."""
    values = (scores or {}).get("shuffled_control")
    try:
        return ShuffledControl.from_json(values) if values else None
    except (TypeError, ValueError):
        return None


def shuffled_by_unit(
    values: npt.NDArray[Any], units: Rows | None, rng: np.random.Generator
) -> npt.NDArray[Any]:
    """``values`` (n,) with the blocks of values of ``units`` (n,) in another order, so that a patient gets those of
    another one; ``None``: every case is a unit."""
    if units is None:
        return rng.permutation(values)
    _, codes = np.unique(units, return_inverse=True)
    codes = codes.reshape(-1)
    order = rng.permutation(int(codes.max(initial=-1)) + 1)
    out = np.empty_like(values)
    out[np.argsort(codes, kind="stable")] = values[np.argsort(order[codes], kind="stable")]
    return out


def measure_control(
    nearest: Rows, findings: Rows, units: Rows | None, n_train: int, seed: int
) -> ShuffledControl | None:
    """The control of queries with ``findings`` (q,) whose nearest training cases have the shuffled findings ``nearest``
    (q, k), -1 for none. ``None`` where no query has an answer."""
    given = (nearest >= 0).sum(axis=1)
    usable = given > 0
    if not usable.any():
        return None
    nearest, findings, given = nearest[usable], findings[usable], given[usable]
    units = None if units is None else units[usable]

    def accuracy(of_queries: Rows) -> float:
        return float(((nearest == of_queries[:, np.newaxis]).sum(axis=1) / given).mean())

    rng = np.random.default_rng(seed)
    drawn = np.array([accuracy(shuffled_by_unit(findings, units, rng)) for _ in range(_DRAWS)])
    low, high = np.percentile(drawn, INTERVAL).tolist()
    return ShuffledControl(n_train, len(findings), accuracy(findings), float(drawn.mean()), (low, high))
