"""Mutated copies of files of every kind: ``python -m tests.fuzz`` runs thousands, the tests some hundred."""
