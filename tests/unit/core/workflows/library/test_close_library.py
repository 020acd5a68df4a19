"""Every module that caches open libraries closes them on request."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from semblance.core.workflows.library.close_library import _CLOSING_FUNCTIONS, close_library


@pytest.mark.parametrize(("module", "close"), _CLOSING_FUNCTIONS)
def test_what_is_to_be_called_is_there(module, close, tmp_path):
    getattr(importlib.import_module(module), close)(tmp_path / "never opened.semblance")
    getattr(importlib.import_module(module), close)(None)


def test_closing_a_library_imports_no_heavy_module():
    code = (
        "import sys; from semblance.core.workflows.library.close_library import close_library; close_library();"
        "print([name for name in ('numpy', 'sqlalchemy', 'zarr') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_closing_without_an_open_library_is_no_error():
    close_library()
