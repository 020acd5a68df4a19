"""Texts are looked up, filled in, and translated whole."""

from __future__ import annotations

import ast
import json
import string
import subprocess
import sys
from pathlib import Path

import pytest

from core import language
from core.language import ENGLISH, LANGUAGES, VARIABLE, choose, tr, tr_n

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
    monkeypatch.setenv(VARIABLE, "de")
    language.table.cache_clear()
    yield
    language.table.cache_clear()


def test_texts_are_looked_up_and_filled_in(german):
    assert tr("Open") == "Öffnen"
    assert tr("{b} of {a}", a=1, b="x") == "1: x"
    assert [tr_n("{n} case", "{n} cases", n) for n in (1, 0, 2000)] == ["1 Fall", "0 Fälle", "2,000 Fälle"]


def test_what_has_no_translation_stays_english(german):
    assert tr("Close {name}", name="{x}") == "Close {x}"


def test_braces_in_what_is_filled_in_are_text():
    assert tr("{a}", a="{b}") == "{b}"
    assert tr("plain {braces}") == "plain {braces}"


def test_english_needs_no_table(monkeypatch):
    monkeypatch.setenv(VARIABLE, "xx")
    language.table.cache_clear()
    assert language.chosen() == ENGLISH
    assert language.table() == {}


def test_processes_started_later_speak_it_too(monkeypatch):
    monkeypatch.setenv(VARIABLE, ENGLISH)
    choose("de")
    try:
        told = subprocess.run(
            [sys.executable, "-c", "from core.language import chosen; print(chosen())"],
            cwd=TOP,
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == "de"
    finally:
        choose(ENGLISH)


def calls() -> dict[str, str]:
    """Every text in a ``tr`` call -> where it stands."""
    found = {}
    for file in sorted([*(TOP / "app").rglob("*.py"), *(TOP / "core").rglob("*.py")]):
        if file.name == "language.py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in ("tr", "tr_n"):
                continue
            for text in node.args[: 2 if node.func.id == "tr_n" else 1]:
                where = f"{file.relative_to(TOP)}:{node.lineno}"
                assert isinstance(text, ast.Constant), f"{where}: the text has to stand in the call"
                assert isinstance(text.value, str), where
                found[text.value] = where
    return found


def translations(code: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for file in sorted((language.folder() / code).glob("*.json")):
        part = json.loads(file.read_text(encoding="utf-8"))
        both = {text for text in set(part) & set(texts) if part[text] != texts[text]}
        assert not both, f"{file.name} translates otherwise: {sorted(both)}"
        texts.update(part)
    return texts


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != ENGLISH])
def test_a_translation_is_complete_and_holds_nothing_else(code):
    wanted, have = calls(), translations(code)
    assert {text: wanted[text] for text in wanted if not have.get(text, "").strip()} == {}
    assert sorted(set(have) - set(wanted)) == []
    assert {text: have[text] for text in wanted if fields(text) != fields(have[text])} == {}
