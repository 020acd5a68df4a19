"""Feature sets and metrics: extract, train, cards, exchange."""
