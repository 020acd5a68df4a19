"""Steps between features and distance, fitted on training rows and stored with the metric."""

from semblance.core.metrics.steps.sequence import STEPS, apply_steps, fit_steps, parse_steps, steps_text
from semblance.core.metrics.steps.step import Step

__all__ = ["STEPS", "Step", "apply_steps", "fit_steps", "parse_steps", "steps_text"]
