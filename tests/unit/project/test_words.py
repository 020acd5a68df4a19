"""Names and help pages use the words of the field, not private ones."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
#: Private words that names of the program had, and the plain ones.
PLAIN_NAMES = {
    "desk": "loaded metric",
    "deck": "case model",
    "picture": "image",
    "pictures": "images",
    "told": "summary",
    "said": "message",
    "eraser": "redactor",
    "mend": "repair",
    "mending": "repair",
    "upkeep": "maintenance",
    "salvage": "recover",
    "warming": "preload",
    "rail": "sidebar",
    "wording": "text",
    "lettering": "label",
    "house": "structure",
    "room": "package",
}
#: Private words that help pages had, and the plain ones.
PLAIN_PHRASES = {
    "picture": "image",
    "look-alike": "different diagnosis nearby",
    "exam object": "image",
    "thumbs up": "more like this",
    "never seen": "not used for training",
    "seen in training": "training data",
    "look it over": "verify",
}


def words_of(name: str) -> list[str]:
    """The words of a name in snake case or camel case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")


@pytest.mark.parametrize("root", ["app", "core"])
def test_names_of_the_program_are_plain_words(root):
    found = []
    for file in sorted((TOP / root).rglob("*.py")):
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        names = [file.stem, *(node.name for node in nodes if isinstance(node, kinds))]
        found += [
            f"{file.relative_to(TOP)}: {name} (write {PLAIN_NAMES[word]})"
            for name in names
            for word in words_of(name)
            if word in PLAIN_NAMES
        ]
    assert found == []


def test_help_pages_have_no_private_words():
    found = [
        f"{file.name}: {phrase} (write {PLAIN_PHRASES[phrase]})"
        for file in sorted((TOP / "resources" / "help").glob("**/*.md"))
        if "de" not in file.relative_to(TOP / "resources" / "help").parts
        for phrase in PLAIN_PHRASES
        if re.search(rf"\b{phrase}s?\b", file.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert found == []
