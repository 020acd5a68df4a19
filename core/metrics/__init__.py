"""Learners, the metrics they fit, and the steps and distances metrics are made of."""

from core.metrics.pipeline import fit_metric
from core.metrics.registry import learners, make_learner
from core.metrics.storage import load_metric

__all__ = ["fit_metric", "learners", "load_metric", "make_learner"]
