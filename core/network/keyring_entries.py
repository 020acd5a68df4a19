"""Passwords in the keyring of the system."""

from __future__ import annotations

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy


class NoKeyring(SemblanceError):
    """The system has no keyring, or it is locked."""


def read_entry(service: str, name: str, *, hint: str) -> str:
    """What is stored for ``name`` of ``service``; "" for nothing.

    Raises:
        NoKeyring: with ``hint``.
    """
    import keyring
    from keyring.errors import KeyringError

    try:
        return str(keyring.get_password(service, name) or "")
    except KeyringError as error:
        raise no_keyring_error(hint) from error


def write_entry(service: str, name: str, text: str, *, hint: str) -> None:
    """Store ``text`` for ``name`` of ``service``; "" removes it.

    Raises:
        NoKeyring: with ``hint``.
    """
    import keyring
    from keyring.errors import KeyringError

    try:
        if text:
            keyring.set_password(service, name, text)
        elif keyring.get_password(service, name):
            keyring.delete_password(service, name)
    except KeyringError as error:
        raise no_keyring_error(hint) from error


def no_keyring_error(hint: str) -> NoKeyring:
    """The error where no password can be kept."""
    return NoKeyring(tr_lazy("This computer has no keyring that can keep passwords, or it is locked."), hint)
