"""Packages with plug-ins, as pip leaves them in a folder; the folder is put on the path of Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from semblance.core import plugins


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    entries: Mapping[str, str],
    code: str = "",
    version: str = "1.2",
) -> str:
    """Install ``package``, of one module with ``code``; ``entries``: kind -> the lines of that group of entry points,
    with ``{module}`` for the module. Returns the name of the module."""
    module = package.replace("-", "_")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    groups = (f"[semblance.{plugins.GROUPS[kind]}]\n{lines}\n" for kind, lines in entries.items())
    (info / "entry_points.txt").write_text("\n".join(groups).replace("{module}", module))
    (folder / f"{module}.py").write_text(code)
    if str(folder) not in sys.path:
        monkeypatch.syspath_prepend(folder)
    plugins.forget_plugins()
    return module


@pytest.fixture
def no_plugins_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the packages that a test installed in its folder, and their modules, after it."""
    yield
    monkeypatch.undo()
    plugins.forget_plugins()
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
