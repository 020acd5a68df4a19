"""Passwords and tokens of PACS servers: in the system's keyring, or in an environment variable for scripts."""

from __future__ import annotations

import contextlib
import os
import re
from typing import Final

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.network.keyring_entries import NoKeyring, read_entry, write_entry

#: Environment variable of every server; with ``_`` and a name in capitals, of that server.
VARIABLE: Final = "SEMBLANCE_PACS_PASSWORD"
_SERVICE: Final = "semblance-pacs"


def variable_of(name: str) -> str:
    """The environment variable with the password of the server ``name``."""
    return f"{VARIABLE}_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"


def read_password(name: str) -> str:
    """The password or token of the server ``name``.

    Raises:
        SemblanceError: there is none, or the keyring cannot be read.
    """
    for variable in (variable_of(name), VARIABLE):
        if found := os.environ.get(variable):
            return found
    stored = read_entry(_SERVICE, name, hint=_hint(name))
    if not stored:
        raise SemblanceError(
            tr_lazy("There is no password or token for the PACS '{name}'.", name=name),
            tr_lazy(
                "Enter it with `semblance pacs password`, or set {variable}.", variable=variable_of(name)
            ),
        )
    return stored


def store_password(name: str, password: str) -> None:
    """Put the password or token of the server ``name`` into the keyring.

    Raises:
        SemblanceError: this computer has no keyring, or it is locked.
    """
    write_entry(_SERVICE, name, password, hint=_hint(name))


def copy_password(name: str, to: str) -> None:
    """Keep what the keyring has for the server ``name`` for the server ``to`` too, where there is something."""
    # Without a keyring there is nothing in it.
    with contextlib.suppress(ImportError, NoKeyring):
        if stored := read_entry(_SERVICE, name, hint=_hint(name)):
            write_entry(_SERVICE, to, stored, hint=_hint(to))


def forget_password(name: str) -> None:
    """Remove the password or token of the server ``name`` from the keyring, where there is one."""
    # Without a keyring there is nothing in it.
    with contextlib.suppress(ImportError, NoKeyring):
        write_entry(_SERVICE, name, "", hint=_hint(name))


def _hint(name: str) -> str:
    return tr_lazy(
        "Unlock it, install one (GNOME Keyring, KWallet), or set {variable}.", variable=variable_of(name)
    )
