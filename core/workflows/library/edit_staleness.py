"""Which metrics become out of date when findings, patients or cases change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from semblance.core.language import tr_lazy_n
from semblance.core.library.metric_scores import is_changed_since


class _Metric(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def scores(self) -> Mapping[str, Any] | None: ...


def newly_outdated(metrics: Iterable[_Metric]) -> tuple[str, ...]:
    """The metrics with scores that the next change of labels or cases makes out of date."""
    return tuple(metric.name for metric in metrics if metric.scores and not is_changed_since(metric.scores))


def outdated_text(n: int) -> str:
    """What becomes out of date; empty for nothing."""
    if not n:
        return ""
    return tr_lazy_n(
        "{n} metric and its scores become out of date.", "{n} metrics and their scores become out of date.", n
    )
