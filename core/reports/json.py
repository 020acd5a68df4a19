"""A report as JSON: the search in the form of ``search --json``, and the contents of the report."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

from semblance.core.purpose import PURPOSE
from semblance.core.reports.document import Fact, ReportDocument

#: Version of the format; raised when a key changes its meaning.
VERSION = 1


def report_json(document: ReportDocument) -> str:
    """The keys of ``search --json``, and ``report``, ``card``, ``judgements``, ``order`` (what marks did to the
    ranking, in words), ``plots`` (their captions), ``notes``, ``versions``, ``comment``, ``clinic`` and
    ``search``, with which its library reopens it. Without images. NaN and infinities become null."""
    return json.dumps(_to_json(_values(document)), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _values(document: ReportDocument) -> dict[str, Any]:
    query, vote = document.query, document.vote
    return {
        "report": {
            "version": VERSION,
            "title": document.title,
            "created": document.created,
            "library": document.library,
            "identified": document.identified,
            "removed": document.removed,
            "intended_purpose": PURPOSE,
        },
        "query": {
            "case_id": query.case_id,
            "image": query.image,
            "region": None if query.region is None else query.region.to_json(),
            "finding": query.finding,
            **({"patient": query.patient} if document.identified else {}),
            "facts": _facts(query.facts),
        },
        "metric": document.metric,
        "results": [
            {
                "rank": row.rank,
                "case_id": row.case_id,
                "distance": row.distance,
                "finding": row.finding,
                "path": row.path,
                **({"patient": row.patient} if document.identified else {}),
                "near_duplicates": row.near_duplicates,
                "judgement": row.judgement,
                "reason": row.reason,
                "parts": [{"name": name, "amount": amount} for name, amount in row.parts],
            }
            for row in document.ranking
        ],
        "order": document.order,
        "hidden": {"same_patient": 0, "near_duplicates": 0, **document.hidden},
        "vote": {
            "voters": len(vote.neighbour_findings()),
            "counts": vote.counts,
            "calibrated": vote.calibrated,
            "measured_on": vote.measured_on,
            "finding": vote.finding,
            "probability": vote.probability if vote.calibrated else None,
            "interval": vote.interval if vote.calibrated else None,
            "query_trained_on": vote.trained,
            "library_share": vote.library_share,
            "prevalence": vote.prevalence,
            "caution": vote.caution or None,
            "why_not": vote.why_not or None,
        },
        "no_good_match": document.no_close_match,
        "unclear": document.unclear,
        "card": {
            "measured_on": document.measured_on,
            "tested": document.tested,
            "facts": _facts(document.card),
        },
        "judgements": [dataclasses.asdict(judgement) for judgement in document.judgements],
        "plots": [{"caption": plot.caption, "measured_on": plot.measured_on} for plot in document.plots],
        "notes": document.notes,
        "versions": document.versions,
        "comment": document.comment,
        "clinic": document.clinic,
        "search": document.embedded_search,
    }


def _facts(facts: tuple[Fact, ...]) -> list[dict[str, str]]:
    return [{"label": fact.label, "value": fact.value} for fact in facts]


def _to_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _to_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "item"):
        return _to_json(value.item())
    return value
