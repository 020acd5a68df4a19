"""Import all plug-ins that are installed, to know which of them do not work."""

from __future__ import annotations

from semblance.core.plugins import BrokenPlugin, broken_plugins, installed_plugins


def load_plugins() -> tuple[BrokenPlugin, ...]:
    """Import the plug-ins of every kind, with what they belong to; returns those that are switched off because they
    do not work. Where none is installed nothing is imported."""
    kinds = {plugin.kind for plugin in installed_plugins()}
    if "learner" in kinds:
        from semblance.core.metrics.registry import plugin_learners

        plugin_learners()
    if "extractor" in kinds:
        from semblance.core.features.registry import extractors

        extractors()
    if "importer" in kinds:
        from semblance.core.library.importers.registry import importers

        importers()
    if "protocol" in kinds:
        from semblance.core.evaluation.protocols.registry import protocols

        protocols()
    if "report" in kinds:
        from semblance.core.reports.write_report import plugin_writers

        plugin_writers()
    return broken_plugins()
