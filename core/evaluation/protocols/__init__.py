"""Evaluation protocols, one file each, named after their papers, and their registry."""

from semblance.core.evaluation.protocols.registry import get_protocol, protocols

__all__ = ["get_protocol", "protocols"]
