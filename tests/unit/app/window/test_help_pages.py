from __future__ import annotations

import re

import pytest

from semblance import resources
from semblance.app.shell.actions import COMMANDS
from semblance.app.window import help_files, help_pages
from semblance.core.evaluation.protocols.registry import protocols
from semblance.core.features.registry import extractors
from semblance.core.library.importers.registry import importers
from semblance.core.metrics.registry import learners

PAGES = [entry.page for _, entries in help_pages.contents() for entry in entries]


def test_every_file_is_in_the_contents_once():
    files = set(help_files.pages())
    assert len(files) > 30
    assert len(PAGES) == len(set(PAGES))
    assert files <= set(PAGES)


def test_everything_in_the_registries_has_a_page_with_its_use_and_limits():
    named = [
        *(f"learners/{one.name}" for one in learners()),
        *(f"extractors/{one.name}" for one in extractors()),
        *(f"kinds/{one.kind}" for one in importers()),
        *(f"protocols/{one.name}" for one in protocols()),
    ]
    assert set(named) <= set(PAGES)
    for page in named:
        text = help_pages.text_of(page)
        assert re.search(r"^# \S", text), page
        assert re.search(r"^## Limits\n\n\S", text, re.MULTILINE), page
        assert re.search(
            r"^## (When to use it|What it looks like|How to read it)\n\n\S", text, re.MULTILINE
        ), page


def test_parameters_stand_on_the_page_with_their_defaults():
    text = help_pages.text_of("learners/bdm_v")
    for learner in learners():
        if learner.name == "bdm_v":
            for parameter in learner.parameters:
                assert f"(`{parameter.name}`) | {parameter.default}" in text


@pytest.mark.parametrize("page", ["no such page", "", "../../pyproject", "\0", "learners/../glossary"])
def test_where_there_is_no_page_the_words_are_shown(page):
    assert not help_pages.has(page)
    assert help_pages.text_of(page) == help_pages.text_of("glossary")


def test_titles_are_found_before_texts():
    found = help_pages.find("metricboost")
    assert found[0].page == "learners/metricboost"
    assert len(found) > 1
    assert all("metricboost" in help_pages.text_of(one.page).casefold() for one in found)


def test_all_terms_must_match_and_prefixes_are_enough():
    assert "privacy" in [one.page for one in help_pages.find("pati nam")]
    assert help_pages.find("patient xyzzyx") == []
    assert help_pages.find("  ") == []


def test_the_excerpt_of_a_search_hit_contains_the_word():
    found = list(help_pages.find("held-out"))
    assert found
    for one in found:
        assert "held-out" in one.excerpt.casefold()
        assert len(one.excerpt) < 130


def test_every_command_the_pages_name_is_in_that_menu_under_that_name_and_key():
    commands = {(command.menu, command.text): command.shortcut for command in COMMANDS}
    menus = {menu for menu, _ in commands}
    # A page says in which workspace a menu is that Read does not show.
    entry = re.compile(r"\*(?:Research > (?=Refine|Metric))?(\w+) > ([^*]+)\*(?: \(([^)]+)\))?")
    for page in PAGES:
        text = help_pages.text_of(page)
        for menu, name, key in entry.findall(" ".join(text.split())):
            if menu in menus:
                assert (menu, name) in commands, (page, menu, name)
                assert not key.startswith("Ctrl") or key == commands[menu, name], (page, name, key)


def test_every_image_of_a_page_is_there_and_has_words():
    for page in PAGES:
        for words, image in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", help_pages.text_of(page)):
            assert words.strip()
            assert resources.path("help").joinpath(image).is_file(), (page, image)
