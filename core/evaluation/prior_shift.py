"""Adjust a probability to another prevalence of the finding."""

from __future__ import annotations


def shift_prior(probability: float, measured: float, prevalence: float) -> float:
    """Adjust ``probability``, estimated at a share ``measured`` of the finding, to its ``prevalence``.

    M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities",
    Neural Computation 14, 2002, equation 2.4, for the finding and all others. Cases with the finding, and those
    without it, are assumed to have the same distribution in both places. All numbers are shares from 0 to 1,
    ``measured`` is neither 0 nor 1.
    """
    with_finding = probability * prevalence / measured
    without = (1.0 - probability) * (1.0 - prevalence) / (1.0 - measured)
    total = with_finding + without
    return with_finding / total if total > 0.0 else probability
