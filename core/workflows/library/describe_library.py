"""Describe a library and its cases, and what the program offers: learners, extractors, kinds of sources, protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.plugins import find_plugin
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.library.library import Library


#: Case ids listed by ``semblance info``.
LISTED = 1000


def describe_library(library: LibraryLocation) -> dict[str, Any]:
    """Contents of a library (shape of CONTRACT.md, "info").

    Raises:
        BadInput: not a library, damaged, or from a newer version.
    """
    with open_library(library, writable=None) as opened:
        rows = opened.catalogue.all_cases()
        indexes = _candidates(opened)
        candidates = {"candidates": indexes} if indexes else {}
        return {**opened.summary(), **candidates, "case_ids": [r.case_id for r in rows[:LISTED]]}


def _candidates(library: Library) -> list[dict[str, Any]]:
    """A line for each index, as ``semblance info --json`` has it."""
    lines, names = [], {record.file.stem: record for record in library.metrics()}
    outdated = library.outdated_indexes()
    for index in library.embedding_indexes():
        record = names.get(index.metric)
        if record is not None:
            lines.append(
                {
                    "metric": record.name,
                    "cases": index.cases,
                    "candidates": index.candidates,
                    "recall@20": index.recall,
                    "measured_with": index.queries,
                    "up_to_date": record.name not in outdated,
                }
            )
    return lines


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
            **_origin("learner", learner.name),
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
            **_origin("extractor", extractor.name),
        }
        for extractor in extractors()
    ]


def describe_kinds() -> list[dict[str, Any]]:
    """Every kind of source that can be imported."""
    from semblance.core.library.importers.registry import importers

    return [
        {"name": i.kind, "title": i.title, "summary": i.summary, **_origin("importer", i.kind)}
        for i in importers()
    ]


def describe_protocols() -> list[dict[str, Any]]:
    """Every evaluation protocol with its parameters."""
    from semblance.core.evaluation.protocols.registry import protocols

    return [
        {
            "name": protocol.name,
            "title": protocol.title,
            "summary": protocol.summary,
            "parameters": [parameter.to_json() for parameter in protocol.parameters],
            **_origin("protocol", protocol.name),
        }
        for protocol in protocols()
    ]


def _origin(kind: str, name: str) -> dict[str, Any]:
    """The package and version of what a plug-in adds; nothing for what this program has itself."""
    plugin = find_plugin(kind, name)
    return {} if plugin is None else {"plugin": plugin.origin}


#: Cases read together.
_PART = 5_000


def list_cases(library: LibraryLocation, *, reporter: Reporter = SILENT) -> dict[str, list[Any]]:
    """Name of a column -> a value for each case, in the order they were added, ``None`` where it is not known.

    case_id, finding, patient, path ("" without an image), kind (of the source), width and height (pixels), slices (of
    a volume), sealed (whether it is in the sealed test vault), and the attributes of headers and tables by their names.

    Raises:
        BadInput: not a library, or damaged.
    """
    from semblance.core.evaluation.data_sources import sealed_rows

    columns: dict[str, list[Any]] = {
        name: []
        for name in ("case_id", "finding", "patient", "path", "kind", "width", "height", "slices", "sealed")
    }
    attributes = []
    with open_library(library) as opened:
        rows = opened.catalogue.case_rows()
        sealed = set(sealed_rows(opened).tolist())
        for start in range(0, len(rows), _PART):
            reporter.check_cancelled()
            reporter.progress(start, len(rows), tr_lazy("Reading cases"))
            for row, case in sorted(opened.catalogue.details(rows[start : start + _PART].tolist()).items()):
                values = (
                    case.case_id,
                    case.finding,
                    case.patient or None,
                    "" if case.address is None else str(case.address),
                    case.kind,
                    case.width,
                    case.height,
                    case.depth,
                    row in sealed,
                )
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
                attributes.append(case.attributes)
    names = sorted({name for one in attributes for name in one} - columns.keys())
    return columns | {name: [one.get(name) for one in attributes] for name in names}
