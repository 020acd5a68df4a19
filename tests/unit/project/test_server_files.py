"""The units of systemd and the compose file start what they say."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from semblance.core.engine.cluster import Cluster
from tests.helpers.program import TOP

FOLDER = TOP / "packaging" / "server"
UNITS = sorted(FOLDER.glob("*.service"))
_PYTHON = "/opt/semblance/bin/python"


def values(unit: str, key: str) -> list[str]:
    """The values of a key of a unit."""
    lines = (FOLDER / unit).read_text().splitlines()
    return [line.partition("=")[2] for line in lines if line.startswith(f"{key}=")]


def command(unit: str, **environment: str) -> list[str]:
    """The command of a unit as systemd would run it."""
    defaults = dict(one.split("=", 1) for line in values(unit, "Environment") for one in line.split())
    (text,) = values(unit, "ExecStart")
    for name, value in (defaults | environment).items():
        text = text.replace(f"${{{name}}}", value)
    return [sys.executable if word == _PYTHON else word for word in shlex.split(text)]


@contextmanager
def running(words: list[str], folder: Path) -> Iterator[None]:
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            words, cwd=folder, stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": str(TOP)}
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong(tmp_path):
    for unit in UNITS:
        # A program that every system has: the path of this Python may hold a space.
        (tmp_path / unit.name).write_text(unit.read_text().replace(_PYTHON, "/bin/sh"))
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(tmp_path / unit.name)],
            capture_output=True,
            text=True,
            check=False,
        )
        # Messages about other units of this computer are none of ours.
        ours = [line for line in done.stderr.splitlines() if unit.stem in line]
        assert (done.returncode, ours) == (0, []), unit.name


@pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="the extra `dask` is not installed"
)
def test_the_units_of_the_cluster_start_a_scheduler_and_workers_that_work(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    with ExitStack() as started:
        scheduler = command("semblance-scheduler.service")
        scheduler[scheduler.index("8786")] = port
        started.enter_context(running(scheduler, tmp_path))
        for number in ("1", "2"):
            worker = command("semblance-worker@.service", SEMBLANCE_SCHEDULER=address)
            worker = [word.replace("/var/cache/semblance/%i", str(tmp_path / number)) for word in worker]
            started.enter_context(running(worker, tmp_path))
        cluster = started.enter_context(opened(address))
        cluster._client.wait_for_workers(2, timeout=60)
        assert cluster.workers == 2
        assert cluster.submit(process_id).result() != os.getpid()


@contextmanager
def opened(address: str) -> Iterator[Cluster]:
    from semblance.core.errors import SemblanceError
    from tests.helpers.wait import wait_until

    def answers() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=1):
                return True
        except OSError:
            return False

    wait_until(answers, "the scheduler answers")
    try:
        cluster = Cluster(address)
    except SemblanceError as error:
        pytest.fail(str(error))
    with cluster:
        yield cluster


def process_id(*, reporter: object) -> int:
    return os.getpid()


def test_the_compose_file_starts_the_same_programs():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    assert services.keys() == {"database", "scheduler", "worker"}
    for name, unit in (("scheduler", "semblance-scheduler.service"), ("worker", "semblance-worker@.service")):
        words, of_unit = shlex.split(services[name]["command"]), command(unit)
        assert [word for word in words if word.startswith("--")] == [
            word for word in of_unit if word.startswith("--")
        ]
        assert words[2] == of_unit[2]
    # Nothing is reachable from other computers unless somebody changes it.
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
