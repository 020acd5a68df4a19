"""The window shows no command and no option of the terminal."""

from __future__ import annotations

import re

import pytest

from semblance.app.shell.command_texts import for_window, use_for_window
from semblance.core.errors import BadInput
from semblance.core.language import LANGUAGES, set_display, tr_lazy, translate
from tests.translations import texts, translated_texts

#: Texts that only the terminal and the HTTP interface show.
OF_THE_TERMINAL = ("app/cli/", "app/http_api/", "app/__main__.py")
COMMAND = re.compile(r"\bsemblance [a-z]|(?<![\w-])--[a-z]|\b(?:pip|chmod) ")


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    """Texts of the window -> where they are."""
    return {
        one: where
        for text, where in texts().items()
        if not where.startswith(OF_THE_TERMINAL)
        for one in ((text,) if isinstance(text, str) else text)
    }


def test_a_text_of_the_window_names_none(shown):
    assert {
        text: where for text, where in shown.items() if where.startswith("app/") and COMMAND.search(text)
    } == {}


def test_what_core_says_of_them_is_said_otherwise(shown):
    for text, where in shown.items():
        assert not COMMAND.search(for_window(text)), (where, text, for_window(text))


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != "en"])
def test_it_is_in_translations_too(shown, language):
    for text, other in translated_texts(language).items():
        if text in shown:
            assert not COMMAND.search(for_window(other)), (other, for_window(other))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Repair it first: semblance doctor LIB --repair, or File > Verify library….",
            "Repair it first: File > Verify library…, or File > Verify library….",
        ),
        (
            "The rest can be used. File > Verify library… (`semblance doctor LIB --repair`) repairs them.",
            "The rest can be used. File > Verify library… repairs them.",
        ),
        ("Repair (--repair) removes them.", "Repair removes them."),
        ("Give the spacing in mm: --set spacing=1,1,1.", "Give the spacing in mm: spacing=1,1,1."),
        ("Leave --repeats out.", "Leave 'repeats' out."),
        ("Choose a file made by `semblance backup`.", "Choose a file made by File > Back up library…."),
        ("scan--repair.png could not be read.", "scan--repair.png could not be read."),
    ],
)
def test_the_sentence_stays_one(text, expected):
    assert for_window(text) == expected


def test_only_the_window_changes_them_and_never_a_name():
    error = BadInput(
        tr_lazy("{name} is damaged.", name="a --b.png"), "Repair it (`semblance doctor LIB --repair`)."
    )
    use_for_window()
    try:
        assert translate(str(error)) == "a --b.png is damaged. Repair it."
        assert error.hint == "Repair it (`semblance doctor LIB --repair`)."
    finally:
        set_display(None)
    assert translate(str(error)).endswith("(`semblance doctor LIB --repair`).")
