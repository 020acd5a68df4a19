"""PACS servers in the user's settings folder. Passwords and tokens are never in this file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.files import make_folder, write_file
from semblance.core.language import tr_lazy

DIMSE: Final = "dimse"
DICOMWEB: Final = "dicomweb"
#: How a DICOMweb server knows the user. A client certificate is given by ``certificate`` and ``key``.
AUTHENTICATIONS: Final = ("none", "basic", "bearer")
#: How a DIMSE server sends images.
RETRIEVALS: Final = ("get", "move")
OWN_AE_TITLE: Final = "SEMBLANCE"
LOOPBACK: Final = "127.0.0.1"
LISTEN_PORT: Final = 11112

_ADDRESS = re.compile(r"(?P<aet>[^@\s]{1,16})@(?P<host>\[[0-9A-Fa-f:.]+\]|[^:@\s]+):(?P<port>\d{1,5})")
_NAME = re.compile(r"[^\s@/:][^@/:\x00-\x1f]{0,63}")
_AE_TITLE = re.compile(r"[\x21-\x5b\x5d-\x7e](?:[\x20-\x5b\x5d-\x7e]{0,14}[\x21-\x5b\x5d-\x7e])?")


@dataclass(frozen=True)
class Server:
    """One PACS.

    DIMSE: ``host``, ``port``, its ``ae_title``, ``own_ae_title``, ``tls``, and ``retrieval`` by C-GET or C-MOVE. For
    C-MOVE and storage commitment it connects to ``listen_host``:``listen_port`` of this computer.
    DICOMweb: ``url``, ``authentication``, ``user``.
    Both: ``authority`` is a file with certificates to trust in place of the system's, ``certificate`` and ``key`` are
    those of this computer.
    """

    name: str
    kind: str
    host: str = ""
    port: int = 0
    ae_title: str = ""
    own_ae_title: str = OWN_AE_TITLE
    retrieval: str = "get"
    listen_host: str = LOOPBACK
    listen_port: int = LISTEN_PORT
    tls: bool = False
    url: str = ""
    authentication: str = "none"
    user: str = ""
    authority: str = ""
    certificate: str = ""
    key: str = ""

    @property
    def address(self) -> str:
        """``AET@HOST:PORT`` or the URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.url if self.kind == DICOMWEB else f"{self.ae_title}@{host}:{self.port}"

    def to_json(self) -> dict[str, Any]:
        """The fields that its kind has."""
        only = {
            DIMSE: {"url", "authentication", "user"},
            DICOMWEB: {
                "host",
                "port",
                "ae_title",
                "own_ae_title",
                "retrieval",
                "listen_host",
                "listen_port",
                "tls",
            },
        }[self.kind]
        return {key: value for key, value in asdict(self).items() if key not in only}


def servers_file() -> Path:
    """The file of the servers; it need not exist."""
    import platformdirs

    return Path(platformdirs.user_config_dir("semblance", appauthor=False)) / "pacs_servers.json"


def read_servers() -> list[Server]:
    """The saved servers by name.

    Raises:
        SemblanceError: the file cannot be read or is damaged.
    """
    file = servers_file()
    try:
        listed = json.loads(file.read_text(encoding="utf-8"))["servers"]
        known = {one.name for one in fields(Server)}
        found = [Server(**{key: one[key] for key in one if key in known}) for one in listed]
        for server in found:
            check_server(server)
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError, BadInput) as error:
        raise SemblanceError(
            tr_lazy("The PACS servers in {file} cannot be read.", file=file),
            "Correct the file, or remove it and add the servers again.",
        ) from error
    return sorted(found, key=lambda server: server.name.casefold())


def save_server(server: Server, *, replaces: str | None = None) -> None:
    """Add ``server``, in place of one with the same name or with the name ``replaces``.

    Raises:
        BadInput: something in it is wrong.
        SemblanceError: the file cannot be read or written.
    """
    check_server(server)
    others = [one for one in read_servers() if one.name not in (server.name, replaces)]
    _write([*others, server])


def remove_server(name: str) -> Server:
    """Remove the server called ``name`` from the file.

    Raises:
        BadArguments: there is none.
        SemblanceError: the file cannot be read or written.
    """
    removed = get_server(name)
    _write(one for one in read_servers() if one.name != name)
    return removed


