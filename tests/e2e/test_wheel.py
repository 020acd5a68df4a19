"""`pip install .` brings everything the program needs, and works away from its sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SOURCES = ("app", "core", "resources")
#: Under resources, but for the README only.
NOT_SHIPPED = "resources/screenshots/"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder holding what the wheel holds, as pip would lay it out."""
    work = tmp_path_factory.mktemp("wheel")
    source = work / "source"
    for folder in SOURCES:
        shutil.copytree(TOP / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(TOP / file, source / file)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*build, "-w", str(work), str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = work.glob("*.whl")
    target = work / "site"
    zipfile.ZipFile(wheel).extractall(target)
    return target


def files(top: Path) -> set[str]:
    found = (path for folder in SOURCES for path in (top / folder).rglob("*") if path.is_file())
    return {path.relative_to(top).as_posix() for path in found if "__pycache__" not in path.parts}


def test_every_file_of_the_program_is_in_the_wheel(installed):
    expected = {name for name in files(TOP) if not name.startswith(NOT_SHIPPED)}
    assert files(installed) == expected


def test_the_installed_program_starts_away_from_its_sources(installed, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    asked = subprocess.run(
        [sys.executable, "-c", "import resources; print(resources.path('__init__.py'))"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.stdout.strip() == str(installed / "resources" / "__init__.py"), asked.stderr
    started = subprocess.run(
        [sys.executable, "-m", "app", "--help"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert started.returncode == 0, started.stderr
    assert "import" in started.stdout
