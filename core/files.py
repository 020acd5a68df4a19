"""Atomic, durable writes: a file is either as it was or whole, also after a crash or a power failure.

All files are replaced by this module. A file is written under a temporary name beside its own and synced, it is
renamed in one step, and then the folder is synced too. Without the first sync a crash may leave an empty file under
the final name; without the second the old file may come back.

All files and folders of the program are created by this module too, because it sets who may read them: their owner
alone, whatever the umask. In a folder that a group shares on purpose (setgid, or a default ACL) the group keeps the
rights that the folder gives it. What a person exports gets the ordinary permissions of the umask (``private=False``).
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
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy

#: The permissions of a file and of a folder that only their owner may use, and those that the umask reduces.
PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
_ORDINARY, _ORDINARY_FOLDER = 0o666, 0o777
#: The attribute of a folder that says who may use what is made in it (acl(5)).
_DEFAULT_ACL = "system.posix_acl_default"
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


def write_file(path: Path, content: bytes, *, durable: bool = True, private: bool = True) -> None:
    """Write ``content`` to ``path`` atomically; see :func:`replacing`.

    Raises:
        SemblanceError: the folder is missing or may not be written to, or the disk is full; an existing file at
            ``path`` is unchanged.
    """
    try:
        with replacing(path, durable=durable, private=private) as temporary, temporary.open("wb") as file:
            file.write(content)
    except OSError as error:
        raise write_error(path, error) from error


def is_taken(path: Path) -> bool:
    """Whether something is at ``path`` that a new file or folder would replace or mix with: all but an empty folder."""
    return path.exists() and (not path.is_dir() or any(path.iterdir()))


def make_folder(folder: Path, *, private: bool = True) -> None:
    """Create ``folder`` and its parents if they do not exist, and sync, so that what is written into it stays.

    Raises:
        SemblanceError: it cannot be created.
    """
    try:
        create_folder(folder, private=private)
    except OSError as problem:
        raise SemblanceError(
            tr_lazy("{folder} cannot be made: {reason}.", folder=folder, reason=problem.strerror or problem),
            "Choose another folder.",
        ) from problem


def create_folder(folder: Path, *, private: bool = True) -> None:
    """:func:`make_folder` for callers that report errors of the system themselves.

    Raises:
        OSError: it cannot be created.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        mode = PRIVATE_FOLDER | _shared(one.parent) if private else _ORDINARY_FOLDER
        one.mkdir(mode, exist_ok=True)
        _sync_folder(one.parent)
    if not missing and not folder.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))


def open_private(path: Path, mode: str = "xb") -> BinaryIO:
    """Open the file ``path`` for writing in the binary ``mode``; a new one is private.

    Raises:
        OSError: it cannot be opened.
    """
    return open(path, mode, opener=_create)  # type: ignore[return-value]


def create_private(path: Path) -> None:
    """Create an empty private file unless ``path`` exists, for libraries that would create it with other permissions:
    files that SQLite makes beside its own get the permissions of that.

    Raises:
        OSError: it cannot be created.
    """
    if not path.exists():
        open_private(path, "ab").close()


def copy_private(source: Path, target: Path) -> None:
    """Copy the content of a file to a private file, in place of what ``target`` held.

    Raises:
        OSError: one of them cannot be used.
    """
    with source.open("rb") as read, open_private(target, "wb") as written:
        shutil.copyfileobj(read, written, 1 << 20)


def excess_permissions(path: Path) -> int:
    """The bits of the mode of ``path`` that let others use it, those of a group that shares its folder left out; 0
    where there is no such file, and on Windows, where a mode says nothing about others."""
    if os.name == "nt":
        return 0
    with contextlib.suppress(OSError):
        status = path.lstat()
        if not stat.S_ISLNK(status.st_mode):
            of_group = 0o070 if _shared(path if path.is_dir() else path.parent) else 0
            return status.st_mode & 0o077 & ~of_group
    return 0


def make_private(path: Path) -> bool:
    """Take the :func:`excess_permissions` of ``path`` away; whether none is left. Foreign file systems ignore it."""
    if excess := excess_permissions(path):
        with contextlib.suppress(OSError):
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~excess)
    return not excess_permissions(path)


def _create(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE | _shared(Path(path).parent) & 0o060)


def _shared(folder: Path) -> int:
    """The bits of a mode that the group of ``folder`` gets for what is made in it, because it shares the folder."""
    try:
        mode = folder.stat().st_mode
        if mode & stat.S_ISGID:
            return mode & 0o070
        if sys.platform == "linux" and _DEFAULT_ACL in os.listxattr(folder):
            return 0o070
    except OSError:
        # Not every file system has attributes.
        return 0
    return 0


def write_error(path: Path, error: OSError) -> SemblanceError:
    """The error for the user where ``path`` could not be written."""
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
def replacing(path: Path, *, durable: bool = True, private: bool = True) -> Iterator[Path]:
    """An empty file beside ``path``; what is written into it becomes ``path`` at the end of the block.

    If the block raises, the temporary file is removed and ``path`` is unchanged. ``durable=False`` omits the syncs,
    for files that can be made again. ``private=False``: a file that a person exports.

    Raises:
        OSError: the file cannot be renamed or written.
    """
    temporary = path.with_name(f".{path.name[:_NAME_CHARACTERS]}.{secrets.token_hex(4)}{TEMPORARY}")
    mode = PRIVATE | _shared(path.parent) & 0o060 if private else _ORDINARY
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
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


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the file ``path``, for which other programs wait until this one leaves the block or ends. The
    file stays. On a file system without locks nobody waits.

    Raises:
        OSError: the file cannot be created.
    """
    with open_private(path, "ab") as file:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
