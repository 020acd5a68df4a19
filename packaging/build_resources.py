"""Make the files of ``resources`` that are not in the repository: the compiled translations, ``semblance.mo`` beside
each ``semblance.po``, the copy of CHANGELOG.md that the help shows, and the commit that cards and exports name.

Run by setup.py when the package is built or installed, by ``make translations`` and before the tests. Babel
is needed only if a text changed.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
FOLDER = TOP / "resources" / "translations"


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
        compiled = io.BytesIO()
        write_mo(compiled, catalogue)
        _write(target, compiled.getvalue())
        written.append(target)
    return written


def copy_changelog(top: Path = TOP) -> None:
    """Copy CHANGELOG.md into the folder resources, where it is installed with the program."""
    content, target = (top / "CHANGELOG.md").read_bytes(), top / "resources" / "CHANGELOG.md"
    if not target.exists() or target.read_bytes() != content:
        _write(target, content)


def write_commit(top: Path = TOP) -> None:
    """Write the commit of a checkout into the folder resources; a source distribution keeps the file it has."""
    found = runpy.run_path(str(top / "core" / "version.py"))["program_commit"]()
    if found:
        _write(top / "resources" / "COMMIT", found.encode("ascii"))


def _write(target: Path, content: bytes) -> None:
    """Write the file so that a program that starts at the same time reads either the old or the new one."""
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(target)


if __name__ == "__main__":
    copy_changelog()
    write_commit()
    for path in compile_translations():
        print(f"compiled {path.relative_to(TOP)}", file=sys.stderr)
