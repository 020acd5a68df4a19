"""Learners, the metrics they fit, and the steps and distances metrics are made of."""

from semblance.core.metrics.metric import load_metric
from semblance.core.metrics.pipeline import fit_metric
from semblance.core.metrics.registry import learners, make_learner

__all__ = ["fit_metric", "learners", "load_metric", "make_learner"]
