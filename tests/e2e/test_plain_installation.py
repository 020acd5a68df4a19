"""Without the extra ``app`` the learners and the evaluation on tables work; other commands name the line to run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.tables import write_table

#: What the packages of the extra ``app`` are imported as.
ABSENT = (
    "PySide6", "shiboken6", "pyqtgraph", "matplotlib", "skimage", "PIL", "pydicom", "pylibjpeg", "openjpeg", "rle",
    "jpeg_ls", "gdcm", "sqlalchemy", "zarr", "numcodecs", "jinja2", "reportlab", "babel",
)  # fmt: skip
#: Run before the program: those packages cannot be imported.
WITHOUT_THEM = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.fixture
def plain(tmp_path):
    """Run Python code where the packages are missing: (exit status, stdout, stderr)."""

    def run_it(code: str, **environment: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_THEM + code],
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run_it


def command(*arguments: object) -> str:
    return f"from semblance.app.__main__ import main\nsys.exit(main({[str(one) for one in arguments]!r}))"


def test_a_metric_is_learnt_saved_and_read(plain, tmp_path):
    code = (
        "import numpy as np\n"
        "from semblance.core.metrics import learners, load_metric, make_learner\n"
        "from semblance.core.metrics.storage import save_metric\n"
        "X = np.random.default_rng(0).normal(size=(40, 5)); y = (X[:, 0] > 0).astype(int)\n"
        "for one in learners():\n"
        "    make_learner(one.name)\n"
        "metric = make_learner('bdm').fit(X, y).metric()\n"
        f"save_metric(metric, {str(tmp_path / 'm.semblance-metric')!r})\n"
        f"print(load_metric({str(tmp_path / 'm.semblance-metric')!r}).distances(X[:2], X).shape)\n"
    )
    status, out, err = plain(code)
    assert (status, out) == (0, "(2, 40)\n"), err


def test_learners_are_evaluated_on_a_table(plain, tmp_path):
    table = write_table(tmp_path / "wine.csv")
    arguments = command(
        "evaluate", "--table", table, "--learner", "euclidean,bdm_v", "--protocol", "metricboost"
    )
    status, out, err = plain(arguments)
    assert status == 0, err
    assert "Triplet accuracy" in out
    for name in ("learners", "extractors", "kinds", "protocols"):
        assert plain(command(name))[0] == 0


@pytest.mark.parametrize(
    "arguments", [(), ("info", "L"), ("import", "T", "--library", "L"), ("demo", "--headless")]
)
def test_what_needs_the_program_says_the_line_to_run(plain, tmp_path, arguments):
    names = {"T": write_table(tmp_path / "t.csv"), "L": tmp_path / "lib"}
    line = command(*(names.get(one, one) for one in arguments))
    status, out, err = plain(line, QT_QPA_PLATFORM="offscreen")
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert err.endswith("python -m pip install 'semblance-retrieval[app]'\n")
