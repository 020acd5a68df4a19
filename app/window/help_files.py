"""The files of help pages: in the user's language, or in English with a note.

``resources/help/LANGUAGE/PAGE.md`` is a translation. ``of.json`` beside it has the digest of the English text
that was translated, so that an outdated translation shows a note.

A paragraph that is a link to a CSV file below ``resources/help`` is shown with the table of the file.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path

from semblance import resources
from semblance.core.language import ENGLISH, current_language, tr

#: The digests of the English texts that were translated: page -> digest.
DIGESTS_FILE = "of.json"
#: The page with what changed: a copy of CHANGELOG.md, in English only.
WHATS_NEW = "whats_new"
#: A paragraph that is a link to a table.
_TABLE_LINK = re.compile(r"^\[[^\]\n]+\]\(([\w/-]+\.csv)\)$", re.MULTILINE)


def english(page: str) -> str:
    """The English Markdown of ``page``; empty if it has no file."""
    return _read(folder_of(ENGLISH) / f"{page}.md")


def translated(page: str, language: str) -> str:
    """The translation of ``page``; empty if there is none."""
    return _read(folder_of(language) / f"{page}.md")


def text_of(page: str) -> str:
    """The Markdown of ``page`` to show."""
    if page == WHATS_NEW:
        return _whats_new()
    if current_language() == ENGLISH:
        return with_tables(english(page))
    text, original = translated(page, current_language()), english(page)
    if not text:
        return with_tables(_with_note(original, tr("This page is not translated yet."))) if original else ""
    if is_older(page, current_language()):
        text = _with_note(text, tr("The English page was changed since this was translated."))
    return with_tables(text)


def with_tables(text: str) -> str:
    """``text`` with the table of each CSV file below the paragraph that links to it."""
    return _TABLE_LINK.sub(lambda link: f"{link[0]}\n\n{_table(folder_of(ENGLISH) / link[1])}", text)


def is_older(page: str, language: str) -> bool:
    """Whether the English page was changed after it was translated."""
    return source_digests(language).get(page) != digest(page)


def source_digests(language: str) -> dict[str, str]:
    text = _read(folder_of(language) / DIGESTS_FILE)
    found: dict[str, str] = json.loads(text) if text else {}
    return found


def digest(page: str) -> str:
    """The digest of the current English page."""
    return hashlib.sha256(english(page).encode()).hexdigest()[:16]


def pages() -> list[str]:
    """Every English page that is a file, as ``name`` or ``folder/name``."""
    top = folder_of(ENGLISH)
    files = [file.relative_to(top).with_suffix("").as_posix() for file in sorted(top.rglob("*.md"))]
    return [page for page in files if page.partition("/")[0] not in languages()]


def languages() -> list[str]:
    """The languages with translated pages."""
    return sorted(file.parent.name for file in folder_of(ENGLISH).glob(f"*/{DIGESTS_FILE}"))


def _whats_new() -> str:
    text = resources.path("CHANGELOG.md").read_text(encoding="utf-8")
    title = tr("What's new")
    shown = re.sub(r"^## \[(.+)\]", r"## \1", text, flags=re.MULTILINE).replace(
        "# Changelog", f"# {title}", 1
    )
    if current_language() == ENGLISH:
        return shown
    return _with_note(shown, tr("This page is in English only."))


def _table(file: Path) -> str:
    """A CSV file as Markdown; columns of numbers are aligned to the right."""
    head, *rows = csv.reader(_read(file).splitlines())
    numbers = [all(re.fullmatch(r"[-<\d.,]*", row[column]) for row in rows) for column in range(len(head))]
    lines = [head, ["---:" if is_number else "---" for is_number in numbers], *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def _with_note(text: str, note: str) -> str:
    """``text`` with ``note`` below its title. Texts that follow the facts of a registry have no title."""
    if not text.startswith("# "):
        return f"*{note}*\n\n{text}"
    title, _, rest = text.partition("\n")
    return f"{title}\n\n*{note}*\n{rest}"


def folder_of(language: str) -> Path:
    top: Path = resources.path("help")
    return top if language == ENGLISH else top / language


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""
