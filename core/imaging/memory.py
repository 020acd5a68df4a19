"""The free memory of the computer, so that data that do not fit are refused."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.limits import BYTES_OF_PIXEL, MAX_ARRAY_BYTES, memory_limit, size_text

#: Share of the free memory that one volume may take.
SHARE = 0.6

_large_images = threading.Lock()
_LINUX = Path("/proc/meminfo")
#: M_MMAP_THRESHOLD of glibc's malloc.h, and from how many bytes on a block is given back when it is freed.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, 256 << 10


def free_bytes() -> int | None:
    """Bytes that can be used without swapping; ``None`` where the system does not report it."""
    try:
        lines = _LINUX.read_text(encoding="ascii", errors="replace").splitlines()
        found = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(found) * 1024
    except (OSError, StopIteration, IndexError, ValueError):
        return None


def check_fits(size: int, name: str) -> None:
    """
    Raises:
        BadInput: a volume of ``size`` bytes, called ``name``, is too large for this computer now.
    """
    free = free_bytes()
    if size > MAX_ARRAY_BYTES or (free is not None and size > SHARE * free):
        note = "" if free is None else tr_lazy(", and {free} are free", free=size_text(free))
        raise BadInput(
            tr_lazy(
                "'{name}' would take {size} of memory{there}.", name=name, size=size_text(size), there=note
            ),
            "Close other programs, or view its slices one by one.",
        )


@contextlib.contextmanager
def one_large_image_at_a_time(n_pixels: int) -> Iterator[None]:
    """Wait, before an image of so many pixels is decoded, until other threads have decoded theirs. Small images never
    wait."""
    if 4 * n_pixels * BYTES_OF_PIXEL < memory_limit():
        yield
        return
    with _large_images:
        yield


def return_freed_blocks() -> None:
    """Return large freed blocks to the system at once; otherwise freed slices keep some 100 MB. For processes that
    show images: a process that computes is faster when it keeps them."""
    import ctypes

    if sys.platform != "linux":
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _TRIM_THRESHOLD)
