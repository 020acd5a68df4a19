from __future__ import annotations

import json

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks.harness import Row, number, table

GOOD = """
import numpy as np
def run(data):
    return [
        {"what": "a round", "value": np.float64(4.0), "unit": "ms", "target": 5, "reached": np.bool_(True)},
        {"what": "memory", "value": 310, "unit": "MB", "target": 300, "reached": False},
        {"what": "cases", "value": 1234567, "unit": "", "target": None, "reached": None},
    ]
"""


@pytest.fixture
def benchmarks_folder(tmp_path, monkeypatch):
    """A folder of benchmarks of its own, found in place of the real one."""
    folder = tmp_path / "tests" / "benchmarks"
    folder.mkdir(parents=True)
    real = benchmarks.HERE
    for source in (*real.glob("[!b]*.py"), *real.parent.glob("__init__.py")):
        target = folder if source.parent == real else folder.parent
        (target / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    (folder.parent / "helpers").symlink_to(real.parent / "helpers")
    (tmp_path / "core").symlink_to(real.parent.parent / "core")
    monkeypatch.setattr(benchmarks, "HERE", folder)
    return folder


def test_the_others_go_on_when_one_fails_or_crashes(benchmarks_folder, capfd, tmp_path):
    (benchmarks_folder / "bench_bad.py").write_text("def run(data):\n    raise ValueError('no luck')\n")
    (benchmarks_folder / "bench_crash.py").write_text("import os\ndef run(data):\n    os._exit(7)\n")
    (benchmarks_folder / "bench_good.py").write_text(GOOD)

    status = benchmarks.main(["--json", str(tmp_path / "out.json")])

    out = capfd.readouterr().out
    assert status == 1
    assert "bad failed: ValueError: no luck" in out
    assert "crash failed: its process ended with status 7" in out
    assert "1 of 2 targets reached" in out
    good = json.loads((tmp_path / "out.json").read_text())[2]
    assert [row["reached"] for row in good["rows"]] == [True, False, None]


def test_without_real_data_a_benchmark_is_skipped_not_failed(benchmarks_folder, capfd, monkeypatch):
    monkeypatch.delenv("SEMBLANCE_DATA", raising=False)
    (benchmarks_folder / "bench_real.py").write_text(
        "from tests.benchmarks.harness import require_data\ndef run(data):\n    require_data(data)\n"
    )
    assert benchmarks.main(["--only", "real"]) == 0
    assert "real skipped: SEMBLANCE_DATA is not set" in capfd.readouterr().out


def test_table_is_aligned_with_ratios_and_verdicts():
    rows = [Row("bdm", "a round", 4.0, "ms", 5, True), Row("search", "top 20", 1234.5, "ms", 100, False)]
    assert table(rows).splitlines() == [
        "benchmark  what     value  target  unit  ratio",
        "-----------------------------------------------------------",
        "bdm        a round      4       5  ms     0.80  reached",
        "search     top 20   1,234     100  ms    12.35  NOT reached",
    ]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123, "0.012"), (3.14159, "3.14"), (13.26, "13.3"), (1e6, "1,000,000")]
)
def test_numbers_are_short(value, text):
    assert number(value) == text
