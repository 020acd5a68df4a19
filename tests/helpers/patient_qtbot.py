"""pytest-qt's ``qtbot`` with a time limit that a busy machine does not reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytestqt.qtbot import QtBot

#: Time limit of everything a test waits for.
PATIENCE_MS = 300_000


class PatientQtBot(QtBot):
    """Waits for at most :data:`PATIENCE_MS` where pytest-qt waits for 5 s."""

    def waitUntil(  # noqa: N802 - pytest-qt's name
        self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE_MS
    ) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(  # noqa: N802 - pytest-qt's name
        self, signal: Any, *, timeout: int = PATIENCE_MS, **options: Any
    ) -> Any:
        return super().waitSignal(signal, timeout=timeout, **options)
