"""The extra ``deep`` is the one that is pinned, and torch brings no CUDA along."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

torch = pytest.importorskip("torch", reason="needs the extra 'deep': make test-deep")
CONSTRAINTS = Path(__file__).resolve().parents[2] / "packaging" / "constraints.txt"


def closure(name: str, extra: str) -> set[str]:
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
            waiting += [(need.name, one) for one in need.extras or [""]]
    return found


def test_what_the_extra_needs_is_pinned_to_what_is_installed():
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    required = [Requirement(line) for line in lines if line and not line.startswith("#")]
    # Those for this system last: they count.
    required.sort(key=lambda one: one.marker is None or one.marker.evaluate())
    pins = {canonicalize_name(one.name): str(one.specifier) for one in required}
    needed = closure("semblance-retrieval", "deep")
    installed = {name: f"=={importlib.metadata.version(name)}" for name in needed}
    assert {name: pins.get(name) for name in installed} == installed


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is one build only")
def test_torch_is_the_build_without_cuda():
    assert torch.version.cuda is None
