"""Errors that are shown to the user."""

from __future__ import annotations

from semblance.core.language import LazyText, tr_lazy


class SemblanceError(Exception):
    """An error to show to the user.

    ``message`` says what happened and to which file; ``hint`` says what to do. Both are whole English sentences
    without internal names; :func:`semblance.core.language.translate` gives them in the language of the user.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        # Only a lazy text is translated inside another text.
        self.message: str = message if isinstance(message, LazyText) else LazyText(message, {})
        self.hint: str = hint if isinstance(hint, LazyText) else LazyText(hint, {})

    def __str__(self) -> str:
        return (
            tr_lazy("{message} {hint}", message=self.message, hint=self.hint) if self.hint else self.message
        )


class BadInput(SemblanceError):
    """A file or value from outside that cannot be used."""


class BadArguments(SemblanceError):
    """A request with an unknown name or a missing argument (exit status 2)."""


class AccessRefused(SemblanceError):
    """The server of a library answers, and does not let the user read it, or not any more."""


class WrongPassword(AccessRefused):
    """The server of a library refuses the user or the password."""


class ServerUnavailable(SemblanceError):
    """The server of a library does not answer, or not any more."""
