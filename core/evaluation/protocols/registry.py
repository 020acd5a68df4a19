"""The registry of protocols."""

from __future__ import annotations

from semblance.core.errors import BadArguments
from semblance.core.evaluation.protocols.feedback import FeedbackProtocol
from semblance.core.evaluation.protocols.full import FullProtocol
from semblance.core.evaluation.protocols.matching import MatchingProtocol
from semblance.core.evaluation.protocols.medmnist import MedMNISTProtocol
from semblance.core.evaluation.protocols.pairs import PairsProtocol
from semblance.core.evaluation.protocols.papers import (
    BDMProtocol,
    BoostMetricProtocol,
    CCMLProtocol,
    MetricBoostProtocol,
    OnlineProtocol,
)
from semblance.core.evaluation.protocols.protocol import EvaluationProtocol
from semblance.core.evaluation.protocols.region import RegionProtocol
from semblance.core.language import tr_lazy
from semblance.core.parameters import Value

_PROTOCOLS: tuple[type[EvaluationProtocol], ...] = (
    BDMProtocol,
    MetricBoostProtocol,
    BoostMetricProtocol,
    OnlineProtocol,
    CCMLProtocol,
    PairsProtocol,
    MatchingProtocol,
    FullProtocol,
    FeedbackProtocol,
    RegionProtocol,
    MedMNISTProtocol,
)


def protocols() -> tuple[type[EvaluationProtocol], ...]:
    """The classes of all protocols."""
    return _PROTOCOLS


def protocol_class(name: str) -> type[EvaluationProtocol]:
    """The class of the protocol ``name``.

    Raises:
        BadArguments: no such protocol.
    """
    for protocol in _PROTOCOLS:
        if protocol.name == name:
            return protocol
    names = ", ".join(protocol.name for protocol in _PROTOCOLS)
    raise BadArguments(
        tr_lazy("There is no protocol '{name}'.", name=name), tr_lazy("Protocols: {names}.", names=names)
    )


def get_protocol(name: str, **settings: Value) -> EvaluationProtocol:
    """The protocol ``name`` with ``settings``.

    Raises:
        BadArguments: no such protocol, or a setting it does not have or refuses.
    """
    return protocol_class(name)(**settings)
