"""A disk that is full or write-protected: a small file system of memory that only one process sees."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from semblance.core.errors import SemblanceError

NEW_USERS, NEW_MOUNTS = 0x10000000, 0x00020000
READ_ONLY, REMOUNT, PRIVATE, RECURSIVE = 1, 32, 1 << 18, 1 << 14
SIZE_MB = 64
_DETACH = 2
#: Status of a process that may not make such a disk.
NOT_ALLOWED = 77


def on_small_disk(
    work: Callable[[Path], None], library: Path, log: Path, free: int, *, read_only: bool = False
) -> int:
    """Do ``work`` on a copy of ``library`` on a disk with ``free`` bytes left, or one nobody can write to.

    The copy then takes the place of ``library``. How it ended goes into ``log``; the process's status.
    """
    disk = library.with_name(f"{library.name} disk")
    disk.mkdir()
    if not mount_disk(disk, SIZE_MB):
        return NOT_ALLOWED
    here = disk / library.name
    if library.exists():
        shutil.copytree(library, here)
    ballast = disk / "ballast"
    if read_only:
        _call("mount", b"none", bytes(disk), None, READ_ONLY | REMOUNT, None)
    else:
        facts = os.statvfs(disk)
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, facts.f_bavail * facts.f_frsize - free))
    outcome: dict[str, object] = {"ended": "done"}
    try:
        work(here)
    except SemblanceError as error:
        outcome = {"ended": "reported", "message": error.message, "hint": error.hint}
    except Exception as error:  # noqa: BLE001 - whatever else comes is what is looked for
        outcome = {"ended": "defect", "message": f"{type(error).__name__}: {error}"}
    with log.open("a") as file:
        file.write(json.dumps(outcome) + "\n")
    if not read_only:
        ballast.unlink()
    shutil.rmtree(library, ignore_errors=True)
    if here.exists():
        shutil.copytree(here, library)
    for beside in disk.glob(f"{library.name} *"):
        shutil.copy(beside, library.parent)
    return 0


def mount_disk(disk: Path, megabytes: int) -> bool:
    """A file system of this process's own at ``disk``, seen by what it starts too; whether it may make one."""
    user, group = os.getuid(), os.getgid()
    if not _call("unshare", NEW_MOUNTS):
        if not _call("unshare", NEW_USERS | NEW_MOUNTS):
            return False
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    if not _call("mount", b"none", b"/", None, RECURSIVE | PRIVATE, None):
        return False
    return _call("mount", b"none", bytes(disk), b"tmpfs", 0, f"size={megabytes}m".encode())


def unmount_disk(disk: Path) -> None:
    """Take away what :func:`mount_disk` made, as soon as nobody uses it."""
    _call("umount2", bytes(disk), _DETACH)


def _call(name: str, *arguments: object) -> bool:
    library = ctypes.CDLL(None, use_errno=True)
    return bool(getattr(library, name)(*arguments) == 0)
