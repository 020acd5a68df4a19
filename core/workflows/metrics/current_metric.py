"""The metric that searches of a library use if none is named."""

from __future__ import annotations

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter


def current_metric(library: LibraryLocation, *, reporter: Reporter = SILENT) -> str:
    """The name of the current metric of ``library``: the recorded one, else the latest.

    Raises:
        BadInput: the library has no metric.
    """
    with open_library(library) as opened:
        record = opened.current_metric()
        if record is None:
            raise BadInput(
                tr_lazy("{library} has no metric yet.", library=opened.path.name),
                "Make one: semblance import SOURCE --library LIB --prepare, or semblance train.",
            )
        return record.name


def set_current_metric(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> None:
    """Record ``name`` as the current metric of ``library``: a person chose it.

    :func:`semblance.core.workflows.library.prepare_library.prepare_library` leaves it current from then on.

    Raises:
        BadArguments: no such metric.
    """
    with open_library(library, writable=True) as opened:
        opened.set_current_metric(name)
