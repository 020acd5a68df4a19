"""The rounds of the boosted learners: their weights of pairs and triplets, weak models and losses."""
