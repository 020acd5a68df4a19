"""Read the note that is kept with a case, and keep one."""

from __future__ import annotations

from semblance.core.library.annotations import CaseNote
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter


def read_note(library: LibraryLocation, case: str, *, reporter: Reporter = SILENT) -> CaseNote | None:
    """The note that is kept with the case of this id; ``None`` without one.

    Raises:
        BadInput: not a library, or damaged.
    """
    with open_library(library) as opened:
        return opened.notes.of_cases([case]).get(case)


def keep_note(
    library: LibraryLocation, case: str, text: str, *, reporter: Reporter = SILENT
) -> CaseNote | None:
    """Keep ``text`` with the case of this id in place of the note it had, which an empty one removes; the note.

    Raises:
        BadInput: no such case.
        SemblanceError: the note is another person's, or the library cannot be written to.
    """
    with open_library(library, writable=True) as opened:
        opened.notes.set(case, text)
        return opened.notes.of_cases([case]).get(case)
