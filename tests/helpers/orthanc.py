"""Orthanc (Debian's), with its DICOMweb plug-in, on this computer: a real PACS for tests."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PLUGIN = "libOrthancDicomWeb.so"
AE_TITLE = "ORTHANC"
_WAIT_S = 60.0


@dataclass(frozen=True)
class Orthanc:
    """A running Orthanc: its ports on 127.0.0.1."""

    dicom_port: int
    http_port: int

    @property
    def dimse(self) -> str:
        return f"{AE_TITLE}@127.0.0.1:{self.dicom_port}"

    @property
    def dicomweb(self) -> str:
        return f"http://127.0.0.1:{self.http_port}/dicom-web"

    def get(self, path: str) -> Any:
        """An answer of Orthanc's own interface."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/{path}", timeout=_WAIT_S) as answer:
            return json.load(answer)

    def upload(self, file: Path) -> None:
        """Put a DICOM file into it."""
        address = f"http://127.0.0.1:{self.http_port}/instances"
        request = urllib.request.Request(address, data=file.read_bytes(), method="POST")
        urllib.request.urlopen(request, timeout=_WAIT_S).close()


def program() -> str | None:
    """Orthanc's program."""
    return shutil.which("Orthanc") or shutil.which("Orthanc", path="/usr/sbin:/usr/local/sbin")


#: Ports below those that systems give to outgoing connections, in parts of so many for the processes of a test run.
_PORTS, _PORTS_EACH = range(20_000, 32_000), 100
_taken = itertools.count()


def free_port() -> int:
    """A port on which nobody listens, and which nobody is given before the program under test listens there: neither a
    connection nor, but by a rare chance, another process that tests."""
    own = os.getpid() * _PORTS_EACH % len(_PORTS)
    while True:
        port = _PORTS[own + next(_taken) % _PORTS_EACH]
        with contextlib.closing(socket.socket()) as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


def _plugin() -> Path | None:
    return next(Path("/usr/share/orthanc/plugins").glob(f"{PLUGIN}*"), None) or next(
        Path("/usr/lib/orthanc").glob(f"**/{PLUGIN}*") if Path("/usr/lib/orthanc").is_dir() else iter(()),
        None,
    )


@contextlib.contextmanager
def running_orthanc(folder: Path, **settings: Any) -> Iterator[Orthanc]:
    """Orthanc with its data in ``folder``; the test is skipped where it is not installed."""
    command, plugin = program(), _plugin()
    if command is None or plugin is None:
        pytest.skip(
            "Orthanc with its DICOMweb plug-in is not installed (apt-get install orthanc orthanc-dicomweb)"
        )
    ports = Orthanc(free_port(), free_port())
    configuration: Mapping[str, Any] = {
        "StorageDirectory": str(folder / "storage"),
        "IndexDirectory": str(folder / "storage"),
        "Plugins": [str(plugin)],
        "DicomAet": AE_TITLE,
        "DicomPort": ports.dicom_port,
        "HttpPort": ports.http_port,
        "DicomCheckCalledAet": True,
        "RemoteAccessAllowed": False,
        "AuthenticationEnabled": False,
        "DicomAlwaysAllowGet": True,
        "DicomAlwaysAllowFind": True,
        "DicomAlwaysAllowMove": True,
        "DicomAlwaysAllowStore": True,
        "SyncStorageArea": False,
        "TcpNoDelay": True,
        "DicomWeb": {"Enable": True, "Root": "/dicom-web/"},
        **settings,
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "orthanc.json"
    file.write_text(json.dumps(configuration))
    with (folder / "orthanc.log").open("wb") as log:
        process = subprocess.Popen([command, str(file)], stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_ready(ports, process, folder / "orthanc.log")
            yield ports
        finally:
            process.terminate()
            try:
                process.wait(_WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_ready(ports: Orthanc, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _WAIT_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        with contextlib.suppress(OSError):
            ports.get("system")
            return
        time.sleep(0.05)
    raise AssertionError(f"Orthanc does not answer: {log.read_text(errors='replace')[-2000:]}")
