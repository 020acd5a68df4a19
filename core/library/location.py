"""Where a library lies: in a folder, or in a database of a PostgreSQL server. Importing this loads no database."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, quote, unquote

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy

_SCHEMES = ("postgresql", "postgres")
#: A slash may have been lost in a path. A scheme of one letter is a drive of Windows.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(/+)(.*)", re.DOTALL)
#: Parameters of an address that are secret.
_SECRET = ("password", "sslpassword")
#: The parameter that names a project within the library.
_PROJECT = "project"
#: In the folder of a library on a server: what is known of the copy of the whole library, and images that were viewed.
COPY_FACTS, VIEWED_IMAGES = "copy.json", "images"
#: Bytes that the copies of all libraries may take, unless the user sets another number; 0: nothing is copied.
DEFAULT_COPY_BYTES = 4 << 30


class Secrets:
    """Passwords that go with an address, as the driver takes them. They are never shown, and are no value of JSON."""

    __slots__ = ("values",)

    def __init__(self, **values: str) -> None:
        self.values = values

    def __repr__(self) -> str:
        return "Secrets(…)" if self.values else "Secrets()"


@dataclass(frozen=True, repr=False)
class ServerAddress:
    """A library on a server, ``postgresql://USER@HOST:PORT/DATABASE``, as text without its password.

    Two addresses are equal where they name the same library for the same user, whatever the password is and whether the
    server answers. A folder has :attr:`name` and :meth:`absolute` too.
    """

    #: ``USER@HOST:PORT``, quoted.
    authority: str
    database: str
    #: Settings of the connection and the project, by name.
    parameters: tuple[tuple[str, str], ...] = ()
    secrets: Secrets = field(default=Secrets(), compare=False)
    #: Whether the server does not answer: the library is then opened from its copy on this computer.
    is_away: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        settings = "&".join(
            f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in self.parameters
        )
        text = f"{_SCHEMES[0]}://{self.authority}/{quote(self.database, safe='')}"
        return f"{text}?{settings}" if settings else text

    def __repr__(self) -> str:
        return f"ServerAddress({str(self)!r})"

    @property
    def name(self) -> str:
        """The name of the database."""
        return self.database

    @property
    def title(self) -> str:
        """The name of the database, and of the project in it, as people read it."""
        return " · ".join(name for name in (self.name, self.project) if name)

    def absolute(self) -> Self:
        """The address itself."""
        return self

    @property
    def host(self) -> str:
        """The server as people name it."""
        named = unquote(self.authority.rpartition("@")[2])
        return named or dict(self.parameters).get("host", "localhost")

    @property
    def user(self) -> str:
        """The account in the address; "" where it names none."""
        return unquote(self.authority.rpartition("@")[0])

    @property
    def project(self) -> str:
        """The name of the project within the library; "" for the library itself."""
        return dict(self.parameters).get(_PROJECT, "")

    @property
    def password(self) -> str:
        """The password that was given; "" without one."""
        return self.secrets.values.get("password", "")

    def with_user(self, user: str) -> ServerAddress:
        """This address for another account, without its password."""
        host = self.authority.rpartition("@")[2]
        return ServerAddress(_authority(user, host), self.database, self.parameters)

    def with_project(self, project: str) -> ServerAddress:
        """The address of the project of this name, "" for the library itself, with the same password."""
        kept = [(name, value) for name, value in self.parameters if name != _PROJECT]
        chosen = [(_PROJECT, project)] if project else []
        return replace(self, parameters=tuple(sorted([*kept, *chosen])), is_away=False)

    def with_password(self, password: str) -> ServerAddress:
        """This address with ``password``; "" for none."""
        others = {name: value for name, value in self.secrets.values.items() if name != "password"}
        return replace(self, secrets=Secrets(**others, **({"password": password} if password else {})))


#: A folder, or a database of a server. Both have a ``name``, and their text is what :func:`library_location` takes.
LibraryLocation = Path | ServerAddress


def library_location(text: str, known: LibraryLocation | None = None) -> LibraryLocation:
    """The folder or the server that a person wrote or that was stored; ``known`` itself, with its password, where both
    are the same library.

    Raises:
        BadInput: an address of something else than a PostgreSQL server.
        BadArguments: it names no database.
    """
    location = server_address(text) or Path(text)
    return known if known is not None and known == location else location


def server_address(text: str) -> ServerAddress | None:
    """The address that ``text`` is; ``None`` where it is the path of a folder.

    Raises:
        BadInput, BadArguments: as :func:`library_location`.
    """
    found = _ADDRESS.match(text)
    if found is None:
        return None
    scheme, slashes, rest = found.groups()
    if scheme.lower() not in _SCHEMES:
        # The address may hold a password.
        raise BadInput(
            tr_lazy("A library is a folder or on a PostgreSQL server, not at {scheme}://…", scheme=scheme),
            "Give the path of a folder, or an address such as postgresql://HOST/DATABASE.",
        )
    if len(slashes) > 2:
        rest = f"@/{rest}"
    place, _, query = rest.partition("?")
    authority, _, database = place.partition("/")
    user_and_password, _, host = authority.rpartition("@")
    user, _, password = user_and_password.partition(":")
    parameters = parse_qsl(query, keep_blank_values=True)
    secrets = {name: value for name, value in parameters if name in _SECRET and value}
    if password:
        secrets["password"] = unquote(password)
    named = dict(parameters).get("dbname", "")
    database = unquote(database.strip("/")) or named
    if not database or "\0" in unquote(rest):
        raise BadArguments(
            "The address of the server names no database.", "Give one such as postgresql://HOST/DATABASE."
        )
    kept = sorted((name, value) for name, value in parameters if name not in (*_SECRET, "dbname"))
    return ServerAddress(_authority(unquote(user), host), database, tuple(kept), Secrets(**secrets))


def _authority(user: str, host: str) -> str:
    # Without a host an @ stays, so that the address is read again in the same way when slashes are lost.
    return f"{quote(user, safe='')}@{host}" if user or not host else host


def library_name(library: LibraryLocation) -> str:
    """What people call the library at ``library``: the folder without its ending, or the database and the project."""
    return library.stem if isinstance(library, Path) else library.title


def local_folder(library: LibraryLocation) -> Path:
    """The folder for files of ``library`` on this computer: its own, or for a library on a server one in the user's
    cache, where what the server has is copied to as it is used."""
    if isinstance(library, Path):
        return library
    return servers_folder() / hashlib.blake2b(str(library).encode(), digest_size=12).hexdigest()


def lasting_folder(library: LibraryLocation) -> Path:
    """The folder on this computer for what cannot be made or fetched again: images received from a PACS or pasted.

    It is the library's own, or for a library on a server one in the user's data, which stays when copies are removed.
    """
    if isinstance(library, Path):
        return library
    return lasting_servers_folder() / local_folder(library).name


def servers_folder() -> Path:
    """The folder with what the user's cache has of libraries on servers."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("semblance", appauthor=False)) / "servers"


