"""Describe the learners, extractors, kinds of source and protocols."""

from __future__ import annotations

from typing import Any


def describe_learners() -> list[dict[str, Any]]:
    """Every learner with its parameters."""
    from semblance.core.metrics.registry import learners

    return [
        {
            "name": learner.name,
            "title": learner.title,
            "paper": learner.paper,
            "when_to_use": learner.summary,
            "accepts": sorted(learner.accepts),
            "parameters": [parameter.to_json() for parameter in learner.parameters],
        }
        for learner in learners()
    ]


def describe_extractors() -> list[dict[str, Any]]:
    """Every extractor with its parameters."""
    from semblance.core.features.registry import extractors

    return [
        {
            "name": extractor.name,
            "title": extractor.title,
            "summary": extractor.summary,
            "version": extractor.version,
            "needs_image": extractor.needs_image,
            "parameters": [parameter.to_json() for parameter in extractor.parameters],
        }
        for extractor in extractors()
    ]


def describe_kinds() -> list[dict[str, Any]]:
    """Every kind of source that can be imported."""
    from semblance.core.library.importers.registry import importers

    return [{"name": i.kind, "title": i.title, "summary": i.summary} for i in importers()]


def describe_protocols() -> list[dict[str, Any]]:
    """Every evaluation protocol with its parameters."""
    from semblance.core.evaluation.protocols.registry import protocols

    return [
        {
            "name": protocol.name,
            "title": protocol.title,
            "summary": protocol.summary,
            "parameters": [parameter.to_json() for parameter in protocol.parameters],
        }
        for protocol in protocols()
    ]
