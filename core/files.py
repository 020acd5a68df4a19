"""Atomic, durable writes: a file is either as it was or whole, also after a crash or a power failure.

All files are replaced by this module. A file is written under a temporary name beside its own and synced, it is
renamed in one step, and then the folder is synced too. Without the first sync a crash may leave an empty file under
the final name; without the second the old file may come back.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy

#: The permissions of a file that only its owner may read.
PRIVATE = 0o600
#: Suffix of the temporary name of a file.
TEMPORARY = ".part"
#: Suffix of the temporary name of a folder.
UNFINISHED = ".making"
#: Older temporary files and folders belong to a program that was killed.
_ABANDONED_S = 24 * 3600
#: Longest part of a file's name in its temporary name: file systems allow 255 bytes.
_NAME_CHARACTERS = 40
#: Errors of network and foreign file systems that cannot sync a folder.
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}
#: Errors of a full disk.
NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


def write_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write ``content`` to ``path`` atomically; see :func:`replacing`.

    Raises:
        SemblanceError: the folder is missing or may not be written to, or the disk is full; an existing file at
            ``path`` is unchanged.
    """
    try:
        with replacing(path, durable=durable) as temporary, temporary.open("xb") as file:
            file.write(content)
    except OSError as error:
        raise _write_error(path, error) from error


def make_folder(folder: Path) -> None:
    """Create ``folder`` and its parents if they do not exist, and sync, so that what is written into it stays.

    Raises:
        SemblanceError: it cannot be created.
    """
    try:
        made = [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for one in made:
            _sync_folder(one.parent)
    except OSError as problem:
        raise SemblanceError(
            tr_lazy("{folder} cannot be made: {reason}.", folder=folder, reason=problem.strerror or problem),
            "Choose another folder.",
        ) from problem


def _write_error(path: Path, error: OSError) -> SemblanceError:
    if error.errno in NO_SPACE:
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


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """A temporary name beside ``path``; the file written there becomes ``path`` at the end of the block.

    If the block raises, the temporary file is removed and ``path`` is unchanged. ``durable=False`` omits the syncs,
    for files that can be made again.

    Raises:
        OSError: the file cannot be renamed or written.
    """
    temporary = path.with_name(f".{path.name[:_NAME_CHARACTERS]}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        yield temporary
        if durable:
            move_into_place(temporary, path)
        else:
            temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def move_into_place(made: Path, path: Path) -> None:
    """Sync the finished file or folder ``made`` with its content, and rename it to ``path`` on the same disk.

    Raises:
        OSError: it cannot be moved or synced. A folder at ``path`` must be empty.
    """
    if made.is_dir():
        for folder, _, names in os.walk(made):
            for name in names:
                _sync_file(Path(folder, name))
            _sync_folder(Path(folder))
    else:
        _sync_file(made)
    move(made, path)


def move(source: Path, target: Path) -> None:
    """Rename ``source``, of any kind and without opening it, to ``target`` on the same disk, and sync.

    Raises:
        OSError: it cannot be renamed.
    """
    source.replace(target)
    _sync_folder(target.parent)


def remove_abandoned(found: Iterable[Path]) -> None:
    """Remove those of ``found`` that a killed program left; newer ones may be in use."""
    for path in found:
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def unfinished_name(path: Path) -> Path:
    """A temporary name beside ``path`` for a folder, with the process and the computer that make it."""
    return path.with_name(f"{path.name}.{_computer()}-{os.getpid()}-{secrets.token_hex(4)}{UNFINISHED}")


def remove_unfinished(path: Path) -> None:
    """Remove the folders of :func:`unfinished_name` beside ``path`` whose process has ended, and old ones."""
    left = list(path.parent.glob(f"{glob.escape(path.name)}.*{UNFINISHED}"))
    for folder in left:
        computer, _, rest = folder.name[len(path.name) + 1 :].partition("-")
        process = rest.partition("-")[0]
        if computer == _computer() and process.isdecimal() and not _runs(int(process)):
            shutil.rmtree(folder, ignore_errors=True)
    remove_abandoned(left)


def _computer() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _runs(process: int) -> bool:
    """Whether a process with this number runs on this computer; always true on Windows, where the check would end
    it."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _sync_file(path: Path) -> None:
    # Windows syncs only files that are open for writing.
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
