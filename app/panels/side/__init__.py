"""The tabs beside the ranking: why it is so, refine it, train a metric."""
