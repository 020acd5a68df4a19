"""The rounds of the boosted learners: their weighted pairs and triplets, their cuts and losses."""
