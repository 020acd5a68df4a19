"""What the window knows of the servers it used: passwords, and which servers do not answer. In memory only."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from semblance.core.library.location import Secrets, ServerAddress

_Value = TypeVar("_Value")


class KnownServers:
    """Completes addresses that come without a password, as from the list of recent libraries, before jobs use them."""

    def __init__(self) -> None:
        self._secrets: dict[ServerAddress, Secrets] = {}
        self._unreachable: set[ServerAddress] = set()

    def remember(self, address: ServerAddress) -> None:
        """Use the password of ``address``, or none where it has none, from now on."""
        self._secrets[address] = address.secrets

    def set_unreachable(self, address: ServerAddress, *, unreachable: bool) -> None:
        """Whether jobs that start from now on read the copy of the library on this computer."""
        (self._unreachable.add if unreachable else self._unreachable.discard)(address)

    def completed(self, value: _Value) -> _Value:
        """``value``, and an address with its password and whether its server is away."""
        if not isinstance(value, ServerAddress):
            return value
        secrets = value.secrets if value.secrets.values else self._secrets.get(value, value.secrets)
        return replace(value, secrets=secrets, is_away=value in self._unreachable)
