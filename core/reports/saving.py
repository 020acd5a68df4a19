"""Puts a finished file in its place, or leaves what was there as it was."""

from __future__ import annotations

import errno
from pathlib import Path

from semblance.core.errors import SemblanceError
from semblance.core.files import write_file
from semblance.core.language import tr_lazy

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


def put_file(path: Path, content: bytes) -> None:
    """Make ``content`` the content of ``path``, whole or not at all.

    Raises:
        SemblanceError: the folder is missing or may not be written to, or the disk is full.
    """
    try:
        write_file(path, content)
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: OSError) -> SemblanceError:
    if error.errno in _NO_SPACE:
        return SemblanceError(
            tr_lazy("The disk is full: {path} was not written.", path=path),
            "Free some space, or choose another folder.",
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return SemblanceError(
            tr_lazy("{path} was not written: there is no folder {parent}.", path=path, parent=path.parent),
            "Choose a folder that exists.",
        )
    if error.errno == errno.EISDIR:
        return SemblanceError(
            tr_lazy("{path} was not written: it is a folder.", path=path), "Choose another name."
        )
    if error.errno == errno.ENAMETOOLONG:
        return SemblanceError(
            tr_lazy("{path}… was not written: the name is too long.", path=path.name[:60]),
            "Choose a shorter one.",
        )
    return SemblanceError(
        tr_lazy("{path} was not written: {reason}.", path=path, reason=error.strerror or error),
        "Choose a folder you may write to, or close the file where it is open.",
    )
