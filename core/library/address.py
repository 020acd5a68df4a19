"""Where a library lies: a folder, or a database of a PostgreSQL server. Importing this loads no database."""

from __future__ import annotations

import hashlib
import multiprocessing
import re
import sys
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, quote, unquote

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy

if sys.platform == "win32":
    from pathlib import WindowsPath as _NativePath
else:
    from pathlib import PosixPath as _NativePath

_SCHEMES = ("postgresql", "postgres")
#: Paths have lost one of two slashes. A scheme of one letter is a drive of Windows.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(/+)(.*)", re.DOTALL)
#: Parameters of an address that are secret.
_SECRET = ("password", "sslpassword")
#: The parameter that names a project within the library.
_PROJECT = "project"
#: Passwords that were given with an address, by the address; only in memory.
_passwords: dict[str, dict[str, str]] = {}
#: In the folder of a library on a server: what is known of the copy of the whole library, and images that were viewed.
COPY_FACTS, VIEWED_IMAGES = "copy.json", "images"
#: Bytes that the copies of all libraries may take, unless the user sets another number; 0: nothing is copied.
DEFAULT_COPY_BYTES = 4 << 30
#: Addresses whose server does not answer, as far as this program knows; see :attr:`ServerAddress.is_away`.
_away: set[str] = set()


class ServerAddress(_NativePath):
    """The address of a library on a server, ``postgresql://USER@HOST:PORT/DATABASE``, without a password.

    It stands wherever the path of a library does: it is passed on, compared, used as a key and printed like one, and
    there is never a file at it. Its :attr:`name` is the database.
    """

    __slots__ = ()

    def __str__(self) -> str:
        scheme, *rest = self.parts
        return f"{scheme}//{'/'.join(rest)}"

    def __fspath__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # Only pipes to processes of this program are pickled: they need the password too.
        return _sent, (str(self), _passwords.get(str(self), {}), self.is_away)

    @property
    def name(self) -> str:
        """The name of the database."""
        return unquote(self.parts[2].partition("?")[0])

    @property
    def title(self) -> str:
        """The name of the database, and of the project in it, as people read it."""
        return " · ".join(name for name in (self.name, self.project) if name)

    def absolute(self) -> Self:
        """The address itself."""
        return self

    def resolve(self, strict: bool = False) -> Self:
        """The address itself."""
        return self

    @property
    def host(self) -> str:
        """The server as people name it."""
        authority, _, query = self.parts[1], *self.parts[2].partition("?")[1:]
        named = unquote(authority.rpartition("@")[2])
        return named or dict(parse_qsl(query)).get("host", "localhost")

    @property
    def user(self) -> str:
        """The account in the address; "" where it names none."""
        return unquote(self.parts[1].rpartition("@")[0])

    def with_user(self, user: str) -> ServerAddress:
        """This address for another account, without its password."""
        authority = self.parts[1].rpartition("@")[2]
        prefix = f"{quote(user, safe='')}@" if user or not authority else ""
        return ServerAddress(f"{self.parts[0]}//{prefix}{authority}/{'/'.join(self.parts[2:])}")

    @property
    def is_away(self) -> bool:
        """Whether :func:`set_away` said that the server does not answer: libraries are then opened from the copy on
        this computer. Processes are told with each job; a command of the terminal never uses the copy."""
        return str(self) in _away

    @property
    def project(self) -> str:
        """The name of the project within the library; "" for the library itself."""
        return dict(parse_qsl("/".join(self.parts[2:]).partition("?")[2])).get(_PROJECT, "")

    def with_project(self, project: str) -> ServerAddress:
        """The address of the project of this name, "" for the library itself, with the same password."""
        place, _, query = str(self).partition("?")
        kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != _PROJECT]
        settings = _settings([*kept, *([(_PROJECT, project)] if project else [])])
        return _restored(place + settings, self.secrets)

    @property
    def secrets(self) -> dict[str, str]:
        """The password that was given with the address in this process, as the driver takes it."""
        return dict(_passwords.get(str(self), {}))


def _restored(text: str, secrets: dict[str, str]) -> ServerAddress:
    if secrets:
        _passwords[text] = secrets
    return ServerAddress(text)


def _sent(text: str, secrets: dict[str, str], is_away: bool) -> ServerAddress:
    """An address from another process. What one of its jobs returns tells a program nothing new about the server."""
    address = _restored(text, secrets)
    if multiprocessing.parent_process() is not None:
        set_away(address, away=is_away)
    return address


def set_away(address: ServerAddress, *, away: bool) -> None:
    """Record whether the server of ``address`` is away, for this process and the jobs that it starts from now on."""
    (_away.add if away else _away.discard)(str(address))


def server_address(library: str | Path) -> ServerAddress | None:
    """The address that ``library`` is; ``None`` where it is the path of a folder.

    A password in it is kept in the memory of this process only.

    Raises:
        BadInput: an address of something else than a PostgreSQL server.
        BadArguments: it names no database.
    """
    if isinstance(library, ServerAddress):
        return library
    divided = _divided(library if isinstance(library, str) else library.as_posix())
    return None if divided is None else _restored(*divided)


def given_password(text: str) -> str:
    """The password in an address that a person wrote; "" where there is none.

    Raises:
        BadInput, BadArguments: as :func:`server_address`.
    """
    divided = _divided(text)
    return "" if divided is None else divided[1].get("password", "")


def _divided(text: str) -> tuple[str, dict[str, str]] | None:
    """An address without its secrets, and these; ``None`` for a path."""
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
            "The address of the server names no database.",
            "Give one such as postgresql://HOST/DATABASE.",
        )
    kept = [(name, value) for name, value in parameters if name not in (*_SECRET, "dbname")]
    # Without a host an @ stays, so that the address is read again in the same way when slashes are lost.
    authority = f"{quote(unquote(user), safe='')}@{host}" if user or not host else host
    text = f"{_SCHEMES[0]}://{authority}/{quote(database, safe='')}" + _settings(kept)
    return text, secrets


def _settings(parameters: list[tuple[str, str]]) -> str:
    settings = "&".join(
        f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(parameters)
    )
    return f"?{settings}" if settings else ""


def library_path(text: str) -> Path:
    """The path of a folder, or the address of a server, that a person wrote or that was stored.

    Raises:
        BadInput, BadArguments: as :func:`server_address`.
    """
    return server_address(text) or Path(text)


def set_password(address: ServerAddress, password: str) -> None:
    """Use ``password`` for ``address`` in this process and those that it starts; "" for none."""
    others = {name: value for name, value in _passwords.get(str(address), {}).items() if name != "password"}
    _passwords[str(address)] = others | ({"password": password} if password else {})


def local_folder(library: Path) -> Path:
    """The folder for files of ``library`` on this computer: its own, or for a library on a server one in the user's
    cache, where what the server has is copied to as it is used."""
    address = server_address(library)
    if address is None:
        return library
    return servers_folder() / hashlib.blake2b(str(address).encode(), digest_size=12).hexdigest()


def servers_folder() -> Path:
    """The folder with what the user's cache has of libraries on servers."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("semblance", appauthor=False)) / "servers"