def get_server(name: str) -> Server:
    """The saved server called ``name``.

    Raises:
        BadArguments: there is none.
    """
    servers = read_servers()
    for server in servers:
        if server.name == name:
            return server
    known = ", ".join(one.name for one in servers) or "none"
    raise BadArguments(
        tr_lazy("There is no PACS server '{name}'. Saved: {known}.", name=name, known=known),
        "Add it with `semblance pacs add`, or write AET@HOST:PORT or a DICOMweb URL.",
    )


def find_server(text: str) -> Server:
    """The server that ``text`` gives: a saved name, ``AET@HOST:PORT`` or a DICOMweb URL.

    Raises:
        BadArguments: it is none of these.
    """
    if text.lower().startswith(("http://", "https://")):
        server = Server(text, DICOMWEB, url=text)
    elif match := _ADDRESS.fullmatch(text):
        host = match["host"].strip("[]")
        server = Server(text, DIMSE, host=host, port=int(match["port"]), ae_title=match["aet"])
    else:
        return get_server(text)
    try:
        _check_fields(server)
    except BadInput as error:
        raise BadArguments(error.message, error.hint) from None
    return server


def parse_listen_address(text: str) -> tuple[str, int]:
    """``HOST:PORT`` or ``PORT``; without a host only this computer can connect.

    Raises:
        BadArguments: it is neither.
    """
    host, _, port = text.strip().rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadArguments(
            tr_lazy("'{text}' is not an address to listen on.", text=text),
            "Write HOST:PORT, such as 127.0.0.1:11112.",
        )
    return host.strip("[]") or LOOPBACK, int(port)


def check_server(server: Server) -> None:
    """
    Raises:
        BadInput: a field has a value that cannot be used.
    """
    if not isinstance(server.name, str) or not _NAME.fullmatch(server.name):
        raise BadInput("A PACS server needs a name without the characters @, / and :.", "Enter a name.")
    _check_fields(server)


def _check_fields(server: Server) -> None:
    for field in fields(Server):
        value = getattr(server, field.name)
        if type(value) is not type(field.default) and field.name not in ("name", "kind"):
            raise BadInput(tr_lazy("The value of {name} cannot be used.", name=field.name))
    if server.kind == DIMSE:
        _check_dimse(server)
    elif server.kind == DICOMWEB:
        _check_url(server.url)
        if server.authentication not in AUTHENTICATIONS:
            raise BadInput("The authentication is none, basic or bearer.")
        if server.authentication == "basic" and not server.user:
            raise BadInput("The user name is missing.", "Enter the name that the server knows.")
    else:
        raise BadInput("A PACS server is of the kind dimse or dicomweb.")
    if server.key and not server.certificate:
        raise BadInput("There is a key without its certificate.", "Enter both files.")


def _check_dimse(server: Server) -> None:
    for title in (server.ae_title, server.own_ae_title):
        check_ae_title(title)
    if not server.host or any(character.isspace() for character in server.host):
        raise BadInput("The host of the PACS is missing.", "Enter its name or IP address.")
    for port in (server.port, server.listen_port):
        if not 0 < port < 65536:
            raise BadInput(tr_lazy("{port} is not a port.", port=port), "Enter a number between 1 and 65535.")
    if server.retrieval not in RETRIEVALS:
        raise BadInput("Images are retrieved by get or move.")


def check_ae_title(title: str) -> None:
    """
    Raises:
        BadInput: ``title`` is no AE title (PS3.5, value representation AE).
    """
    if not _AE_TITLE.fullmatch(title):
        raise BadInput(
            tr_lazy("'{title}' is not an AE title.", title=title),
            "An AE title has 1 to 16 ASCII characters without a backslash.",
        )


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or any(c.isspace() for c in url):
        raise BadInput(
            tr_lazy("'{url}' is not a DICOMweb URL.", url=url), "Write it as https://HOST:PORT/dicom-web."
        )
    if parts.username is not None or parts.password is not None:
        raise BadInput(
            "A URL of a PACS must not contain a password.",
            "Choose the authentication basic and enter it there.",
        )
    if parts.query or parts.fragment:
        raise BadInput(
            tr_lazy("'{url}' is not a DICOMweb URL.", url=url), "Leave out ? and # and what follows."
        )


def _write(servers: Iterable[Server]) -> None:
    listed = {"servers": [server.to_json() for server in servers]}
    file = servers_file()
    make_folder(file.parent)
    write_file(file, (json.dumps(listed, indent=2, ensure_ascii=False) + "\n").encode())
