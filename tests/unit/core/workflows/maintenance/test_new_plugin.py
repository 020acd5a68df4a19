"""A new plug-in works as it is: each kind is written, found, passes its check and is used."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.plugins import GROUPS, broken_plugins, installed_plugins
from semblance.core.workflows.library.load_plugins import load_plugins
from semblance.core.workflows.maintenance.new_plugin import new_plugin
from tests.helpers.plugin_packages import install, no_plugins_left  # noqa: F401

pytestmark = pytest.mark.usefixtures("no_plugins_left")


@pytest.mark.parametrize("kind", GROUPS)
def test_each_kind_is_installed_and_passes_its_check(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = new_plugin(f"own-{kind}", kind, tmp_path)
    project = tomllib.loads((made.folder / "pyproject.toml").read_text())["project"]
    ((group, entries),) = project["entry-points"].items()
    assert (project["name"], group) == (made.package, f"semblance.{GROUPS[kind]}")
    module = made.package.replace("-", "_")
    code, test = ((made.folder / name).read_text() for name in (f"{module}.py", f"test_{module}.py"))
    lines = "\n".join(f"{name} = {target}" for name, target in entries.items())
    install(tmp_path / "installed", monkeypatch, made.package, {kind: lines}, code)

    assert [plugin.name for plugin in installed_plugins()] == [made.name] and module not in sys.modules
    assert load_plugins() == broken_plugins() == () and module in sys.modules
    names: dict[str, object] = {"__name__": "test"}
    exec(compile(test, "test", "exec"), names)
    names["test_contract"]()  # type: ignore[operator]


def test_what_cannot_be_a_plugin_is_refused_and_nothing_is_overwritten(tmp_path: Path) -> None:
    for name in ("Bad", "a b", "../up", "1st", "a--b", "class", "semblance", "x" * 99, ""):
        with pytest.raises(BadArguments, match="cannot be the name"):
            new_plugin(name, "learner", tmp_path)
    with pytest.raises(BadArguments, match="This program has 'bdm_v' itself"):
        new_plugin("bdm-v", "learner", tmp_path)
    with pytest.raises(BadArguments, match="Kinds: learner, extractor, importer, protocol, report"):
        new_plugin("mine", "step", tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with pytest.raises(BadInput, match="exists already"):
        new_plugin("mine", "learner", tmp_path)
    assert list((tmp_path / "mine").iterdir()) == []
