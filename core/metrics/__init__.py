"""Learners, the metrics they fit, and the steps and distances metrics are made of."""

from semblance.core.metrics.fit_in_chunks import fit_in_chunks
from semblance.core.metrics.metric import load_metric
from semblance.core.metrics.pipeline import fit_metric
from semblance.core.metrics.registry import learners, make_learner

__all__ = ["fit_in_chunks", "fit_metric", "learners", "load_metric", "make_learner"]
