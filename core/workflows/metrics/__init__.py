"""Train, score, store and exchange metrics."""
