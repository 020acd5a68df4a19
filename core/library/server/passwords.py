"""Passwords of libraries on servers, in the keyring of the system; those of their projects are the same."""

from __future__ import annotations

import contextlib
import os

from semblance.core.language import tr_lazy
from semblance.core.library.location import ServerAddress
from semblance.core.network.keyring_entries import NoKeyring, no_keyring_error, read_entry, write_entry

_SERVICE = "semblance-library"
_HINT = tr_lazy("Unlock it, install one (GNOME Keyring, KWallet), or enter the password at each start.")


def stored_password(address: ServerAddress) -> str:
    """The password that the keyring has for ``address``; "" where there is none, or where the environment has one."""
    if os.environ.get("PGPASSWORD"):
        return ""
    # Without a keyring there is nothing in it.
    with contextlib.suppress(NoKeyring, ImportError):
        return read_entry(_SERVICE, str(address.with_project("")), hint=_HINT)
    return ""


def store_password(address: ServerAddress, password: str) -> None:
    """Keep ``password`` in the keyring; "" removes it from there.

    Raises:
        NoKeyring: there is none.
    """
    try:
        write_entry(_SERVICE, str(address.with_project("")), password, hint=_HINT)
    except ImportError as error:
        raise no_keyring_error(_HINT) from error
