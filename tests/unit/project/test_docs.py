"""`make docs`: the API reference and the guide as static pages."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("pdoc", reason="needs the extra 'docs'")
SCRIPT = Path(__file__).resolve().parents[3] / "packaging" / "docs.py"


@pytest.fixture(scope="module")
def docs():
    spec = importlib.util.spec_from_file_location("semblance_docs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(docs, tmp_path_factory):
    out = tmp_path_factory.mktemp("docs") / "built"
    docs.build(out, ("retrieval",))
    return out


def test_every_link_between_the_pages_leads_somewhere(built):
    pages = [built / "index.html", *(built / "guide").rglob("*.html")]
    links = {
        (page, link)
        for page in pages
        for link in re.findall(r'href="(?!https?:)([^"#]+)"', page.read_text(encoding="utf-8"))
    }
    assert len(links) > 50
    assert [str(page.parent / link) for page, link in links if not (page.parent / link).exists()] == []


def test_the_reference_shows_docstrings_and_the_guide_shows_tables(built):
    text = (built / "api" / "semblance" / "core" / "retrieval" / "index.html").read_text(encoding="utf-8")
    assert "NearestRows" in text
    assert "<td>BDM+V</td>" in (built / "guide" / "which_learner.html").read_text(encoding="utf-8")


def test_every_learner_is_in_the_reference(docs):
    from semblance.core.metrics import learners

    modules = docs.modules(("metrics",))
    assert [one.name for one in learners() if one.__module__ not in modules] == []
