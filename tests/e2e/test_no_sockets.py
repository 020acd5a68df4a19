"""No network socket is opened unless somebody asks: not by the demo without a window, not by the window."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
#: Loaded by every Python started with it, workers of the engine included: reports each socket but those
#: between processes of one machine, and of each look-up of a name.
GUARD = """
import os, sys
def watch(event, arguments):
    if event == "socket.__new__" and arguments[1] not in (1, -1):
        line = f"socket of family {arguments[1]}"
    elif event in (
        "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto",
    ):
        address = arguments[1] if event.startswith(("socket.c", "socket.b", "socket.s")) else arguments[0]
        if isinstance(address, (str, bytes)) and event in ("socket.connect", "socket.bind"):
            return
        line = f"{event} {address}"
    elif event in ("urllib.Request", "http.client.connect", "webbrowser.open"):
        line = event
    else:
        return
    with open(os.environ["SOCKET_LOG"], "a") as file:
        file.write(line + "\\n")
sys.addaudithook(watch)
"""


@pytest.fixture
def guarded(tmp_path):
    """Run Python code under the guard; return the sockets it reports."""
    folder = tmp_path / "guard"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(GUARD)
    log = tmp_path / "sockets"
    log.touch()

    def run(*arguments: str) -> list[str]:
        environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{TOP}", "SOCKET_LOG": str(log)}
        ended = subprocess.run(
            [sys.executable, *arguments],
            cwd=TOP,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return sorted(set(log.read_text().splitlines()))

    return run


def test_the_guard_sees_a_socket(guarded):
    code = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.close()"
    assert guarded("-c", code) == ["socket of family 2", "socket.bind ('127.0.0.1', 0)"]


def test_the_guard_sees_processes_of_the_engine(guarded, tmp_path):
    script = tmp_path / "script.py"
    (tmp_path / "work_with_socket.py").write_text(
        "import socket\ndef work(*, reporter):\n    socket.socket().close()\n    return 7\n"
    )
    # Workers do not run the script again, so it needs no guard.
    script.write_text(
        "from semblance.core.engine import Engine\n"
        "from work_with_socket import work\n"
        "with Engine(1) as engine:\n    assert engine.submit(work).result() == 7\n"
    )
    assert guarded(str(script)) == ["socket of family 2"]


def test_from_images_to_a_report_on_the_command_line(guarded, tmp_path):
    from tests.helpers.images import striped_folder

    images, library = striped_folder(tmp_path / "images", n=24), str(tmp_path / "lib.semblance")
    case = "images/level/p000.png"
    for arguments in (
        ["import", str(images), "--library", library],
        ["features", library, "--extractor", "colour_edge_texture"],
        ["train", library, "--learner", "bdm_v", "--name", "m", "--set", "rounds=10"],
        ["search", library, "--metric", "m", "--case", case],
        ["report", library, "--metric", "m", "--case", case, "--out", str(tmp_path / "r.pdf")],
        ["doctor", library],
        ["backup", library, str(tmp_path / "b.zip")],
    ):
        assert guarded("-m", "semblance.app", *arguments) == []


def test_looking_for_text_in_images(guarded):
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    code = (
        "from semblance.core.imaging.image import Image\n"
        "from semblance.core.imaging.text_detector import text_detector\n"
        "from tests.helpers.burnt_in_words import burnt_in_image\n"
        "assert text_detector().boxes(Image(burnt_in_image(1, words=3, background='black').pixels, 255.0))"
    )
    assert guarded("-c", code) == []


def test_the_window_with_its_processes(guarded, tmp_path):
    from tests.walks.run_walk import make_library

    made = make_library(tmp_path / "made")
    arguments = ["--child", str(made), "--seed", "3", "--actions", "60", "--stall-ms", "0"]
    assert guarded("-m", "tests.walks", *arguments) == []
