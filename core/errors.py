"""Every failure a user can meet, in the user's words."""

from __future__ import annotations


class SemblanceError(Exception):
    """A failure to be shown to a person.

    ``message`` says what happened and to which file; ``hint`` says what to do next. Both are whole
    sentences without a traceback or an internal name in them.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class BadInput(SemblanceError):
    """A file or value from outside that cannot be used."""


class BadArguments(SemblanceError):
    """A request that names something unknown or leaves out something needed (exit status 2)."""
