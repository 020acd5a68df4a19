"""Every path that the documents for contributors name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "DECISIONS.md")
#: Folders of the repository; what begins otherwise is a command, an option or a file that is made.
FOLDERS = ("app", "core", "resources", "tests", "packaging")


def named_paths(text: str) -> set[str]:
    """Paths in code spans and in links, those with a placeholder left out."""
    found = re.findall(r"`([\w./-]+)`|\]\(([^)#:]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return {
        path
        for path in (span or link for span, link in found)
        if path.split("/")[0] in FOLDERS
        and "/" in path
        and not re.search(r"[A-Z]{3,}", path.replace("LC_MESSAGES", ""))
    } | {link for _, link in found if link.endswith(".md")}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_named_exists(document):
    paths = named_paths((ROOT / document).read_text(encoding="utf-8"))
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_there_are_paths_to_check():
    assert len(named_paths((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))) > 30


def lives() -> list[tuple[set[str], set[str]]]:
    """The files and the names of definitions in each step of the sections "Life of ..."."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## Life of .*?(?=^## )", text, flags=re.DOTALL | re.MULTILINE)
    steps = [step for section in sections for step in re.split(r"\n(?=\d+\. )", section)[1:]]
    return [
        (
            {path for path in named_paths(step) if path.endswith(".py")},
            {name.split(".")[-1] for name in re.findall(r"`([A-Za-z]\w*(?:\.\w+)?)`", step)},
        )
        for step in steps
    ]


def test_every_definition_in_the_life_of_something_is_in_a_file_of_its_step():
    lacking = [
        (sorted(files), name)
        for files, names in lives()
        for name in sorted(names)
        if not any(
            re.search(rf"^\s*(?:def|class) {name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
            for file in files
        )
    ]
    assert sum(len(names) for _, names in lives()) > 10
    assert lacking == []
