from __future__ import annotations

from semblance.app.shell.actions import CommandEntry
from semblance.app.window.palette import matches


def entry(text: str, category: str = "View", *, enabled: bool = True) -> CommandEntry:
    return CommandEntry(text, category, lambda: None, enabled=enabled)


def texts(entries: list[CommandEntry], terms: str) -> list[str]:
    return [match.entry.text for match in matches(entries, terms)]


def test_starts_of_words_come_before_insides() -> None:
    entries = [entry("Extract features…"), entry("Pause training"), entry("Train")]
    assert texts(entries, "tr") == ["Train", "Pause training", "Extract features…"]


def test_first_letters_of_words_find_too() -> None:
    assert texts([entry("Open library…"), entry("Close library")], "ol") == ["Open library…"]


def test_every_word_must_be_found_in_any_order() -> None:
    entries = [entry("Save the plots…"), entry("Save as")]
    assert texts(entries, "plot save") == ["Save the plots…"]
    assert texts(entries, "save zebra") == []


def test_stop_words_exclude_no_command() -> None:
    entries = [entry("Save search…"), entry("Save the plots…"), entry("Search with the whole image")]
    assert texts(entries, "save the search") == ["Save search…"]
    assert texts(entries, "an image in the search") == ["Search with the whole image"]
    assert texts(entries, "plots of the save") == ["Save the plots…"]
    [match] = matches([entry("Tan the hide")], "an hide the")
    assert match.letters == set(range(4, 12)) - {7}
    assert texts(entries, "the") == ["Save the plots…", "Search with the whole image"]


def test_synonyms_match_after_command_names() -> None:
    entries = [
        CommandEntry("Quit", "File", lambda: None, synonyms="exit leave"),
        CommandEntry("Write a report…", "File", lambda: None, synonyms="pdf export"),
        CommandEntry("Export the metric…", "Metric", lambda: None),
    ]
    assert texts(entries, "exit") == ["Quit"]
    assert texts(entries, "xit") == []
    assert texts(entries, "export") == ["Export the metric…", "Write a report…"]
    assert texts(entries, "pdf report") == ["Write a report…"]
    [match] = matches(entries, "report as a pdf")
    assert {match.entry.text[at] for at in match.letters} == set("reporta")


def test_the_category_finds_as_well() -> None:
    entries = [entry("Find a case", "Edit"), entry("Edit presets", "View")]
    assert texts(entries, "edit") == ["Edit presets", "Find a case"]


def test_found_letters_are_reported() -> None:
    [match] = matches([entry("Extract")], "TR")
    assert match.letters == {2, 3}


def test_nothing_typed_lists_all_in_their_order_but_what_cannot_run_last() -> None:
    entries = [entry("b", enabled=False), entry("z"), entry("a")]
    assert texts(entries, "  ") == ["z", "a", "b"]
