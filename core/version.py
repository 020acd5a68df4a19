"""The version of the program, with the commit that its files are from."""

from __future__ import annotations

import functools
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as distribution_version
from pathlib import Path

#: The name under which the package index and pip know the program. It is imported as ``semblance``.
DISTRIBUTION = "semblance-retrieval"
#: Written when a wheel is built from a checkout (packaging/build_resources.py).
_COMMIT_FILE = "COMMIT"
_SHOWN_DIGITS = 10


@functools.cache
def program_version() -> str:
    """``0.1.0``, or ``unknown`` where the program runs without being installed."""
    try:
        return distribution_version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


@functools.cache
def version_with_commit() -> str:
    """``0.1.0+g1a2b3c4d5e`` as PEP 440 writes it; without the commit where it is not known."""
    commit = program_commit()
    return f"{program_version()}+g{commit[:_SHOWN_DIGITS]}" if commit else program_version()


@functools.cache
def program_commit() -> str:
    """The commit of the checkout that the program runs from, else the one that the wheel was built from, else ``""``.

    Changes that are not committed are not seen.
    """
    top = Path(__file__).resolve().parent.parent
    commit = _checked_out(top / ".git")
    built = Path(__file__).parent.parent / "resources" / _COMMIT_FILE
    if not commit and built.is_file():
        commit = built.read_text(encoding="ascii").strip()
    return commit


def _checked_out(git: Path) -> str:
    """The commit that HEAD of a repository names: read from its files, because git may not be installed."""
    try:
        if git.is_file():  # a worktree or a submodule: "gitdir: PATH"
            git = git.parent / git.read_text(encoding="utf-8").partition(":")[2].strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        shared = git / "commondir"
        folders = [git, git / shared.read_text(encoding="utf-8").strip()] if shared.is_file() else [git]
        for folder in folders:
            if (folder / name).is_file():
                return (folder / name).read_text(encoding="utf-8").strip()
        for folder in folders:
            if (packed := folder / "packed-refs").is_file():
                for line in packed.read_text(encoding="utf-8").splitlines():
                    if line.endswith(f" {name}"):
                        return line.split(" ", 1)[0]
    except OSError:
        pass  # no repository, or one that may not be read: the version alone is shown
    return ""
