"""One thread in BLAS and OpenMP, where more of them slow small arrays down and change the last digits."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[object]:
    """A context in which numerical libraries use one thread; those before it are restored at its end."""
    limits: AbstractContextManager[object] = _controller(len(sys.modules)).limit(limits=1)
    return limits


@lru_cache(maxsize=1)
def _controller(_modules: int) -> ThreadpoolController:
    """The libraries of the process. Finding them takes milliseconds, and only an import can load more of them."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
