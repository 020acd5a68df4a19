"""Which file of a help page is shown: the user's language's, or the English one and a word about that.

``resources/help/LANGUAGE/PAGE.md`` is a translation; ``of.json`` beside them tells which English text each
was made from, so that a page that was left behind says so itself.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from semblance import resources
from semblance.core.language import ENGLISH, current_language, tr

#: What the translations of a language were made from: page -> digest.
DIGESTS_FILE = "of.json"


def english(page: str) -> str:
    """The English Markdown of ``page``; empty where it has no file."""
    return _read(_folder(ENGLISH) / f"{page}.md")


def translated(page: str, language: str) -> str:
    """Its translation; empty where there is none."""
    return _read(_folder(language) / f"{page}.md")


def text_of(page: str) -> str:
    """What is shown of the file of ``page``."""
    if current_language() == ENGLISH:
        return english(page)
    text, original = translated(page, current_language()), english(page)
    if not text:
        return _with_note(original, tr("This page is not translated yet.")) if original else ""
    if is_older(page, current_language()):
        return _with_note(text, tr("The English page was changed since this was translated."))
    return text


def is_older(page: str, language: str) -> bool:
    """Whether the English page is no longer the one the translation was made from."""
    return source_digests(language).get(page) != digest(page)


def source_digests(language: str) -> dict[str, str]:
    text = _read(_folder(language) / DIGESTS_FILE)
    found: dict[str, str] = json.loads(text) if text else {}
    return found


def digest(page: str) -> str:
    """Of the English page as it is now."""
    return hashlib.sha256(english(page).encode()).hexdigest()[:16]


def pages() -> list[str]:
    """Every English page that is a file, as ``name`` or ``folder/name``."""
    top = _folder(ENGLISH)
    files = [file.relative_to(top).with_suffix("").as_posix() for file in sorted(top.rglob("*.md"))]
    return [page for page in files if page.partition("/")[0] not in languages()]


def languages() -> list[str]:
    """Those that have translated pages."""
    return sorted(file.parent.name for file in _folder(ENGLISH).glob(f"*/{DIGESTS_FILE}"))


def _with_note(text: str, note: str) -> str:
    """A page of the contents begins with its title; what follows facts of a registry has none."""
    if not text.startswith("# "):
        return f"*{note}*\n\n{text}"
    title, _, rest = text.partition("\n")
    return f"{title}\n\n*{note}*\n{rest}"


def _folder(language: str) -> Path:
    top: Path = resources.path("help")
    return top if language == ENGLISH else top / language


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""
