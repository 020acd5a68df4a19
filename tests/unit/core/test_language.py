"""Texts are looked up, filled in, and translated whole."""

from __future__ import annotations

import ast
import json
import pickle
import re
import string
import subprocess
import sys
from pathlib import Path

import pytest

from semblance.core import language
from semblance.core.errors import BadInput
from semblance.core.language import (
    ENGLISH,
    LANGUAGE_VARIABLE,
    LANGUAGES,
    as_lazy,
    format_number,
    join_texts,
    to_english_number,
    tr,
    tr_lazy,
    tr_lazy_n,
    tr_n,
    tr_name,
    translate,
)
from tests.helpers.speaking import speaking

TOP = Path(__file__).resolve().parents[3]


@pytest.fixture
def german(monkeypatch, tmp_path):
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "a.json").write_text(
        json.dumps(
            {"Open": "Öffnen", "{n} case": "{n} Fall", "{n} cases": "{n} Fälle", "{b} of {a}": "{a}: {b}"}
        )
    )
    monkeypatch.setattr(language, "folder", lambda: tmp_path)
    with speaking("de"):
        yield


def forget():
    for one in (language.table, language._forms, language._recognised):
        one.cache_clear()


def test_texts_are_looked_up_and_filled_in(german):
    assert tr("Open") == "Öffnen"
    assert tr("{b} of {a}", a=1, b="x") == "1: x"
    assert [tr_n("{n} case", "{n} cases", n) for n in (1, 0, 2000)] == ["1 Fall", "0 Fälle", "2.000 Fälle"]


def test_what_has_no_translation_stays_english(german):
    assert tr("Close {name}", name="{x}") == "Close {x}"


def test_core_says_it_in_english_and_it_is_shown_in_the_users_language(german):
    said = tr_lazy("{b} of {a}", a=1.5, b=tr_lazy_n("{n} case", "{n} cases", 2000))
    assert said == "2,000 cases of 1.5"
    assert translate(said) == "1,5: 2.000 Fälle"
    assert translate(pickle.loads(pickle.dumps(said))) == "1,5: 2.000 Fälle"
    assert json.loads(json.dumps(said)) == "2,000 cases of 1.5"
    assert translate(join_texts([tr_lazy("Open"), "Open"], " {} ")) == "Öffnen {} Open"


def test_names_of_others_are_never_translated_unless_they_are_called_ours(german):
    assert translate("Open") == "Open"
    assert translate(as_lazy("Open")) == tr_name("Open") == "Öffnen"


def test_kept_texts_are_known_by_their_form(german):
    assert tr_name("1,200 cases") == "1.200 Fälle"
    assert tr_name("12 casesx") == "12 casesx"


def test_errors_are_said_in_english_and_shown_otherwise(german):
    error = pickle.loads(pickle.dumps(BadInput(tr_lazy("{n} cases", n=3), "Open")))
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


def test_numbers_are_english_in_english():
    assert [
        format_number(1234.5, ",.1f"),
        to_english_number("1,5"),
        translate(tr_lazy("{x:.2f}", x=0.5)),
    ] == [
        "1,234.5",
        "1,5",
        "0.50",
    ]


def test_braces_in_what_is_filled_in_are_text():
    assert tr("{a}", a="{b}") == "{b}"
    assert tr("plain {braces}") == "plain {braces}"


def test_english_needs_no_table(monkeypatch):
    monkeypatch.setenv(LANGUAGE_VARIABLE, "xx")
    forget()
    assert language.current_language() == ENGLISH
    assert language.table() == {}


