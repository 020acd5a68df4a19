"""Every protocol there is: a new one is one line here."""

from __future__ import annotations

from core.errors import BadArguments
from core.evaluation.protocols.bdm import BDMProtocol
from core.evaluation.protocols.boostmetric import BoostMetricProtocol
from core.evaluation.protocols.ccml import CCMLProtocol
from core.evaluation.protocols.full import FullProtocol
from core.evaluation.protocols.matching import MatchingProtocol
from core.evaluation.protocols.metricboost import MetricBoostProtocol
from core.evaluation.protocols.online import OnlineProtocol
from core.evaluation.protocols.pairs import PairsProtocol
from core.evaluation.protocols.protocol import Protocol
from core.language import say
from core.parameters import Value

_PROTOCOLS: tuple[type[Protocol], ...] = (
    BDMProtocol,
    MetricBoostProtocol,
    BoostMetricProtocol,
    OnlineProtocol,
    CCMLProtocol,
    PairsProtocol,
    MatchingProtocol,
    FullProtocol,
)


def protocols() -> tuple[type[Protocol], ...]:
    """The classes of all protocols."""
    return _PROTOCOLS


def protocol_class(name: str) -> type[Protocol]:
    """The class of the protocol so named.

    Raises:
        BadArguments: no such protocol.
    """
    for protocol in _PROTOCOLS:
        if protocol.name == name:
            return protocol
    names = ", ".join(protocol.name for protocol in _PROTOCOLS)
    raise BadArguments(
        say("There is no protocol '{name}'.", name=name), say("Protocols: {names}.", names=names)
    )


def get_protocol(name: str, **settings: Value) -> Protocol:
    """The protocol so named, measuring as ``settings`` say.

    Raises:
        BadArguments: no such protocol, or a setting it does not have or refuses.
    """
    return protocol_class(name)(**settings)
