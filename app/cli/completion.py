"""Shell completion of options that take names. The registries are read only when a shell asks."""

from __future__ import annotations

from collections.abc import Iterable


def learner_names(incomplete: str) -> list[str]:
    from semblance.core.metrics import registry

    return _completions(incomplete, registry.learner_names())


def extractor_names(incomplete: str) -> list[str]:
    from semblance.core.features.registry import extractor_names as names

    return _completions(incomplete, names())


def protocol_names(incomplete: str) -> list[str]:
    from semblance.core.evaluation.protocols.registry import protocol_names as names

    return _completions(incomplete, names())


def _completions(incomplete: str, names: Iterable[str]) -> list[str]:
    """The names that complete the last of the comma-separated names in ``incomplete``."""
    before, comma, prefix = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(prefix)]
