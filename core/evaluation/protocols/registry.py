"""The registry of protocols."""

from __future__ import annotations

from typing import Any

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
from semblance.core.plugins import Plugin, PluginGroup, check_class, guard_methods, missing_hint

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


def _checked_plugin(plugin: Plugin, found: Any) -> type[EvaluationProtocol]:
    texts = {
        "title": str,
        "summary": str,
        "paper": str,
        "repeats": int,
        "compared": tuple,
        "parameters": tuple,
    }
    check_class(plugin, found, EvaluationProtocol, texts)
    protocol: type[EvaluationProtocol] = found
    guard_methods(plugin, protocol, ("splits", "measure", "plan", "run", "as_in_the_paper"))
    return protocol


_PLUGINS: PluginGroup[type[EvaluationProtocol]] = PluginGroup(
    "protocol", lambda: (protocol.name for protocol in _PROTOCOLS), _checked_plugin
)


def protocols() -> tuple[type[EvaluationProtocol], ...]:
    """The classes of all protocols, last those of plug-ins, which it imports."""
    return *_PROTOCOLS, *_PLUGINS.all()


def protocol_names() -> tuple[str, ...]:
    """The names of all protocols. Imports none of a plug-in."""
    return *(protocol.name for protocol in _PROTOCOLS), *_PLUGINS.names()


def protocol_class(name: str) -> type[EvaluationProtocol]:
    """The class of the protocol ``name``.

    Raises:
        BadArguments: no such protocol.
    """
    for protocol in _PROTOCOLS:
        if protocol.name == name:
            return protocol
    if found := _PLUGINS.get(name):
        return found
    raise BadArguments(
        tr_lazy("There is no protocol '{name}'.", name=name),
        missing_hint("protocol", name) or tr_lazy("Protocols: {names}.", names=", ".join(protocol_names())),
    )


def get_protocol(name: str, **settings: Value) -> EvaluationProtocol:
    """The protocol ``name`` with ``settings``.

    Raises:
        BadArguments: no such protocol, or a setting it does not have or refuses.
    """
    return protocol_class(name)(**settings)
