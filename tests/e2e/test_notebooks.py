"""The notebooks run from top to bottom, and become files of Jupyter and pages of the documentation."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "packaging" / "notebooks.py"


@pytest.fixture(scope="module")
def notebooks():
    spec = importlib.util.spec_from_file_location("semblance_notebooks", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_notebook_is_listed_begins_with_a_heading_and_is_python(notebooks):
    files = sorted(file.stem for file in notebooks.FOLDER.glob("*.py"))
    assert files == sorted(notebooks.NAMES)
    for name in notebooks.NAMES:
        file = notebooks.FOLDER / f"{name}.py"
        cells = notebooks.cells(file)
        assert not cells[0].is_code and cells[0].source.startswith("# ")
        compile("\n".join(cell.source for cell in cells if cell.is_code), name, "exec")
        document = json.loads(notebooks.as_ipynb(cells))
        assert (document["nbformat"], len(document["cells"])) == (4, len(cells))
        assert len({cell["id"] for cell in document["cells"]}) == len(cells)


def test_a_notebook_shows_what_it_prints_and_the_value_of_its_last_line(notebooks, tmp_path, monkeypatch):
    file = tmp_path / "small.py"
    file.write_text(
        "# %% [markdown]\n# # Small\n#\n# <text>\n\n# %%\nclass Shown:\n    def _repr_html_(self):\n"
        "        return '<b>\\n\\nshown</b>'\n\n\nprint('1 < 2')\nShown()\n\n# %%\nx = 3\n\n# %%\nx\n",
        encoding="utf-8",
    )
    before = Path.cwd()
    cells = notebooks.run(file, tmp_path)
    assert Path.cwd() == before
    assert notebooks.title(file) == "Small"
    (name, page), *images = notebooks.as_markdown(cells, "small")
    assert (name, images) == ("small.md", [])
    assert "<pre>1 &lt; 2</pre>" in page and "<b>\nshown</b>" in page and "<pre>3</pre>" in page
    outputs = [cell["outputs"] for cell in json.loads(notebooks.as_ipynb(cells))["cells"][1:]]
    assert [len(one) for one in outputs] == [2, 0, 1]
    file.write_text("# %% [markdown]\n# # Small\n\n# %%\n1 / 0\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"small.py, cell 2: division by zero"):
        notebooks.run(file, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["first_search", "own_embeddings", "own_split", "own_learner", "marks_and_questions"]
)
def test_the_notebook_runs_from_top_to_bottom(name, tmp_path):
    subprocess.run([sys.executable, str(SCRIPT), str(tmp_path), name], check=True, timeout=600, cwd=tmp_path)
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert 'class="notebook-output"' in page
    assert "http" not in page.replace("https://doi.org", "")
