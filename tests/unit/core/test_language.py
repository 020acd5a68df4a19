"""Texts and numbers in the user's language, and the catalogues of translations."""

from __future__ import annotations

import ast
import json
import os
import pickle
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from semblance.core import language
from semblance.core.errors import BadInput
from semblance.core.language import (
    ENGLISH,
    LANGUAGE_VARIABLE,
    LANGUAGES,
    as_lazy,
    format_number,
    join_texts,
    restored_text,
    stored_messages,
    to_english_number,
    tr,
    tr_lazy,
    tr_lazy_n,
    tr_n,
    tr_name,
    translate,
    visible,
)
from tests import translations
from tests.helpers.use_language import use_language

TOP = Path(__file__).resolve().parents[3]


GERMAN = """
msgid "Open"
msgstr "Öffnen"

msgid "{n} case"
msgid_plural "{n} cases"
msgstr[0] "{n} Fall"
msgstr[1] "{n} Fälle"

msgid "{b} of {a}"
msgstr "{a}: {b}"
"""
HEADER = """msgid ""
msgstr ""
"Language: de\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"
"Content-Type: text/plain; charset=utf-8\\n"

"""


def write_german(folder, texts=GERMAN):
    (folder / "de" / "LC_MESSAGES").mkdir(parents=True)
    (folder / "de" / "LC_MESSAGES" / "semblance.po").write_text(HEADER + texts, encoding="utf-8")


def compile_all(folder):
    return runpy.run_path(str(TOP / "packaging" / "build_resources.py"))["compile_translations"](folder)


@pytest.fixture
def german(monkeypatch, tmp_path):
    write_german(tmp_path)
    compile_all(tmp_path)
    monkeypatch.setattr(language, "translations_folder", lambda: tmp_path)
    with use_language("de"):
        yield


def test_texts_are_looked_up_and_filled_in(german):
    assert tr("Open") == "Öffnen"
    assert tr("{b} of {a}", a=1, b="x") == "1: x"
    assert [tr_n("{n} case", "{n} cases", n) for n in (1, 0, 2000)] == ["1 Fall", "0 Fälle", "2.000 Fälle"]


def test_what_has_no_translation_stays_english(german):
    assert tr("Close {name}", name="{x}") == "Close {x}"


def test_messages_of_core_are_english_and_shown_in_the_users_language(german):
    text = tr_lazy("{b} of {a}", a=1.5, b=tr_lazy_n("{n} case", "{n} cases", 2000))
    assert text == "2,000 cases of 1.5"
    assert translate(text) == "1,5: 2.000 Fälle"
    assert translate(pickle.loads(pickle.dumps(text))) == "1,5: 2.000 Fälle"
    assert json.loads(json.dumps(text)) == "2,000 cases of 1.5"
    redact = tr_lazy_n("{n} case", "{n} cases", 2).with_values({"n": "two"})
    assert (redact, translate(redact)) == ("two cases", "two Fälle")
    assert translate(join_texts([tr_lazy("Open"), "Open"], " {} ")) == "Öffnen {} Open"


def test_a_text_that_was_written_to_a_file_is_translated_by_its_message(german):
    made = join_texts([tr_lazy("{b} of {a}", a=1.5, b=tr_lazy_n("{n} case", "{n} cases", 2000)), "Open"])
    messages = json.loads(json.dumps(stored_messages([made, tr_lazy("Open"), "plain"])))
    assert list(messages) == [made]
    back = restored_text(str(made), messages)
    assert (back, translate(back)) == (made, "1,5: 2.000 Fälle, Open")
    assert translate(restored_text("Open", messages)) == "Öffnen"


def test_a_message_in_a_file_that_is_none_leaves_the_english_text():
    for change in [
        {"msgid": "{b.__class__} of {a}"},
        {"msgid": "{b!r} of {a}"},
        {"msgid": "{b:>999999} of {a}"},
        {"msgid": "{b:{a}} of {a}"},
        {"msgid": "{c} of {a}"},
        {"msgid": "{b of {a}"},
        {"msgid": 3},
        {"values": {"a": [1], "b": "x"}},
        {"values": {"a": {"msgid": "x"}, "b": "x"}},
        {"values": []},
        {"plural": None},
        {"msgid": "{b} of all {a}"},
    ]:
        made = tr_lazy("{b} of {a}", a=1, b="x")
        messages = {str(made): made.to_json() | change}
        back = restored_text(str(made), messages)
        assert (back, back.values) == (made, {}), change


def test_names_of_others_are_never_translated_unless_they_are_called_ours(german):
    assert translate("Open") == "Open"
    assert translate(as_lazy("Open")) == tr_name("Open") == "Öffnen"


def test_errors_are_raised_in_english_and_shown_translated(german):
    error = pickle.loads(pickle.dumps(BadInput(tr_lazy_n("{n} case", "{n} cases", 3), "Open")))
    assert (str(error), translate(error.message), translate(error.hint)) == (
        "3 cases Open",
        "3 Fälle",
        "Öffnen",
    )


def test_numbers_have_the_marks_of_the_language(german):
    assert [format_number(1234.5, ",.1f"), to_english_number("1.234,5"), to_english_number("0.5")] == [
        "1.234,5",
        "1234.5",
        "0.5",
    ]
    assert [to_english_number("1,234.5"), to_english_number("1,234,567")] == ["1234.5", "1234567"]
    assert tr("{x:.2f}", x=0.5) == "0,50"


