"""The package ``semblance``: the names that scripts rely on, each file one module, and light to import."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import semblance as sb

TOP = Path(__file__).resolve().parents[3]
#: Parameters that scripts give by place or by name.
SIGNATURES = {
    sb.open_library: ("location",),
    sb.create_library: ("location", "source"),
    sb.Library.features: ("name",),
    sb.Library.add_features: ("name", "vectors", "case_ids"),
    sb.Library.search: ("query", "k", "region", "match"),
    sb.Library.train: ("learner", "features", "name"),
    sb.Library.evaluate: ("metric", "splits"),
    sb.Library.export: ("folder", "features", "splits"),
    sb.Ranking.mark: ("like", "unlike"),
    sb.Scores.roc: ("finding",),
}
NAMES = {
    sb.Library: ("cases", "metrics", "metric", "feature_sets", "report", "close", "_repr_html_"),
    sb.Ranking: ("__iter__", "to_frame", "plot", "_repr_html_"),
    sb.Metric: ("card", "distances", "embed", "explain", "_repr_html_"),
    sb.Scores: ("to_frame", "per_query", "plot", "_repr_html_"),
}


def modules() -> list[str]:
    files = (TOP / "core" / "interface").rglob("*.py")
    return sorted(f"semblance.{file.stem}" for file in files if file.stem != "__init__")


def test_the_names_of_scripts_are_there():
    for function, parameters in SIGNATURES.items():
        known = inspect.signature(function).parameters
        assert [name for name in parameters if name not in known] == [], function.__qualname__
    for owner, names in NAMES.items():
        assert [name for name in names if not hasattr(owner, name)] == [], owner.__name__
    assert set(sb.__all__) < set(dir(sb))
    for name in sb.__all__:
        assert inspect.getdoc(getattr(sb, name)), name
    for name in ("check_learner", "check_extractor", "check_importer"):
        assert callable(getattr(importlib.import_module("semblance.testing"), name))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sb.nothing


def test_each_file_is_one_module():
    for name in modules():
        importlib.import_module(name)
    assert importlib.util.find_spec("semblance.core.interface") is None
    found: dict[Path, list[str]] = {}
    for name, module in sys.modules.items():
        if name.startswith("semblance") and (file := getattr(module, "__file__", None)):
            found.setdefault(Path(file).resolve(), []).append(name)
    assert {file: names for file, names in found.items() if len(names) > 1} == {}
    for name in modules():
        assert found[TOP / "core" / "interface" / f"{name.partition('.')[2]}.py"] == [name]


def test_importing_it_loads_nothing_heavy():
    program = "import sys, semblance; semblance.__version__; dir(semblance); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert not {"numpy", "PySide6", "sqlalchemy", "pandas", "rich", "typer"} & set(loaded.stdout.split())
