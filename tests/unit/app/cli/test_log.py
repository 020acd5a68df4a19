"""What commands leave in the log: what ran and failed, and no name, id or path."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from semblance.app.cli.main import run
from semblance.core import log

PLANTED = ("zebrovich", "quentin", "ourania", "larkspur", "778812", "homefolder", "malignant")


@pytest.fixture
def tree(tmp_path):
    """Images called after patients, of patients with names, one of them broken."""
    folder = tmp_path / "homefolder of Ourania" / "ZEBROVICH QUENTIN 778812"
    folder.mkdir(parents=True)
    lines = ["file,finding,patient,comment\n"]
    rng = np.random.default_rng(0)
    for number in range(16):
        name = f"Zebrovich_{number}.png"
        grey = rng.integers(0, 90, (32, 32)) + 100 * (number % 2)
        Image.fromarray(grey.astype(np.uint8)).save(folder / name)
        finding = ("benign", "malignant")[number % 2]
        lines.append(f"{name},{finding},Quentin {number // 2},Larkspur\n")
    (folder / "Zebrovich_broken.png").write_bytes((folder / "Zebrovich_0.png").read_bytes()[:60])
    (folder / "labels.csv").write_text("".join(lines), encoding="utf-8")
    return folder


def test_the_log_has_what_ran_and_no_patient(tree, private_home, monkeypatch, capsys):
    monkeypatch.delenv(log.VARIABLE, raising=False)
    library, out = tree.parent / "Zebrovich.semblance", tree.parent / "Quentin.pdf"
    commands = [
        ["import", str(tree), "--library", str(library), "--identified"],
        ["features", str(library), "--extractor", "colour_edge_texture"],
        ["train", str(library), "--learner", "euclidean", "--name", "larkspur"],
        ["search", str(library), "--metric", "larkspur", "--case", f"{tree.name}/Zebrovich_3.png"],
        ["search", str(library), "--metric", "larkspur", "--case", "Quentin"],
        [
            "report",
            str(library),
            "--metric",
            "larkspur",
            "--image",
            str(tree / "gone.png"),
            "--out",
            str(out),
        ],
        ["info", str(tree / "Quentin.semblance")],
    ]
    statuses = [run(["--verbose", *command]) for command in commands]
    assert statuses[:3] == [0, 0, 0]
    assert statuses[-1] != 0
    text = (log.log_folder() / log.FILE).read_text(encoding="utf-8")
    for command in ("import", "features", "train", "search", "report", "info"):
        assert f"the command {command} starts" in text
    assert text.count("the command ended with status") == len(commands)
    assert "the command failed: BadInput: " in text
    assert "phase " in text
    low = text.casefold()
    assert [word for word in PLANTED if word in low] == []
    assert log.log_folder().is_relative_to(private_home)
    shown = capsys.readouterr().err.casefold()
    assert "the command info starts" in shown


def test_without_verbose_the_log_is_not_shown(private_home, capsys):
    assert run(["info", str(private_home / "Quentin.semblance")]) != 0
    assert "the command" not in capsys.readouterr().err
