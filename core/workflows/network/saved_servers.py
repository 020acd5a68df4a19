"""Save and remove PACS servers together with their passwords."""

from __future__ import annotations

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.network import passwords, servers
from semblance.core.network.servers import Server
from semblance.core.tasks import SILENT, Reporter


def save_server(
    server: Server, *, password: str = "", replaces: str | None = None, reporter: Reporter = SILENT
) -> None:
    """Save ``server`` in place of the one called ``replaces``, and its ``password`` or token in the keyring.

    Without a new password the one of ``replaces`` stays, also under a new name.

    Raises:
        BadInput: something in it is wrong, or another server has its name.
        SemblanceError: the file cannot be written, or the keyring cannot be used; the server is not saved then.
    """
    if server.name != replaces and any(one.name == server.name for one in servers.read_servers()):
        raise BadInput(
            tr_lazy("There is a PACS server '{name}' already.", name=server.name), "Choose another name."
        )
    servers.check_server(server)
    if password:
        passwords.store_password(server.name, password)
    servers.save_server(server, replaces=replaces)
    if replaces is not None and replaces != server.name:
        if not password:
            passwords.copy_password(replaces, server.name)
        passwords.forget_password(replaces)


def remove_server(name: str, *, reporter: Reporter = SILENT) -> None:
    """Remove the server called ``name``, and its password from the keyring.

    Raises:
        BadArguments: there is none.
        SemblanceError: the file cannot be read or written.
    """
    servers.remove_server(name)
    passwords.forget_password(name)
