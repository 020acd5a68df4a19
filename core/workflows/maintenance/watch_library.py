"""Tell what others change in a library on a server, as it happens, and when the server goes away and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from semblance.core.errors import BadArguments, ServerUnavailable
from semblance.core.library.address import server_address

#: Seconds between two questions whether the watch was cancelled, and between two tries to reach the server.
WAIT_S, RETRY_S = 1.0, 2.0
#: Kinds of events: from now on nothing is missed; tables changed; the server does not answer; it answers again.
WATCHING, CHANGED, AWAY, BACK = "watching", "changed", "away", "back"


def library_changes(library: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Events of ``library`` without end: first (:data:`WATCHING`, ()), then (:data:`CHANGED`, names of tables; ``*``
    for what was missed meanwhile), (:data:`AWAY`, the reason), (:data:`BACK`, ()). Nothing is written.

    Raises:
        BadArguments: the library is in a folder.
        ServerUnavailable: the server does not answer at first.
    """
    from semblance.core.library.server.changes import ChangeListener

    address = server_address(library)
    if address is None:
        raise BadArguments("Only a library on a server can be watched.")
    is_away = False
    with ChangeListener(address) as listener:
        yield WATCHING, ()
        while True:
            try:
                tables = listener.wait(WAIT_S)
            except ServerUnavailable as error:
                if not is_away:
                    is_away = True
                    yield AWAY, (error.message,)
                time.sleep(RETRY_S)
                continue
            if is_away:
                is_away = False
                yield BACK, ()
            if tables:
                yield CHANGED, tuple(sorted(tables))
