"""One file per measuring protocol, named after the paper that used it, and the registry that knows them."""

from semblance.core.evaluation.protocols.registry import get_protocol, protocols

__all__ = ["get_protocol", "protocols"]
