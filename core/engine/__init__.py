"""Worker processes for heavy work, with ``concurrent.futures``, progress and cancelling."""

from __future__ import annotations

from semblance.core.engine.pool import (
    MAX_WORKERS,
    SLOTS,
    WORKERS_VARIABLE,
    Engine,
    Listener,
    Task,
    WorkerEnded,
    default_workers,
    run_parts,
)
from semblance.core.engine.worker import Progress, limit_threads

__all__ = [
    "MAX_WORKERS",
    "SLOTS",
    "WORKERS_VARIABLE",
    "Engine",
    "Listener",
    "Progress",
    "Task",
    "WorkerEnded",
    "default_workers",
    "limit_threads",
    "run_parts",
]
