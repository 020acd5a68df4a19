"""Tell what others change in a library on a server, as it happens, and when the server goes away and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from semblance.core.errors import BadArguments, ServerUnavailable
from semblance.core.library.location import LibraryLocation
from semblance.core.tasks import SILENT, Reporter

#: Seconds between two questions whether the watch was cancelled.
WAIT_S = 0.5
#: Seconds between the first two tries to reach a server that is away, and the longest between two; they double.
RETRY_S, LONGEST_RETRY_S = 1.0, 30.0
#: Kinds of events: from now on nothing is missed; tables changed; the server does not answer; it answers again.
WATCHING, CHANGED, AWAY, BACK = "watching", "changed", "away", "back"


@dataclass(frozen=True)
class LibraryEvent:
    """``kind``: one of the above. ``tables``: those that changed; ``*`` for what was missed. ``authors``: account ->
    the number of judgements, marks, concepts and edits that it added. ``reason``: why the server does not answer."""

    kind: str
    tables: tuple[str, ...] = ()
    authors: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


def library_changes(library: LibraryLocation, *, reporter: Reporter = SILENT) -> Iterator[LibraryEvent]:
    """Events of ``library`` without end, :data:`WATCHING` first. Nothing is written.

    Raises:
        BadArguments: the library is in a folder.
        AccessRefused: the user may not read the library any more. What this computer had of it was removed.
        ServerUnavailable: the server does not answer at first.
    """
    from semblance.core.library.server.changes import ChangeListener
    from semblance.core.library.server.connection import removal_of_refused

    if isinstance(library, Path):
        raise BadArguments("Only a library on a server can be watched.")
    away = 0
    with removal_of_refused(library), ChangeListener(library) as listener:
        yield LibraryEvent(WATCHING)
        while True:
            reporter.check_cancelled()
            try:
                tables = listener.wait(WAIT_S)
                authors = listener.authors() if tables else {}
            except ServerUnavailable as error:
                if not away:
                    yield LibraryEvent(AWAY, reason=error.message)
                _pause(min(LONGEST_RETRY_S, RETRY_S * 2.0**away), reporter)
                away += 1
                continue
            if away:
                away = 0
                yield LibraryEvent(BACK)
            if tables:
                yield LibraryEvent(CHANGED, tuple(sorted(tables)), authors)


def follow_library(library: LibraryLocation, *, reporter: Reporter = SILENT) -> None:
    """Hand each event of :func:`library_changes` to ``reporter``, until it is cancelled; also those of a server that
    does not answer at first.

    Raises:
        AccessRefused: the server answers, and the user may not read the library any more.
    """
    tries = 0
    while True:
        try:
            for event in library_changes(library, reporter=reporter):
                reporter.partial(event)
        except ServerUnavailable as error:
            if not tries:
                reporter.partial(LibraryEvent(AWAY, reason=error.message))
            _pause(min(LONGEST_RETRY_S, RETRY_S * 2.0**tries), reporter)
            tries += 1


def _pause(seconds: float, reporter: Reporter) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        reporter.check_cancelled()
        time.sleep(min(WAIT_S, left))
