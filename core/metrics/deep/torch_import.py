"""The only import of torch, and the error if it is not installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy


def import_torch(title: str) -> Any:
    """The module ``torch``; ``title`` names the learner that needs it.

    Raises:
        BadInput: it is not installed.
    """
    try:
        import torch
    except ImportError:
        raise BadInput(
            tr_lazy("{title} needs PyTorch, which is not installed.", title=title),
            'Install it with: pip install "semblance[deep]".',
        ) from None
    return torch


@contextlib.contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Make results independent of the number of processors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
