"""Learners, the metrics they fit, and the steps and distances metrics are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semblance.core.metrics.metric import load_metric
    from semblance.core.metrics.pipeline import fit_metric
    from semblance.core.metrics.registry import learners, make_learner

__all__ = ["fit_metric", "learners", "load_metric", "make_learner"]

_MODULES = {
    "fit_metric": "pipeline",
    "learners": "registry",
    "load_metric": "metric",
    "make_learner": "registry",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: a list of learners needs no numpy."""
    if name not in _MODULES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
