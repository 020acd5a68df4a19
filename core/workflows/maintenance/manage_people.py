"""List and change who may do what in a library on a server."""

from __future__ import annotations

from semblance.core.errors import BadArguments
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library

NONE = "none"


def list_people(library: LibraryLocation) -> list[dict[str, str]]:
    """Name and right of each person, by name.

    Raises:
        BadArguments: the library is in a folder.
    """
    from semblance.core.library.server.library import ServerLibrary

    with open_library(library) as opened:
        if not isinstance(opened, ServerLibrary):
            raise _in_a_folder()
        return [{"name": person.name, "right": person.right} for person in opened.people()]


def set_right(
    library: LibraryLocation, person: str, right: str, password: str | None = None
) -> list[dict[str, str]]:
    """Give ``person`` the ``right`` in place of the one they had, or :data:`NONE`; everybody's rights after it.

    ``password``: create the account with it. The first time the roles of the library are created.

    Raises:
        BadArguments: the library is in a folder, no such right or person, an empty password.
        SemblanceError: the user may not.
    """
    from semblance.core.library.server.library import ServerLibrary

    if password == "":
        raise BadArguments("An account needs a password.")
    with open_library(library, writable=True) as opened:
        if not isinstance(opened, ServerLibrary):
            raise _in_a_folder()
        opened.set_right(person, None if right == NONE else right, password)
    return list_people(library)


def _in_a_folder() -> BadArguments:
    return BadArguments(
        "Only a library on a server has rights of its own. Those of a folder are the system's."
    )
