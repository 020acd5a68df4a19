"""The ranking: its head, its cases, its judgements, what stands beside it."""
