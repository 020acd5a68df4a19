"""Compare encoders on the open library in a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.core.language import tr
from semblance.core.workflows.evaluation import compare_encoders
from semblance.core.workflows.evaluation.compare_encoders import EncoderRequest


def compare(
    context: Context, library: Path, request: EncoderRequest, then: Callable[[Mapping[str, Any]], object]
) -> Job:
    """Measure and score the encoders of ``request`` on ``library``. ``then`` is called with the document."""
    job = context.jobs.run(
        tr("Comparing encoders on {name}", name=library.stem),
        compare_encoders.compare_encoders,
        library,
        request,
        channel="compare encoders",
    )
    return context.follow(job, then)
