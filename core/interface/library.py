"""A library of cases, opened from Python."""

from __future__ import annotations


class Library:
    """The cases of a library with their feature sets, metrics and searches."""


def open_library(location: str) -> Library:
    """Open the library in a folder or at a libpq URI."""
    raise NotImplementedError


def create_library(location: str) -> Library:
    """Make a library."""
    raise NotImplementedError
