"""Compile the translated texts, ``semblance.po``, to the ``semblance.mo`` that gettext reads, beside each.

Run by setup.py when the package is built or installed, by ``make translations`` and before the tests. Babel
is needed only if a text changed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "resources" / "translations"


def compile_translations(folder: Path = FOLDER) -> list[Path]:
    """Write every ``.mo`` file that is missing or older than its ``.po`` file; returns what was written."""
    written = []
    for source in sorted(folder.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
            continue
        from babel.messages.mofile import write_mo
        from babel.messages.pofile import read_po

        with source.open("rb") as texts:
            catalogue = read_po(texts, locale=source.parent.parent.name, abort_invalid=True)
        # A program that starts at the same time reads either the old or the new file.
        unfinished = target.with_name(f"{target.name}.{os.getpid()}")
        with unfinished.open("wb") as compiled:
            write_mo(compiled, catalogue)
        unfinished.replace(target)
        written.append(target)
    return written


if __name__ == "__main__":
    for path in compile_translations():
        print(f"compiled {path.relative_to(FOLDER.parent.parent)}", file=sys.stderr)
