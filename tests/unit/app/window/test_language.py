"""The command that chooses the language."""

from __future__ import annotations

import pytest

from semblance.app.shell.settings import Settings
from semblance.app.window.main_window import MainWindow
from semblance.core import language
from semblance.core.language import ENGLISH, LANGUAGES, tr_name
from tests.helpers.use_language import use_language


@pytest.fixture
def window(qtbot):
    window = MainWindow()
    qtbot.addWidget(window)
    yield window
    window.close()


def test_it_cycles_through_all_languages_and_is_saved_for_the_next_start(window):
    assert window.context.settings.language == ENGLISH
    languages = []
    for _ in LANGUAGES:
        window.context.actions["language"].trigger()
        languages.append(window.context.settings.language)
        window.context.settings.save()
        assert Settings().language == languages[-1]
        assert LANGUAGES[languages[-1]] in window.context.messages.history[-1].what
    assert sorted(languages) == sorted(LANGUAGES)
    assert languages[-1] == ENGLISH


def test_what_is_shown_stays_as_it_is_until_then(window):
    before = window.top.menu["File"].title()
    window.context.actions["language"].trigger()
    assert window.context.settings.language == "de"
    assert language.current_language() == ENGLISH
    assert window.top.menu["File"].title() == before == "&File"


def test_its_name_is_understood_in_every_language():
    for code, own in LANGUAGES.items():
        with use_language(code):
            text = tr_name("Switch language (Deutsch / English)")
        assert all(name in text for name in LANGUAGES.values()), own
