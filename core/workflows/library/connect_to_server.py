"""Connect to a library on a server with a password, and keep it in the keyring."""

from __future__ import annotations

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.location import ServerAddress
from semblance.core.library.open_library import open_library
from semblance.core.library.records import OfferedProject
from semblance.core.network.keyring_entries import NoKeyring
from semblance.core.tasks import SILENT, Reporter


def connect_to_server(
    address: ServerAddress, password: str, *, keep: bool, reporter: Reporter = SILENT
) -> SemblanceError | None:
    """Check that the library at ``address`` can be opened with ``password``; "": with the one that the keyring or
    PostgreSQL's own files have. Then ``keep`` it in the keyring, or forget an earlier one.

    Returns why it could not be kept; ``None`` where it was, or was not to be.

    Raises:
        BadInput: no such database, no library in it, or one of a newer version.
        WrongPassword: the server refuses the user or the password.
        ServerUnavailable: no server answers.
        SemblanceError: it refuses the user, its certificate cannot be verified, or its tables are too old.
    """
    from semblance.core.library.server.connection import store_password

    reporter.progress(0, None, tr_lazy("Connecting to {host}", host=address.host))
    open_library(address.with_password(password)).close()
    if password:
        try:
            store_password(address, password if keep else "")
        except NoKeyring as error:
            return error if keep else None
    return None


def find_projects(
    address: ServerAddress, password: str, *, reporter: Reporter = SILENT
) -> list[OfferedProject]:
    """The projects of the library at ``address`` that its account may open now, by name; ``password`` as above.

    Raises:
        BadInput, WrongPassword, ServerUnavailable, SemblanceError: as :func:`connect_to_server`.
    """
    from semblance.core.library.server.connection import connect, server_errors
    from semblance.core.library.server.projects import offered_projects

    reporter.progress(0, None, tr_lazy("Connecting to {host}", host=address.host))
    engine = connect(address.with_password(password), writable=False)
    try:
        with server_errors(address), engine.connect() as connection:
            return offered_projects(connection)
    finally:
        engine.dispose()
