from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).resolve().parents[3]


@pytest.fixture
def bootstrap(tmp_path, monkeypatch) -> ModuleType:
    """The set-up's module, reading a copy of the project's own two files in a folder with a space."""
    spec = importlib.util.spec_from_file_location("bootstrap", TOP / "packaging" / "bootstrap.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    top = tmp_path / "my semblance"
    (top / "packaging").mkdir(parents=True)
    built = ("setup.py", "CHANGELOG.md", "packaging/build_resources.py")
    for name in ("pyproject.toml", "packaging/constraints.txt", *built):
        (top / name).write_bytes((TOP / name).read_bytes())
    monkeypatch.setattr(module, "TOP", top)
    monkeypatch.setattr(module, "VENV", top / ".venv")
    monkeypatch.setattr(module, "DEEP_VENV", top / ".venv-deep")
    monkeypatch.setattr(module, "CONSTRAINTS", top / "packaging" / "constraints.txt")
    return module


def pins() -> dict[str, str]:
    lines = (TOP / "packaging" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    required = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(one.name): str(one.specifier) for one in required}


def closure(name: str, extra: str = "") -> set[str]:
    """Names of the installed distributions that ``name`` needs here, itself excluded."""
    found: set[str] = set()
    waiting = [(name, extra)]
    while waiting:
        owner, owner_extra = waiting.pop()
        for text in importlib.metadata.requires(owner) or []:
            need = Requirement(text)
            key = canonicalize_name(need.name)
            if key in found or (need.marker and not need.marker.evaluate({"extra": owner_extra})):
                continue
            found.add(key)
            waiting += [(need.name, e) for e in need.extras or [""]]
    # One extra of the program brings others.
    return found - {name}


def test_every_needed_package_is_pinned_to_what_is_installed():
    pinned_versions = pins()
    installed = {
        name: f"=={importlib.metadata.version(name)}" for name in closure("semblance-retrieval", "test")
    }
    assert {name: pinned_versions.get(name) for name in installed} == installed


def test_a_complete_system_needs_no_rights(bootstrap, monkeypatch):
    monkeypatch.setattr(bootstrap, "missing_packages", lambda purpose: [])
    monkeypatch.setattr(bootstrap, "root_prefix", lambda: pytest.fail("rights were requested"))
    bootstrap.ensure_system_packages("run")


def test_without_rights_the_one_line_to_run_is_named(bootstrap, monkeypatch):
    monkeypatch.setattr(bootstrap, "missing_packages", lambda purpose: ["libegl1", "libgl1"])
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(bootstrap, "root_prefix", lambda: None)
    monkeypatch.setattr(bootstrap.sys, "platform", "linux")
    with pytest.raises(bootstrap.SetupError, match="sudo apt-get install libegl1 libgl1\n"):
        bootstrap.ensure_system_packages("run")


@pytest.mark.parametrize(("starts_servers", "user"), [(False, 0), (True, 0), (False, 1000)])
def test_servers_for_tests_are_installed_only_where_that_starts_none(
    bootstrap, monkeypatch, tmp_path, starts_servers, user
):
    installed = []
    monkeypatch.setattr(bootstrap, "TEST_PACKAGES", {"no-pacs": "no-such-program", "shell": "sh"})
    monkeypatch.setattr(bootstrap, "SYSTEMD", tmp_path if starts_servers else tmp_path / "none")
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: user)
    which = bootstrap.shutil.which
    monkeypatch.setattr(
        bootstrap.shutil,
        "which",
        lambda name, path=None: "apt" if name == "apt-get" else which(name, path=path),
    )
    monkeypatch.setattr(bootstrap, "install_with_apt", lambda root, packages: installed.append(packages))
    bootstrap.install_test_packages()
    assert installed == ([] if starts_servers or user else [["no-pacs"]])


def test_an_x_display_and_the_bundle_need_more_libraries(bootstrap, monkeypatch):
    monkeypatch.setattr(bootstrap, "can_load", lambda _library: False)
    monkeypatch.setattr(bootstrap, "has_fonts", lambda: True)
    monkeypatch.delenv("DISPLAY", raising=False)
    without = bootstrap.missing_packages("run")
    assert set(bootstrap.missing_packages("bundle")) - set(without) == set(bootstrap.X_LIBRARIES)
    monkeypatch.setenv("DISPLAY", ":0")
    assert set(bootstrap.missing_packages("run")) - set(without) == set(bootstrap.X_LIBRARIES)


def test_only_changes_of_what_is_installed_install_again(bootstrap):
    project = bootstrap.TOP / "pyproject.toml"
    before, text = bootstrap.installation_digest(), project.read_text(encoding="utf-8")
    project.write_text(text.replace("line-length = 110", "line-length = 100"), encoding="utf-8")
    assert bootstrap.installation_digest() == before
    project.write_text(text.replace('"threadpoolctl>=', '"threadpoolctl>=1.'), encoding="utf-8")
    assert bootstrap.installation_digest() != before
    project.write_text(text, encoding="utf-8")
    bootstrap.CONSTRAINTS.write_text("numpy==2.1.0\n", encoding="utf-8")
    assert bootstrap.installation_digest() != before


def test_an_environment_that_is_missing_broken_or_moved_is_recreated(bootstrap):
    assert not bootstrap.venv_works(bootstrap.VENV)
    (bootstrap.VENV / "bin").mkdir(parents=True)
    python, config = bootstrap.VENV / "bin" / "python", bootstrap.VENV / "pyvenv.cfg"
    python.symlink_to("/nowhere/python")
    config.write_text(f"command = /usr/bin/python3 -m venv --clear {bootstrap.VENV}\n", encoding="utf-8")
    assert not bootstrap.venv_works(bootstrap.VENV)
    python.unlink()
    python.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    python.chmod(0o755)
    assert bootstrap.venv_works(bootstrap.VENV)
    config.write_text("command = /usr/bin/python3 -m venv --clear /old place/.venv\n", encoding="utf-8")
    assert not bootstrap.venv_works(bootstrap.VENV)


@pytest.mark.parametrize(
    ("output", "status"),
    [("WARNING: Retrying after connection broken by 'NewConnectionError'", 75), ("ERROR: No space left", 1)],
)
def test_only_a_refusing_network_is_distinguished_and_only_for_the_extra(
    bootstrap, monkeypatch, output, status
):
    python = bootstrap.DEEP_VENV / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *install*) echo "{output}"; exit 1;; esac\n', encoding="utf-8"
    )
    python.chmod(0o755)
    (bootstrap.DEEP_VENV / "pyvenv.cfg").write_text("home = here\n", encoding="utf-8")
    bootstrap.DEEP_VENV.rename(bootstrap.VENV)
    monkeypatch.setattr(bootstrap, "ensure_system_packages", lambda purpose: None)
    assert bootstrap.main(["test"]) == 1
    bootstrap.VENV.rename(bootstrap.DEEP_VENV)
    assert bootstrap.main(["deep"]) == status


def test_make_help_lists_every_target_in_groups():
    text = (TOP / "Makefile").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith(".PHONY:")]
    targets = {name for name in line.split()[1:] if not name.startswith("setup-")}
    # Inside "make test" the variables of the outer make would add its "Entering directory" lines.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--no-print-directory", "help"]
    shown = subprocess.run(command, cwd=TOP, env=clean, capture_output=True, text=True, check=True).stdout
    lines = shown.splitlines()
    assert {one.split()[1] for one in lines if one.startswith("  make ")} == targets
    assert [one for one in lines if one and not one.startswith(" ")] == [
        "Use",
        "Develop",
        "Measure",
        "Release",
    ]
