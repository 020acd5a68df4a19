"""Evaluation on held-out cases: splits by patient, scores, intervals, and the protocols of the papers."""
