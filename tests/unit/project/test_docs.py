"""`make docs`: what the pages are made of. Building all of them takes most of a minute: `make docs ARGS=--strict`."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from semblance.app.window import help_files, help_pages
from semblance.core.language import LANGUAGES

FOLDER = Path(__file__).resolve().parents[3] / "packaging" / "docs"


@pytest.fixture(scope="module")
def sources():
    spec = importlib.util.spec_from_file_location("semblance_docs_sources", FOLDER / "sources.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def files(sources):
    return dict(sources.source_files())


def anchors(text: str) -> set[str]:
    """The anchors that MyST gives the headings: as GitHub does."""
    headings = re.findall(r"^#{1,4} (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", one).lower()).replace(" ", "-") for one in headings}


def broken_links(texts: dict[str, str], known: set[str]) -> list[str]:
    """Links and images between the pages ``texts`` (path -> Markdown) that lead to no page, file or heading."""
    broken = []
    for name, text in texts.items():
        without_code = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code):
            if re.match(r"(https?|mailto|key):", link):
                continue
            path, _, anchor = link.partition("#")
            target = help_pages.target(name.removesuffix(".md"), path) if path else name.removesuffix(".md")
            found = f"{target}.md" if f"{target}.md" in known else target
            if found not in known or (anchor and anchor not in anchors(texts.get(found, ""))):
                broken.append(f"{name}: {link}")
    return broken


def test_every_link_and_image_between_the_pages_leads_somewhere(files):
    texts = {name: text for name, text in files.items() if name.endswith(".md")}
    assert len(texts) > 110
    assert broken_links(texts, set(files)) == []


def test_a_link_to_no_page_and_to_no_heading_is_found():
    texts = {
        "a/b.md": "# B\n\n[x](c.md) [y](../d.md#no) [z](../d.md#a-heading)",
        "d.md": "# D\n\n## A heading!",
    }
    assert broken_links(texts, set(texts)) == ["a/b.md: c.md", "a/b.md: ../d.md#no"]


def test_the_translated_pages_have_the_same_links(files):
    texts = {f"{page}.md": help_files.translated(page, "de") for page in help_files.pages()}
    assert (
        broken_links({name: re.sub(r"#[\w-]+\)", ")", text) for name, text in texts.items()}, set(files))
        == []
    )


def test_every_page_of_the_help_is_in_one_part(sources, files):
    listed = [document for _, documents in sources.parts() for document in documents]
    for document in list(listed):
        below = re.findall(r"^/(\S+)$", str(files.get(f"{document}.md", "")), re.MULTILINE)
        listed += below
    assert len(listed) == len(set(listed))
    assert {entry.page for _, entries in help_pages.contents() for entry in entries} <= set(listed)


def test_the_command_line_page_has_every_command_with_its_options(files):
    text = files["command_line.md"]
    assert text.count("\n## semblance") > 60
    assert "## semblance experiment run" in text
    assert re.search(r"^\| `--learner .*\| The learner\.", text, re.MULTILINE)


def test_every_learner_and_extractor_is_in_the_reference(files):
    from semblance.core.features.registry import extractors
    from semblance.core.metrics import learners
    from semblance.core.metrics.registry import estimator_class

    text = (
        files["api/semblance.core.metrics.estimators.rst"]
        + files["api/semblance.core.features.extractors.rst"]
    )
    classes = [*map(estimator_class, learners()), *extractors()]
    assert [one for one in classes if f":: {one.__module__}.{one.__name__}\n" not in text] == []


def test_the_first_page_has_texts_in_every_language_of_the_program(sources):
    assert sources.TEXTS.keys() == LANGUAGES.keys()
    assert all(asked.keys() == LANGUAGES.keys() for asked in sources.QUESTIONS.values())


@pytest.mark.parametrize("notebooks", [[], ["first_search", "own_split"]])
def test_the_first_page_in_german_links_to_the_notebooks_that_were_run(sources, monkeypatch, notebooks):
    monkeypatch.setattr(sources, "current_language", lambda: "de")
    monkeypatch.setattr(sources, "notebook_names", lambda: notebooks)
    links = re.findall(r'href="\.\./([\w/]+)\.html"', sources._english_links())
    assert links == ["api/index", "command_line", *[f"notebooks/{name}" for name in notebooks[:1]]]


def test_unchanged_pages_are_not_written_again(sources, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "source_files", lambda: [("a.md", "one"), ("b/c.md", "two")])
    sources.write_sources(tmp_path)
    before = (tmp_path / "a.md").stat().st_mtime_ns
    monkeypatch.setattr(sources, "source_files", lambda: [("a.md", "one")])
    sources.write_sources(tmp_path)
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    assert not (tmp_path / "b" / "c.md").exists()
