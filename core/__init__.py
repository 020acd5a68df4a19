"""Algorithms and data of Semblance; imports no Qt and nothing of ``app``."""