def test_processes_started_later_speak_it_too():
    with speaking("de"):
        told = subprocess.run(
            [sys.executable, "-c", "from semblance.core.language import chosen; print(chosen())"],
            cwd=TOP,
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == "de"


#: Calls whose literal arguments are texts -> how many of the first.
TAKES = {"tr": 1, "tr_lazy": 1, "tr_n": 2, "tr_lazy_n": 2, "say": 1, "say_n": 2}
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
ERRORS = {"SemblanceError", "BadInput", "BadArguments", "WorkerEnded", "Away"}


def calls() -> dict[str, str]:
    """Every text that is said -> where it stands."""
    found = {}

    def take(text: ast.expr, where: str) -> None:
        assert isinstance(text, ast.Constant), f"{where}: the text has to stand in the call"
        assert isinstance(text.value, str), where
        found[text.value] = where

    for file in sorted([*(TOP / "app").rglob("*.py"), *(TOP / "core").rglob("*.py")]):
        if file.name == "language.py":
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        ours = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "semblance.core.language"
            for alias in node.names
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            where = f"{file.relative_to(TOP)}:{node.lineno}"
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if isinstance(node.func, ast.Name) and name in TAKES and name in ours:
                for text in node.args[: TAKES[name]]:
                    take(text, where)
            elif where.startswith("core") and (
                name in ERRORS or (name == "progress" and len(node.args) == 3)
            ):
                for text in node.args if name in ERRORS else node.args[2:]:
                    assert not isinstance(text, ast.JoinedStr), (
                        f"{where}: a text with places is said by say()"
                    )
                    if isinstance(text, ast.Constant) and text.value:
                        take(text, where)
    for file in sorted((TOP / "core").rglob("*.html")):
        for match in re.finditer(r'\b_\("([^"]+)"', file.read_text(encoding="utf-8")):
            found[match[1]] = str(file.relative_to(TOP))
    return {text: where for text, where in found.items() if words(text)}


def test_core_hands_out_no_bare_text_for_people():
    for file in sorted((TOP / "core").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in HOLD_TEXTS:
                for text in [*node.args, *(one.value for one in node.keywords)]:
                    told = "".join(one for one in literals(text) if isinstance(text, BARE))
                    where = f"{file.relative_to(TOP)}:{node.lineno}"
                    assert not re.search(r"[A-Za-z]{2}.* [A-Za-z]", told), f"{where}: is said by say()"


BARE = (ast.Constant, ast.JoinedStr)


def literals(text: ast.expr) -> list[str]:
    parts = (one.value for one in ast.walk(text) if isinstance(one, ast.Constant))
    return [part for part in parts if isinstance(part, str)]


def words(text: str) -> bool:
    """Whether there is anything to translate beside the places."""
    return any(any(map(str.isalpha, piece)) for piece, *_ in string.Formatter().parse(as_form(text)) if piece)


def as_form(text: str) -> str:
    """A text without places may hold braces that are none."""
    try:
        list(string.Formatter().parse(text))
    except ValueError:
        return text.replace("{", "{{").replace("}", "}}")
    return text


def registered() -> dict[str, str]:
    """What learners, extractors, kinds and protocols say of themselves -> whose it is."""
    from semblance.core.evaluation.protocols.registry import protocols
    from semblance.core.features.lung_texture.definitions import DEFINITIONS as LUNG
    from semblance.core.features.mass.table import FEATURES as MASS
    from semblance.core.features.polyp.definitions import definitions as polyp
    from semblance.core.features.registry import extractors
    from semblance.core.library.importers.registry import importers
    from semblance.core.metrics.registry import learners

    found = {}
    for one in (*learners(), *extractors(), *importers(), *protocols()):
        for text in (one.title, one.summary):
            found[text] = one.title
        for parameter in getattr(one, "parameters", ()):
            found |= dict.fromkeys([parameter.meaning, parameter.title], f"{one.title}, {parameter.name}")
    # Formulas are the same in every language; names of one feature at several scales have a form.
    for feature in (*LUNG, *MASS, *polyp()):
        name = re.sub(", at . mm$", "", feature.name)
        name = "" if name.startswith("density") else name
        found |= dict.fromkeys(filter(words, (name, feature.group, feature.unit)), feature.name)
    return found


def translations(code: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for file in sorted((language.translations_folder() / code).glob("*.json")):
        part = json.loads(file.read_text(encoding="utf-8"))
        both = {text for text in set(part) & set(texts) if part[text] != texts[text]}
        assert not both, f"{file.name} translates otherwise: {sorted(both)}"
        texts.update(part)
    return texts


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(as_form(text)) if name}


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != ENGLISH])
def test_a_translation_is_complete_and_holds_nothing_else(code):
    wanted, have = calls() | registered(), translations(code)
    assert {text: wanted[text] for text in wanted if not have.get(text, "").strip()} == {}
    assert sorted(set(have) - set(wanted)) == []
    assert {text: have[text] for text in wanted if fields(text) != fields(have[text])} == {}


def test_what_is_called_by_a_number_is_counted_so_that_both_are_told_apart():
    assert language.count_label(7, "malignant") == "7 malignant"
    assert language.count_label(10, "2") == "10 × 2"
