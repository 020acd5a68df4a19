"""TLS with real peers, nginx before Orthanc's DICOMweb and stunnel before its DIMSE port: each fault is named."""

from __future__ import annotations

import contextlib
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.network.servers import DICOMWEB, DIMSE, Server
from semblance.core.workflows.network.find_studies import echo_server
from semblance.core.workflows.network.send_files import send
from tests.helpers.certificates import Pair, pair
from tests.helpers.dicom_files import ct_series
from tests.helpers.orthanc import AE_TITLE, Orthanc, free_port, running_orthanc

_WAIT_S = 60.0


@dataclass(frozen=True)
class Site:
    """A PACS, the authority of its certificates, and what speaks TLS for it."""

    orthanc: Orthanc
    authority: Pair
    client: Pair
    folder: Path
    dimse: bool

    @contextlib.contextmanager
    def server(self, shown: Pair, *, asks_client: bool = False) -> Iterator[Server]:
        """The PACS behind TLS with the certificate ``shown``."""
        port = free_port()
        run = self._stunnel if self.dimse else self._nginx
        with run(port, shown, asks_client):
            if self.dimse:
                yield Server("tls", DIMSE, host="localhost", port=port, ae_title=AE_TITLE, tls=True)
            else:
                yield Server("tls", DICOMWEB, url=f"https://localhost:{port}/dicom-web")

    @contextlib.contextmanager
    def _nginx(self, port: int, shown: Pair, asks_client: bool) -> Iterator[None]:
        client = f"ssl_verify_client on; ssl_client_certificate {self.authority.certificate};"
        file = self.folder / "nginx.conf"
        file.write_text(
            f"daemon off; pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log;\n"
            "events {}\nhttp {\n access_log off; client_max_body_size 0;\n"
            + "".join(
                f" {kind}_temp_path {self.folder}/{kind};\n"
                for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
            )
            + f" server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {shown.certificate};"
            f" ssl_certificate_key {shown.key}; {client if asks_client else ''}\n"
            f"  location / {{ proxy_pass http://127.0.0.1:{self.orthanc.http_port}; }} }}\n}}\n"
        )
        with _running([_program("nginx"), "-p", str(self.folder), "-c", str(file)], port, self.folder):
            yield

    @contextlib.contextmanager
    def _stunnel(self, port: int, shown: Pair, asks_client: bool) -> Iterator[None]:
        client = f"verifyChain = yes\nCAfile = {self.authority.certificate}\n"
        file = self.folder / "stunnel.conf"
        file.write_text(
            f"foreground = yes\npid =\n[dicom]\naccept = 127.0.0.1:{port}\n"
            f"connect = 127.0.0.1:{self.orthanc.dicom_port}\ncert = {shown.certificate}\nkey = {shown.key}\n"
            + (client if asks_client else "")
        )
        with _running([_program("stunnel4"), str(file)], port, self.folder):
            yield


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed (apt-get install {name})")
    return found


@contextlib.contextmanager
def _running(command: list[str], port: int, folder: Path) -> Iterator[None]:
    with (folder / "tls.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + _WAIT_S
        while True:
            with contextlib.suppress(OSError, ssl.SSLError):
                ssl.get_server_certificate(("127.0.0.1", port), timeout=5)
                break
            # One that asks for a client certificate may refuse this; then it listens all the same.
            assert process.poll() is None and time.monotonic() < end, (folder / "tls.log").read_text()
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(_WAIT_S)


@pytest.fixture(params=["dimse", "dicomweb"])
def site(request, tmp_path):
    _program("stunnel4" if request.param == "dimse" else "nginx")
    authority = pair(tmp_path, "authority")
    client = pair(tmp_path, "client", signer=authority)
    with running_orthanc(tmp_path / "orthanc") as orthanc:
        yield Site(orthanc, authority, client, tmp_path, request.param == "dimse")


def test_certificates_are_verified_and_each_fault_is_named(site, tmp_path):
    trusted = {"authority": str(site.authority.certificate)}
    good = pair(tmp_path, "good", signer=site.authority)
    with site.server(good) as server:
        with pytest.raises(SemblanceError, match="is not trusted"):
            echo_server(server)
        server = replace(server, **trusted)
        echo_server(server)
        ct_series(tmp_path / "new", 3)
        assert len(send(server, tmp_path / "new").sent) == len(site.orthanc.get("instances")) == 3
        # The name is what the certificate is for, also where the address leads to the same computer.
        by_number = (
            {"host": "127.0.0.1"} if site.dimse else {"url": server.url.replace("localhost", "127.0.0.1")}
        )
        with pytest.raises(SemblanceError, match="not trusted: IP address mismatch"):
            echo_server(replace(server, **by_number))
    for shown, reason in (
        (pair(tmp_path, "other", signer=site.authority, host="pacs.example"), "Hostname mismatch"),
        (pair(tmp_path, "self"), "self-signed certificate"),
    ):
        with site.server(shown) as server, pytest.raises(SemblanceError, match=f"not trusted: {reason}"):
            echo_server(replace(server, **trusted))


def test_a_client_certificate_is_shown_where_it_is_asked_for(site, tmp_path):
    good, stranger = pair(tmp_path, "good", signer=site.authority), pair(tmp_path, "stranger")
    with site.server(good, asks_client=True) as server:
        server = replace(server, authority=str(site.authority.certificate))
        for wrong in ({}, {"certificate": str(stranger.certificate), "key": str(stranger.key)}):
            with pytest.raises(SemblanceError, match="certificate of this computer"):
                echo_server(replace(server, **wrong))
        echo_server(replace(server, certificate=str(site.client.certificate), key=str(site.client.key)))


def test_a_port_without_tls_says_so(site):
    if site.dimse:
        server = Server(
            "p", DIMSE, host="localhost", port=site.orthanc.dicom_port, ae_title=AE_TITLE, tls=True
        )
    else:
        server = Server("p", DICOMWEB, url=site.orthanc.dicomweb.replace("http:", "https:"))
    with pytest.raises(SemblanceError, match="does not speak TLS"):
        echo_server(server)
