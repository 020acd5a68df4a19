"""The key of a project: from it pseudonyms, UIDs and date shifts are made. It is kept apart from what is written."""

from __future__ import annotations

import re
from pathlib import Path

from semblance.core.errors import BadArguments, BadInput
from semblance.core.files import make_folder, write_file
from semblance.core.imaging.pseudonyms import KEY_BYTES, Pseudonyms
from semblance.core.language import tr_lazy

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")


def project_folder() -> Path:
    """Where the keys of projects are kept, for this user of this computer alone."""
    import platformdirs

    return Path(platformdirs.user_data_dir("semblance", appauthor=False)) / "projects"


def project_pseudonyms(project: str) -> Pseudonyms:
    """The pseudonyms of ``project``; its key is made at the first call.

    Raises:
        BadArguments: no name for a file.
        BadInput: the key is damaged.
        SemblanceError: the key cannot be written.
    """
    if not _NAME.fullmatch(project):
        raise BadArguments(
            tr_lazy("'{project}' cannot be the name of a project.", project=project),
            "Use up to 64 letters, digits, spaces, dots, - and _.",
        )
    file = project_folder() / f"{project}.key"
    if not file.exists():
        make_folder(file.parent)
        write_file(file, Pseudonyms.new_key().hex().encode())
    try:
        key = bytes.fromhex(file.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise BadInput(
            tr_lazy("The key of the project in {file} is damaged.", file=file),
            "Restore it from a copy, or choose another name for the project.",
        )
    return Pseudonyms(key)
