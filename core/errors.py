"""Every failure a user can meet, in the user's words."""

from __future__ import annotations

from semblance.core.language import LazyText, tr_lazy


class SemblanceError(Exception):
    """A failure to be shown to a person.

    ``message`` says what happened and to which file; ``hint`` says what to do next. Both are whole
    sentences without a traceback or an internal name in them, in English;
    :func:`semblance.core.language.translate` gives them in the language of the user.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        # Inside another text a sentence is translated only where it is known to be one.
        self.message: str = message if isinstance(message, LazyText) else LazyText(message, {})
        self.hint: str = hint if isinstance(hint, LazyText) else LazyText(hint, {})

    def __str__(self) -> str:
        return (
            tr_lazy("{message} {hint}", message=self.message, hint=self.hint) if self.hint else self.message
        )


class BadInput(SemblanceError):
    """A file or value from outside that cannot be used."""


class BadArguments(SemblanceError):
    """A request that names something unknown or leaves out something needed (exit status 2)."""
