"""Help pages in the user's language, and the note on those that are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from semblance.app.window import help_files
from tests import help_translations
from tests.helpers.use_language import use_language

PAGES = [(code, page) for code in help_files.languages() for page in help_files.source_digests(code)]


@pytest.fixture
def pages(german, tmp_path, monkeypatch):
    """A folder of two English pages, in a German program."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(f"# Page {name}\n\nText.\n", encoding="utf-8")
    monkeypatch.setattr(help_files, "folder_of", lambda code: tmp_path if code == "en" else tmp_path / code)
    monkeypatch.setattr(help_translations.resources, "path", lambda _name: tmp_path)
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "one.md").write_text("# Seite eins\n\nText.\n", encoding="utf-8")
    help_translations.note("de", ["one"])
    return tmp_path


def test_the_translation_is_shown_where_there_is_one(pages):
    assert help_files.text_of("one") == "# Seite eins\n\nText.\n"


def test_a_page_without_says_so_below_its_title(pages):
    assert re.fullmatch(r"# Page two\n\n\*[^*]+\*\n\nText\.\n", help_files.text_of("two"))


def test_an_outdated_translation_shows_a_notice(pages):
    (pages / "one.md").write_text("# Page one\n\nOther text.\n", encoding="utf-8")
    assert re.fullmatch(r"# Seite eins\n\n\*[^*]+\*\n\nText\.\n", help_files.text_of("one"))


def test_english_is_shown_as_it_is(pages):
    with use_language("en"):
        assert help_files.text_of("two") == "# Page two\n\nText.\n"
        assert help_files.text_of("none") == ""


def test_the_command_distinguishes_them(pages, capsys, monkeypatch):
    (pages / "three.md").write_text("# Page three\n", encoding="utf-8")
    (pages / "de" / "three.md").write_text("# Seite drei\n", encoding="utf-8")
    assert help_translations.states("de") == {
        "translated": ["one"],
        "older than the English page": ["three"],
        "missing": ["two"],
    }
    monkeypatch.setattr("sys.argv", ["translated", "--done", "three"])
    help_translations.main()
    assert "translated: 2 pages" in capsys.readouterr().out


def test_a_translation_has_the_links_images_and_headings_of_its_page():
    assert len(PAGES) > 100
    for code, page in PAGES:
        original, text = help_files.english(page), help_files.translated(page, code)
        assert original, f"{page} has no English page any more"
        assert text, f"{page} is noted and not there"
        if help_files.is_older(page, code):
            continue
        # A heading is linked to in its own language: test_docs.py finds links to headings that are not there.
        for pattern in (r"\]\(([^)#]*)", r"`([^`\n]+)`"):
            assert sorted(re.findall(pattern, text)) == sorted(re.findall(pattern, original)), page
        for pattern in (r"^#+ ", r"^\|", r"^- ", r"^\d\. "):
            count = [len(re.findall(pattern, one, re.MULTILINE)) for one in (text, original)]
            assert count[0] == count[1], (page, pattern)


def test_every_translated_file_is_noted():
    for code in help_files.languages():
        files = {
            file.relative_to(help_files.folder_of(code)).with_suffix("").as_posix()
            for file in Path(help_files.folder_of(code)).rglob("*.md")
        }
        assert files == set(help_files.source_digests(code))
