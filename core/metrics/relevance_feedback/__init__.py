"""Learning from relevance feedback: metrics refined by the judgements of searches."""
