"""Learning from relevance feedback: a metric changed by what a person marks in searches."""
