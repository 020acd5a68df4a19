"""How well a metric does: retrieval accuracy, ROC, calibration, training curves, map."""
