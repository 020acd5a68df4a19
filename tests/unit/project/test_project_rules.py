"""Rules of the project that no other tool checks."""

from __future__ import annotations

from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
ROOTS = ("core", "app", "resources", "tests")


def folders_with_code() -> list[Path]:
    files = (file for root in ROOTS for file in (TOP / root).rglob("*.py"))
    return sorted({file.parent for file in files})


def test_every_folder_with_code_of_the_program_is_a_package():
    """Import contracts, types and the wheel pass over folders without ``__init__.py`` in silence."""
    program = [folder for folder in folders_with_code() if not folder.is_relative_to(TOP / "tests")]
    assert [str(folder) for folder in program if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("root", ["core", "app"])
def test_every_package_says_in_a_sentence_what_belongs_there(root):
    silent = [
        str(file.relative_to(TOP))
        for file in sorted((TOP / root).rglob("__init__.py"))
        if not file.read_text(encoding="utf-8").startswith('"""')
    ]
    assert silent == []
