"""What the bundle is made of; `make bundle` itself runs what it built."""

from __future__ import annotations

import ast
import configparser
import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtGui import QImage

from app import __main__, program
from app.cli.main import cli
from core.library.library import Library

TOP = Path(__file__).resolve().parents[3]
BUNDLE, DESKTOP = TOP / "packaging" / "bundle", TOP / "packaging" / "desktop"


def loaded(name: str):
    spec = importlib.util.spec_from_file_location(f"bundle_{name}", BUNDLE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assigned(name: str) -> list[str]:
    """A list that the spec file writes out."""
    tree = ast.parse((BUNDLE / "semblance.spec").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"the spec has no {name}")


def test_what_the_spec_names_is_installed():
    for decoder in assigned("DECODERS"):
        assert importlib.util.find_spec(decoder) is not None, decoder
    for package in assigned("TOLD_BY_METADATA"):
        assert importlib.metadata.version(package)


def test_the_desktop_entry_starts_the_program_on_what_is_opened():
    entry = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    entry.optionxform = str
    entry.read(DESKTOP / "semblance.desktop", encoding="utf-8")
    section = entry["Desktop Entry"]
    assert section["Exec"] == "semblance %f"
    kind = ElementTree.parse(DESKTOP / "semblance.xml").getroot()[0].get("type")
    assert kind in section["MimeType"].split(";")
    assert section["Icon"] == "semblance"


def test_the_manual_has_every_command_and_option(tmp_path):
    import typer

    manual = loaded("manual")
    files = manual.write(tmp_path, "9.9")
    page = (tmp_path / "man/man1/semblance.1").read_text(encoding="utf-8")
    for name, command in manual._commands(typer.main.get_command(cli)):
        assert f".SS {name}".replace("-", "\\-") in page
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option == "--help" or option.replace("-", "\\-") in page
    assert {file.suffix for file in files} == {".1", "", ".fish"}
    assert all("semblance" in file.read_text(encoding="utf-8") for file in files)


@pytest.mark.skipif(shutil.which("man") is None, reason="no man on this system")
def test_the_manual_is_read_without_a_complaint(tmp_path):
    loaded("manual").write(tmp_path, "9.9")
    page = tmp_path / "man/man1/semblance.1"
    shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, check=True)
    assert "EXIT STATUS" in shown.stdout
    assert shown.stderr == ""


def test_the_icon_is_drawn_in_every_size(qapp, tmp_path):
    icons = loaded("icons")
    icons.write(tmp_path)
    for side in icons.SIDES:
        image = QImage(str(tmp_path / f"semblance-{side}.png"))
        assert (image.width(), image.height()) == (side, side)
        assert image.pixelColor(side // 2, side // 2).alpha() == 255
        assert image.pixelColor(0, 0).alpha() == 0
    assert (tmp_path / "semblance.ico").stat().st_size > 0


def test_a_library_named_alone_is_opened_in_the_window(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(program, "open_window", lambda library=None: opened.append(library) or 0)
    Library.create(tmp_path / "lib.semblance").close()
    assert __main__.main([str(tmp_path / "lib.semblance")]) == 0
    assert __main__.main([]) == 0
    assert opened == [tmp_path / "lib.semblance", None]


def test_a_shell_is_told_how_a_line_can_go_on(tmp_path):
    asked = subprocess.run(
        [sys.executable, "-m", "app"],
        cwd=TOP,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "_SEMBLANCE_COMPLETE": "complete_bash",
            "COMP_WORDS": "semblance tra",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.stdout.split() == ["train"]
