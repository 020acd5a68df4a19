"""Shell completion of options that take names. The registries are read only when a shell asks."""

from __future__ import annotations

from collections.abc import Iterable


def learner_names(incomplete: str) -> list[str]:
    from semblance.core.metrics.registry import learners

    return _completions(incomplete, (one.name for one in learners()))


def extractor_names(incomplete: str) -> list[str]:
    from semblance.core.features.registry import extractors

    return _completions(incomplete, (one.name for one in extractors()))


def protocol_names(incomplete: str) -> list[str]:
    from semblance.core.evaluation.protocols.registry import protocols

    return _completions(incomplete, (one.name for one in protocols()))


def _completions(incomplete: str, names: Iterable[str]) -> list[str]:
    """The names that complete the last of the comma-separated names in ``incomplete``."""
    before, comma, prefix = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(prefix)]
