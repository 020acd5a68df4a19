"""A context without a window."""

from __future__ import annotations

from semblance.app.shell.actions import Actions
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Jobs
from semblance.app.shell.messages import Messages
from semblance.app.shell.settings import Settings
from semblance.app.shell.state import WindowState


def make_context(jobs: Jobs, settings: Settings | None = None) -> Context:
    """A new context. Its commands have no shortcuts."""
    return Context(WindowState(), jobs, Messages(), settings or Settings(), Actions())
