"""The wheel holds the whole program under the one name ``semblance``, and works beside modules of other people."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SOURCES = ("app", "core", "resources")
#: Under resources, but for the README and the translators only.
NOT_SHIPPED = ("resources/screenshots/", "resources/translations/de/LC_MESSAGES/semblance.po")


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from the source distribution of a copy of the sources without the files that the build makes."""
    work = tmp_path_factory.mktemp("wheel")
    source = work / "my source"
    unwanted = shutil.ignore_patterns("__pycache__", "*.mo", "CHANGELOG.md")
    for folder in SOURCES:
        shutil.copytree(TOP / folder, source / folder, ignore=unwanted)
    (source / "packaging").mkdir()
    copied = (
        "pyproject.toml",
        "setup.py",
        "MANIFEST.in",
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE",
        "packaging/build_resources.py",
        "packaging/constraints.txt",
    )
    for file in copied:
        shutil.copy(TOP / file, source / file)
    build = "from setuptools import build_meta; build_meta.build_sdist('..')"
    subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, check=True)
    (distribution,) = work.glob("*.tar.gz")
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", work, distribution)
    (made,) = work.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory) -> Path:
    """The folder it is installed into; the command is bin/semblance in it."""
    target = tmp_path_factory.mktemp("site")
    pip("install", "--no-deps", "--no-index", "--target", target, wheel)
    return target


def files(top: Path) -> set[str]:
    found = (path.relative_to(top) for path in top.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def test_every_file_of_the_program_is_in_the_wheel(wheel, site):
    sources = {f"{folder}/{name}" for folder in SOURCES for name in files(TOP / folder)}
    shipped = {name for name in sources if not name.startswith(NOT_SHIPPED) and not name.endswith(".mo")}
    # Where the sources are no repository the commit is not known.
    shipped -= {"resources/COMMIT"}
    expected = {name.removeprefix("core/interface/") for name in shipped}
    made = {"resources/translations/de/LC_MESSAGES/semblance.mo"}
    assert files(site / "semblance") - {"resources/COMMIT"} == expected | made
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition("/")[0] for name in archive.namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"semblance"}


def test_a_package_index_can_show_its_readme(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    head, _, readme = text.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in head
    assert readme.startswith("# Semblance")
    assert re.findall(r"\]\((?!https?:)[^)]*\)", readme) == []
    assert "semblance search" in readme


@pytest.fixture
def hostile(tmp_path) -> Path:
    """A folder with modules and packages that are called like folders of the sources, and end whoever imports them."""
    for name in SOURCES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of somebody else')\n")
    for name in ("core", "resources"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('a package of somebody else')\n")
    return tmp_path


@pytest.mark.parametrize("command", [["bin/semblance"], ["-m", "semblance.app"]], ids=["script", "module"])
def test_it_runs_away_from_its_sources_beside_modules_of_the_same_names(site, hostile, command):
    program = [str(site / part) if part.startswith("bin/") else part for part in command]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(hostile), str(site)]), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    for arguments, says in (
        (["--help"], "import"),
        (["evaluate", "--table", "builtin:iris", "--learner", "lda", "--protocol", "metricboost"], "lda"),
    ):
        line = [sys.executable, *program, *arguments]
        done = subprocess.run(line, cwd=hostile, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert says in done.stdout


def test_its_translations_are_compiled(site, hostile):
    code = "from semblance.core.language import tr; print(tr('Open library…'))"
    environment = os.environ | {
        "PYTHONPATH": str(site),
        "SEMBLANCE_LANGUAGE": "de",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=hostile.parent, env=environment, capture_output=True, check=True
    )
    assert done.stdout.decode("utf-8").strip() == "Bibliothek öffnen…"
