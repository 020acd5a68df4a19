"""A small report with everything in it, and names that mean harm."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping
from typing import Any

from PIL import Image

from semblance.core.imaging.region import Region
from semblance.core.reports.document import (
    JudgementRow,
    LabelledValue,
    ReportDocument,
    ReportedCase,
    ReportedQuery,
    ReportPlot,
)
from semblance.core.searches.similar_cases import Vote

HOSTILE = '<script>alert("x")</script>&amp;'
PATIENT, QUERY_PATIENT = "PAT-0042", "PAT-0007"


def png(width: int = 32, height: int = 24, grey: int = 120) -> bytes:
    out = io.BytesIO()
    Image.new("L", (width, height), grey).save(out, "PNG")
    return out.getvalue()


def row(rank: int, **changes: Any) -> ReportedCase:
    plain = ReportedCase(
        rank,
        rank,
        f"study/{PATIENT}/case {rank}.png",
        0.1 * rank,
        "malignant" if rank % 2 else "benign",
        PATIENT,
        f"/srv/images/{PATIENT}/case {rank}.png",
        thumbnail=png(),
        parts=(("Gabor, 5 px", 0.15 * rank), ("Outline", -0.05 * rank)),
    )
    return dataclasses.replace(plain, **changes)


def vote(counts: Mapping[str, int], finding: str | None = None, without: int = 0, **changes: Any) -> Vote:
    """The vote of so many cases with each finding, and of those ``without`` one, in this order."""
    voters = (*(name for name, n in counts.items() for _ in range(n)), *[None] * without)
    return Vote(**{"voters": voters, "counts": dict(counts), "finding": finding} | changes)


def report(rows: int = 4, **changes: Any) -> ReportDocument:
    values: dict[str, Any] = {
        "title": "Similar cases",
        "created": "2026-03-01T14:05:00+00:00",
        "library": "Breast demo",
        "metric": "BDM+V",
        "query": ReportedQuery(
            case_id=f"study/{QUERY_PATIENT}/query.png",
            patient=QUERY_PATIENT,
            finding="malignant",
            thumbnail=png(64, 64),
            region=Region(4, 5, 30, 20),
            facts=(LabelledValue("Size", "64 × 64 px"),),
        ),
        "ranking": tuple(row(rank) for rank in range(1, rows + 1)),
        "findings": ("malignant", "benign"),
        "vote": vote({"malignant": 2, "benign": 2}, "malignant"),
        "card": (LabelledValue("Learner", "BDM+V, 200 rounds"), LabelledValue("AUC", "0.88 (0.83–0.92)")),
        "measured_on": "held-out patients",
        "hidden": {"same_patient": 1, "near_duplicates": 2},
        "judgements": (
            JudgementRow("alike", f"study/{QUERY_PATIENT}/query.png", f"study/{PATIENT}/case 1.png"),
        ),
        "plots": (ReportPlot("Retrieval accuracy", png(400, 240), None, "held-out patients"),),
        "notes": ("All 200 rounds.",),
        "versions": {"semblance": "0.1.0"},
    }
    return ReportDocument(**{**values, **changes})
