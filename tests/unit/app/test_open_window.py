from __future__ import annotations

import sys

import pytest

from semblance.app import open_window


@pytest.mark.skipif(sys.platform != "linux", reason="Qt's plug-in for X displays")
def test_a_missing_system_library_is_named_with_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    monkeypatch.setattr(open_window, "_CURSOR_LIBRARY", "libthere-is-none.so.0")
    assert open_window.open_window() == 1
    said = capsys.readouterr().err
    assert "libthere-is-none.so.0" in said
    assert "apt install libxcb-cursor0" in said
