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
