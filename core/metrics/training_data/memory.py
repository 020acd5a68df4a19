"""Check before a learner starts whether its arrays fit into memory."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy

#: The share of the memory that a learner may take; the rest is for the window and other programs.
_SHARE = 0.75
#: Assumed if the system does not report its memory.
_UNKNOWN = 8 << 30
#: A matrix of all features has 0.9 GiB: a stored metric may have 1.
MAX_FEATURES = 11_000
#: Matrices of all features that learning one holds at once.
_MATRICES = 4


@functools.cache
def budget() -> int:
    """Bytes a learner may hold at once: a share of the memory of this machine, free or not.

    Free memory changes from minute to minute, and the same training must always give the same answer.
    """
    return int(_SHARE * _installed())


def check_memory(needed: float, what: str, way_out: str) -> None:
    """Refuse what would need ``needed`` bytes at once, if that is beyond :func:`budget`.

    ``what`` begins the message ("5,000 cases compared with each other"); ``way_out`` says what to do.

    Raises:
        BadInput: with the number of bytes that are needed and available.
    """
    available = budget()
    if needed > available:
        raise BadInput(
            tr_lazy(
                "{what} would take {needed} of memory; {there} may be used.",
                what=what,
                needed=_text(needed),
                there=_text(available),
            ),
            way_out,
        )


def check_features(count: int) -> None:
    """Refuse rows of ``count`` features where a matrix of all of them is needed.

    Raises:
        BadInput: it would be larger than a stored metric may be, or several would not fit into memory.
    """
    way_out = tr_lazy(
        "Reduce them to {max_features:,} or fewer, for example by the step 'pca:200'.",
        max_features=MAX_FEATURES,
    )
    if count > MAX_FEATURES:
        raise BadInput(
            tr_lazy(
                "A matrix of {count:,} features would take {count2}.",
                count=count,
                count2=_text(8.0 * count**2),
            ),
            way_out,
        )
    check_memory(
        8.0 * _MATRICES * count**2,
        tr_lazy("{matrices} matrices of {count:,} features", matrices=_MATRICES, count=count),
        way_out,
    )


def _installed() -> int:
    """Bytes of memory, or fewer where a container is allowed fewer."""
    sizes = []
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file():
        text = limit.read_text(encoding="ascii").strip()
        if text.isdigit():
            sizes.append(int(text))
    return min((size for size in sizes if size > 0), default=_UNKNOWN)


def _text(size: float) -> str:
    return (
        tr_lazy("{size:,.1f} GiB", size=size / 2**30)
        if size >= 2**30
        else tr_lazy("{size:,.1f} MiB", size=size / 2**20)
    )
