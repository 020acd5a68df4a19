"""Every protocol there is: a new one is one line here."""

from __future__ import annotations

from core.errors import BadArguments
from core.evaluation.protocols.bdm import BDMProtocol
from core.evaluation.protocols.ccml import CCMLProtocol
from core.evaluation.protocols.online import OnlineProtocol
from core.evaluation.protocols.pairs import PairsProtocol
from core.evaluation.protocols.protocol import Protocol

_PROTOCOLS: tuple[type[Protocol], ...] = (BDMProtocol, OnlineProtocol, CCMLProtocol, PairsProtocol)


def protocols() -> tuple[type[Protocol], ...]:
    """The classes of all protocols."""
    return _PROTOCOLS


def get_protocol(name: str) -> Protocol:
    """The protocol so named.

    Raises:
        BadArguments: no such protocol.
    """
    for protocol in _PROTOCOLS:
        if protocol.name == name:
            return protocol()
    names = ", ".join(protocol.name for protocol in _PROTOCOLS)
    raise BadArguments(f"There is no protocol '{name}'.", f"Protocols: {names}.")
