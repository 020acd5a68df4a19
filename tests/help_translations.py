"""List the help pages that are translated, whose translation is out of date, and that are not translated.

``--done PAGE ...`` records that the translations of these pages are up to date.
"""

from __future__ import annotations

import argparse
import json

from semblance import resources
from semblance.app.window import help_files
from semblance.core.language import ENGLISH, LANGUAGES


def states(language: str) -> dict[str, list[str]]:
    """ "translated", "older than the English page" and "missing" -> the pages."""
    found: dict[str, list[str]] = {"translated": [], "older than the English page": [], "missing": []}
    for page in help_files.pages():
        if not help_files.translated(page, language):
            found["missing"].append(page)
        elif help_files.is_older(page, language):
            found["older than the English page"].append(page)
        else:
            found["translated"].append(page)
    return found


def note(language: str, pages: list[str]) -> None:
    """Record that these translations are of the English pages as they are now."""
    made = help_files.source_digests(language) | {page: help_files.digest(page) for page in pages}
    file = resources.path("help") / language / help_files.DIGESTS_FILE
    file.write_text(json.dumps(dict(sorted(made.items())), indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", default=next(code for code in LANGUAGES if code != ENGLISH))
    parser.add_argument("--done", nargs="+", default=[], metavar="PAGE", choices=help_files.pages())
    given = parser.parse_args()
    if given.done:
        note(given.language, given.done)
    for state, pages in states(given.language).items():
        words = sum(len(help_files.english(page).split()) for page in pages)
        print(f"{state}: {len(pages)} pages, {words:,} words")
        for page in pages:
            print(f"  {page}")


if __name__ == "__main__":
    main()
