"""The only import of onnxruntime."""

from __future__ import annotations

import os
from typing import Any


def import_onnxruntime() -> Any:
    """The module ``onnxruntime``, which reports nothing to its maker.

    Raises:
        ImportError: it is not installed.
    """
    # Read when onnxruntime is loaded. Without them it writes a device ID into the user's cache and reports each process
    # to its maker before disable_telemetry_events can be called.
    os.environ.update(ORT_DISABLE_TELEMETRY="1", ORT_TELEMETRY_DISABLED="1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
