"""Checked training data of learners: rows, findings, pairs, triplets, samples, and the memory they need."""
