"""Proof on cases never trained on: splits by patient, scores, intervals, and the protocols of the papers."""