def lasting_servers_folder() -> Path:
    """The folder with the :func:`lasting_folder` of each library on a server."""
    import platformdirs

    return Path(platformdirs.user_data_dir("semblance", appauthor=False)) / "servers"


def folder_of(location: LibraryLocation) -> Path:
    """The folder ``location``. An address, such as of a database, would become the name of a folder.

    Raises:
        BadInput: ``location`` is one, or begins with a scheme.
    """
    # Paths have lost one of two slashes. A scheme of one letter is a drive of Windows.
    text = location.as_posix() if isinstance(location, Path) else str(location)
    if scheme := re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", text):
        # The address may hold a password.
        raise BadInput(
            tr_lazy("A library is a folder, not an address ({scheme}://…).", scheme=scheme[1]),
            "Give the path of a folder.",
        )
    return Path(text)


def check_is_library(path: Path) -> None:
    """Raise an error for a folder that is not a library, without opening it.

    Raises:
        BadInput: nothing is at ``path``, or something else.
    """
    # It loads numpy, which the first window does without.
    from semblance.core.library.records import CATALOGUE, LIBRARY_ENTRIES

    for entry in LIBRARY_ENTRIES:
        if (path / entry).is_symlink():
            raise BadInput(
                tr_lazy("{path} contains a link instead of its own '{entry}'.", path=path, entry=entry),
                "For safety, links out of a library are not followed. Replace the link by the files "
                "themselves, or restore a backup.",
            )
    if not (path / CATALOGUE).is_file():
        if any((path / entry).exists() for entry in LIBRARY_ENTRIES):
            raise BadInput(
                tr_lazy(
                    "The catalogue of {path} is missing: there is no file '{name}'.",
                    path=path,
                    name=CATALOGUE,
                ),
                "Restore a backup (semblance restore), or import its images into a new library.",
            )
        if path.exists():
            raise BadInput(
                tr_lazy("{path} is not a library.", path=path),
                "Choose the folder of a library. Its name usually ends in .semblance.",
            )
        raise BadInput(
            tr_lazy("{path} does not exist.", path=path),
            "It may have been moved, renamed or removed, or its disk is not connected. Open it at"
            " its new place.",
        )
