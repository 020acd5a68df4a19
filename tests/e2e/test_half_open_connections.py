"""``semblance serve`` and ``semblance pacs watch`` go on under 1,300 connections that hold them up, with few files that
they may open."""

from __future__ import annotations

import json
import signal
import sys

import pytest
import requests

from semblance.core.workflows.library.import_source import import_source
from tests.helpers import hostile_senders
from tests.helpers.dicom_files import ct_series
from tests.helpers.hostile_clients import HOLDS, many
from tests.helpers.images import striped_folder
from tests.helpers.orthanc import free_port
from tests.helpers.program import run_program, start_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no limit of open files")
#: The usual limit of Linux, and that of macOS.
OPEN_FILES = (1024, 256)
CONNECTIONS = 1300


def limit_open_files(count: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


@pytest.mark.long
@pytest.mark.parametrize("open_files", OPEN_FILES)
@pytest.mark.parametrize("kind", HOLDS)
def test_it_answers_and_prints_nothing(tmp_path, kind, open_files):
    striped_folder(tmp_path / "images", n=4)
    import_source(tmp_path / "images", tmp_path / "lib")
    arguments = ["serve", tmp_path / "lib", "--listen", str(free_port()), "--json"]
    program = start_program(*arguments, preexec_fn=lambda: limit_open_files(open_files))
    try:
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(program.stdout.readline())
        started = json.loads("".join(lines))
        headers = {"Authorization": f"Bearer {started['token']}"}
        with many(started["address"], CONNECTIONS, *HOLDS[kind]):
            for _ in range(5):
                answer = requests.get(f"{started['address']}/v1/library", headers=headers, timeout=120)
                assert answer.json()["cases"] == 4
    finally:
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate()
    assert (program.returncode, errors) == (0, "")


@pytest.mark.long
@pytest.mark.parametrize("kind", hostile_senders.HOLDS)
def test_images_are_taken_and_nothing_is_printed(tmp_path, kind):
    folder, library, port = tmp_path / "images", tmp_path / "lib", free_port()
    ct_series(folder, 3)
    arguments = ["pacs", "watch", "--library", library, "--listen", port, "--quiet", "1", "--json"]
    program = start_program(*arguments, preexec_fn=lambda: limit_open_files(OPEN_FILES[0]))
    address = f"SEMBLANCE@127.0.0.1:{port}"
    try:
        while run_program("pacs", "echo", "--server", address)[0]:
            assert program.poll() is None
        with hostile_senders.many(port, CONNECTIONS, *hostile_senders.HOLDS[kind]):
            status, out, err = run_program("pacs", "send", folder, "--server", address, "--json")
            assert status == 0, err
            assert len(json.loads(out)["sent"]) == 3
    finally:
        program.send_signal(signal.SIGINT)
        out, errors = program.communicate()
    assert (program.returncode, errors) == (0, "")
    assert json.loads(out)["taken"] == 3
