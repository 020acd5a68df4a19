"""The example of the help page *Learners in Python* runs as it is printed."""

from __future__ import annotations

import re

from semblance import resources


def test_the_example_of_the_help_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for folder in ("", "de"):
        text = (resources.path("help") / folder / "python.md").read_text(encoding="utf-8")
        (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        found: dict[str, object] = {}
        exec(compile(example, "python.md", "exec"), found)
        assert found["distances"].shape == (3, 178)
        scores = dict(line.split() for line in capsys.readouterr().out.splitlines())
        assert float(scores["lda"]) > 0.95
        assert (tmp_path / "wine.metric").exists()
