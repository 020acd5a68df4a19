"""PyArrow's reader of Parquet files, which is in an extra."""

from __future__ import annotations

from typing import Any

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy


def import_parquet() -> Any:
    """The module ``pyarrow.parquet``.

    Raises:
        BadInput: it is not installed.
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise BadInput(
            tr_lazy("Parquet files need PyArrow, which is not installed."),
            'Install it with: pip install "semblance[parquet]".',
        ) from None
    return parquet