def test_a_percentage_has_a_space_before_its_sign_wherever_it_is_shown(german):
    assert format_number(0.125, ".1%") == "12,5 %"
    assert tr("{share:.0%} of them", share=0.98) == "98 % of them"


def test_numbers_are_english_in_english():
    assert [
        format_number(1234.5, ",.1f"),
        to_english_number("1,5"),
        translate(tr_lazy("{x:.2f}", x=0.5)),
    ] == ["1,234.5", "1,5", "0.50"]


def test_braces_in_what_is_filled_in_are_text():
    assert tr("{a}", a="{b}") == "{b}"
    assert tr("plain {braces}") == "plain {braces}"


def test_an_unknown_language_is_english_and_a_missing_catalogue_leaves_english(monkeypatch, tmp_path):
    monkeypatch.setattr(language, "translations_folder", lambda: tmp_path)
    monkeypatch.setenv(LANGUAGE_VARIABLE, "xx")
    assert language.current_language() == ENGLISH
    with use_language("de"):
        assert [tr("Open"), tr_n("{n} case", "{n} cases", 2000), tr("")] == ["Open", "2.000 cases", ""]


def test_a_catalogue_is_compiled_again_only_where_it_changed(tmp_path):
    write_german(tmp_path)
    source = tmp_path / "de" / "LC_MESSAGES" / "semblance.po"
    os.utime(source, (1e9, 1e9))
    compiled = source.with_suffix(".mo")
    assert [compile_all(tmp_path), compile_all(tmp_path)] == [[compiled], []]
    os.utime(source, (4e9, 4e9))
    assert compile_all(tmp_path) == [compiled]
    assert sorted(path.name for path in source.parent.iterdir()) == ["semblance.mo", "semblance.po"]


def test_processes_started_later_speak_it_too():
    with use_language("de"):
        ended = subprocess.run(
            [
                sys.executable,
                "-c",
                "from semblance.core.language import current_language; print(current_language())",
            ],
            cwd=TOP,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stdout.strip() == "de"


#: What ``core`` hands to people in these is never a bare text.
HOLD_TEXTS = {
    "Rejected",
    "Recognition",
    "Finding",
    "Fact",
    "Share",
    "Section",
    "Failure",
    "Agreement",
    "Places",
}


@pytest.mark.slow
def test_core_marks_every_user_text_for_translation():
    for file in sorted((TOP / "core").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in HOLD_TEXTS:
                for text in [*node.args, *(one.value for one in node.keywords)]:
                    literal = "".join(one for one in literals(text) if isinstance(text, BARE))
                    where = f"{file.relative_to(TOP)}:{node.lineno}"
                    assert not re.search(r"[A-Za-z]{2}.* [A-Za-z]", literal), f"{where}: is printed by say()"


BARE = (ast.Constant, ast.JoinedStr)


def literals(text: ast.expr) -> list[str]:
    parts = (one.value for one in ast.walk(text) if isinstance(one, ast.Constant))
    return [part for part in parts if isinstance(part, str)]


@pytest.mark.slow
@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != ENGLISH])
def test_a_catalogue_is_complete_and_holds_nothing_else(code):
    assert translations.problems(translations.read(code), translations.texts()) == {}


def test_problems_of_a_catalogue_are_found():
    source_texts = ["Open", "{b} of {a}", ("{n} case", "{n} cases"), "Close", ("one of {n}", "{n} of {n}")]
    catalogue = Catalog(locale="de")
    catalogue.add("Open", "Öffnen", flags=["fuzzy"])
    catalogue.add("{b} of {a}", "{b}")
    catalogue.add(("{n} case", "{n} cases"), ("{n} Fall",))
    catalogue.add(("one of {n}", "{n} of {n}"), ("eins", "{n}"))
    catalogue.add("Gone", " ")
    assert translations.problems(catalogue, source_texts) == {
        "missing": ["Close"],
        "no longer used": ["Gone"],
        "fuzzy": ["Open"],
        "other plural forms": [("{n} case", "{n} cases")],
        "other places": [("one of {n}", "{n} of {n}"), "{b} of {a}"],
    }


def test_an_update_keeps_translations_and_proposes_those_of_reworded_texts(monkeypatch, tmp_path):
    monkeypatch.setattr(translations, "FOLDER", tmp_path)
    write_german(tmp_path, 'msgid "Open the library"\nmsgstr "Bibliothek öffnen"\n\nmsgid "x"\nmsgstr "y"\n')
    source_texts = ["Open the library…", "{n:,} % done"]
    translations.update("de", source_texts)
    catalogue = translations.read("de")
    assert translations.problems(catalogue, source_texts)["fuzzy"] == ["Open the library…"]
    assert "python-format" not in translations.source_of("de").read_text(encoding="utf-8")
    assert catalogue["Open the library…"].string == "Bibliothek öffnen"


def test_numbered_names_are_counted_so_that_both_differ():
    assert language.count_label(7, "malignant") == "7 malignant"
    assert language.count_label(10, "2") == "10 × 2"


def test_hidden_characters_of_names_are_shown():
    name = "benign\n\u202egnp.exe\u2066\x1b"
    shown = r"benign\n\u202egnp.exe\u2066\x1b"
    assert tr_lazy("'{name}' is damaged.", name=name) == f"'{shown}' is damaged."
    assert tr("{name}", name="a\u200fb\nc") == "a\\u200fb\nc"
    assert tr_lazy("{a}", a=tr_lazy("two\nlines")) == "two\nlines"
    assert visible("胸部 صورة ñ") == "胸部 صورة ñ"
