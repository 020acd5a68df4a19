"""What the program creates only its owner may use, whatever the umask; what a person exports follows the umask."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semblance.app.cli.main import run
from semblance.core.imaging.deidentification.project_key import project_pseudonyms
from semblance.core.library.library import Library
from semblance.core.log import stop_log
from semblance.core.metrics.metric import load_metric
from semblance.core.workflows.searches.query_features import save_pasted_image
from tests.helpers.dicom_files import ct_slice, encoded
from tests.helpers.images import striped_folder
from tests.helpers.program import run_program
from tests.helpers.windows import open_window, search_first_case

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a mode says nothing about others there")
#: The converted encoder is linked into the home by the rules of the test run.
_OF_THE_TESTS = ("run", ".cache", ".cache/semblance", ".cache/semblance/encoder")


@contextlib.contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def modes(top: Path) -> dict[str, str]:
    """Path relative to ``top`` -> mode, of everything in it."""
    found = {}
    for path in top.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            found[path.relative_to(top).as_posix()] = f"{stat.S_IMODE(path.lstat().st_mode) & 0o777:o}"
    return found


class Watch:
    """Looks again and again at all that stands in folders, so that files that are removed soon are noticed too.

    While the program works, a file counts that others can reach; at the end, every file."""

    def __init__(self, *tops: Path) -> None:
        self.wide: dict[str, str] = {}
        self._tops, self._over = tops, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _look(self, *, reachable: bool) -> None:
        for top in self._tops:
            found = {name: int(mode, 8) & 0o077 for name, mode in modes(top).items()}
            closed = [f"{name}/" for name, wide in found.items() if not wide and (top / name).is_dir()]
            for name, wide in found.items():
                if wide and not (reachable and name.startswith(tuple(closed))):
                    self.wide[f"{top.name}/{name}"] = f"{wide:o}"

    def _watch(self) -> None:
        while not self._over.is_set():
            self._look(reachable=True)
            time.sleep(0.1)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look(reachable=False)


def command(*arguments: object, status: int = 0) -> None:
    assert run([str(argument) for argument in arguments]) == status, arguments


def test_all_that_the_program_creates_is_private_and_exports_are_not(tmp_path, private_home, qtbot, capsys):
    sources, made, out = (tmp_path / name for name in ("sources", "made", "out"))
    made.mkdir(mode=0o700)
    with umask(0o022):
        out.mkdir()
        striped_folder(sources / "images", n=24)
        (sources / "incoming").mkdir()
        pixels = np.arange(64 * 64, dtype=np.int16).reshape(64, 64)
        for number in range(3):
            (sources / "incoming" / f"{number}.dcm").write_bytes(encoded(ct_slice(pixels + number, number)))
    library, image = made / "in a new folder" / "lib.semblance", sources / "images" / "level" / "p000.png"
    home_before = modes(private_home)
    with umask(0o000), Watch(made, private_home) as watch:
        command("import", sources / "images", "--library", library)
        assert run_program("features", library, "--extractor", "gabor")[0] == 0
        command("features", library, "--extractor", "pixels")
        for learner in ("euclidean", "bdm"):
            command(
                "train",
                library,
                "--learner",
                learner,
                "--name",
                learner,
                "--features",
                "gabor",
                "--no-control",
            )
        command("search", library, "--metric", "bdm", "--image", image)
        command("search", library, "--metric", "bdm", "--case", "images/level/p004.png", "--without-patient")
        command("findings", "rename", library, "level", "flat")
        command("undo", library)
        command("backup", library, made / "backup.zip")
        command("restore", made / "backup.zip", made / "again.semblance")
        command("library", "move", made / "again.semblance", made / "moved.semblance")
        command("pacs", "watch", "--library", library, "--folder", sources / "incoming", "--once")
        command("pacs", "add", "here", "PACS@127.0.0.1:11112")
        command("experiment", "run", "--out", made / "experiment", "--library", f"{library}:gabor", "--learner",
                "euclidean", "--repeats", "2")  # fmt: skip
        command("metric", "duplicate", library, "bdm", "bdm again")
        command("feature-set", "duplicate", library, "gabor", "gabor again")
        command("doctor", library, "--repair")
        project_pseudonyms("a project")
        save_pasted_image(library, np.zeros((8, 8, 3), np.uint8))
        with Library.open(library, writable=True) as opened:
            # While it is open there is a write-ahead log beside the catalogue and the thumbnails.
            opened.set_current_metric("bdm")
            assert (library / "catalogue.sqlite-wal").exists()
        with open_window(library) as window:
            search_first_case(window)
            assert (library / "window.lock").exists()
            window.context.settings.theme = "light"
        # What a person exports, each into a folder that the program makes too.
        for suffix in ("html", "pdf", "csv", "json"):
            command("report", library, "--metric", "bdm", "--case", "images/level/p004.png", "--out",
                    out / f"report.{suffix}")  # fmt: skip
        command(
            "report",
            library,
            "--metric",
            "bdm",
            "--cases",
            "held-out",
            "--kind",
            "html",
            "--out",
            out / "many",
        )
        command("card", library, "--metric", "bdm", "--out", out / "card.md")
        command("export-metric", library, "--metric", "bdm", "--out", out / "bdm.semblance-metric")
        command("experiment", "export", made / "experiment", "--to", out / "experiment")
        command("deidentify", sources / "incoming", "--out", out / "without names")
        command("show", image, "--out", out / "shown.png")
        with Library.open(library) as opened:
            load_metric(opened.metric("bdm").file).save(out / "own.metric")
        stop_log()
    capsys.readouterr()
    linked = set(home_before) | {f"home/{name}" for name in _OF_THE_TESTS}
    wide = {
        name: mode
        for name, mode in watch.wide.items()
        if name.partition("/")[2] not in linked and "matplotlib" not in name and "fontconfig" not in name
    }
    assert wide == {}
    created = set(modes(private_home)) - set(home_before)
    assert {".local/state/semblance/log/semblance.log", ".config/Semblance/Semblance.ini"} <= created
    assert {".config/semblance/pacs_servers.json", ".local/share/semblance/projects/a project.key"} <= created
    exported = modes(out)
    assert len(exported) > 20
    assert {
        name: mode
        for name, mode in exported.items()
        if mode != ("777" if (out / name).is_dir() else "666") and not name.endswith(".sh")
    } == {}


def test_a_group_that_shares_a_folder_on_purpose_keeps_its_rights(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    with umask(0o002):
        command("import", striped_folder(tmp_path / "images", n=6), "--library", shared / "lib.semblance")
        command("features", shared / "lib.semblance", "--extractor", "pixels")
        with Library.open(shared / "lib.semblance", writable=True) as opened:
            opened.set_prevalences({})
            found = modes(shared)
    assert "lib.semblance/catalogue.sqlite-wal" in found
    for name, mode in found.items():
        assert mode == ("770" if (shared / name).is_dir() else "660"), name


@pytest.fixture
def open_library(tmp_path):
    """A library of an earlier version: everybody may read it."""
    library = tmp_path / "lib.semblance"
    command("import", striped_folder(tmp_path / "images", n=6), "--library", library)
    command("features", library, "--extractor", "pixels")
    for path in (library, *library.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return library


def test_doctor_names_what_others_may_read_and_closes_it(open_library, capsys):
    capsys.readouterr()
    command("doctor", open_library)
    out = capsys.readouterr().out
    assert f"Others on this computer may use 11 files and folders of {open_library}" in out
    assert "catalogue.sqlite (0644)" in out
    assert "chmod -R go-rwx" in out
    command("doctor", open_library, "--repair")
    assert "-> Only their owner may use them now." in capsys.readouterr().out
    assert set(modes(open_library).values()) == {"700", "600"}
    command("doctor", open_library)
    assert capsys.readouterr().out.endswith("No problems were found.\n")


def test_doctor_names_the_log_that_others_may_read(tmp_path, private_home, capsys):
    with Library.create(tmp_path / "lib.semblance"):
        pass
    folder = private_home / ".local" / "state" / "semblance" / "log"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    command("doctor", tmp_path / "lib.semblance")
    assert f"of {folder}: {folder} (0755)" in capsys.readouterr().out


def test_a_disk_that_ignores_permissions_is_used_and_named(open_library, capsys, monkeypatch):
    monkeypatch.setattr(Path, "chmod", lambda path, mode: None)
    capsys.readouterr()
    command("doctor", open_library, "--repair")
    assert "their disk has no permissions, as network and USB drives" in capsys.readouterr().out
    command("search", open_library, "--case", "images/level/p000.png", status=1)
    command("train", open_library, "--learner", "euclidean", "--name", "m", "--no-control")
    command("search", open_library, "--case", "images/level/p000.png")


def test_a_disk_that_refuses_a_change_of_permissions_is_used(tmp_path, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    monkeypatch.setattr(os, "chmod", refuse)
    library = tmp_path / "lib.semblance"
    command("import", striped_folder(tmp_path / "images", n=6), "--library", library)
    command("features", library, "--extractor", "pixels")
