"""The certificate of a server behind a real TLS front: what a person is told to do."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.library.location import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.server.library import ServerLibrary
from tests.helpers.certificates import Pair, pair
from tests.helpers.postgres_server import PASSWORD


@contextlib.contextmanager
def tls_front(folder: Path, shown: Pair, server_port: int) -> Iterator[int]:
    """The port of a front with the certificate ``shown`` before the server at ``server_port``."""
    program = shutil.which("stunnel4") or shutil.which("stunnel4", path="/usr/bin:/usr/sbin")
    if program is None:
        pytest.skip("stunnel4 is not installed (apt-get install stunnel4)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    file = folder / "stunnel.conf"
    file.write_text(
        f"foreground = yes\npid =\n[server]\nprotocol = pgsql\naccept = 127.0.0.1:{port}\n"
        f"connect = 127.0.0.1:{server_port}\ncert = {shown.certificate}\nkey = {shown.key}\n"
    )
    with (folder / "stunnel.log").open("wb") as log:
        process = subprocess.Popen([program, str(file)], stdout=log, stderr=subprocess.STDOUT)
    try:
        while True:
            assert process.poll() is None, (folder / "stunnel.log").read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
                break
        yield port
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize(
    ("fault", "said", "to_do"),
    [
        ("unknown", "unable to get local issuer certificate", "sslrootcert=FILE"),
        ("another host", "does not match host name", "into the address"),
        ("expired", "expired", "renew"),
        ("", "", ""),
    ],
)
def test_a_certificate_that_cannot_be_verified_is_said_with_what_to_do(
    fault, said, to_do, database, postgres, tmp_path, monkeypatch
):
    ServerLibrary.create(server_address(database)).close()
    authority, other = pair(tmp_path, "authority"), pair(tmp_path, "other")
    host = "db.example.org" if fault == "another host" else "localhost"
    shown = pair(tmp_path, "server", signer=authority, host=host, days=-2 if fault == "expired" else 30)
    trusted = other if fault == "unknown" else authority
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with tls_front(tmp_path, shown, postgres.port) as port:
        settings = f"sslmode=verify-full&sslrootcert={trusted.certificate}"
        address = server_address(f"postgresql://postgres@localhost:{port}/library?{settings}")
        if not fault:
            open_library(address).close()
            return
        with pytest.raises(SemblanceError) as raised:
            open_library(address)
    assert "The certificate of the server" in raised.value.message
    assert said in raised.value.message
    assert to_do in raised.value.hint
