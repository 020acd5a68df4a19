from __future__ import annotations

import sys

import pytest

from semblance.app import open_window


@pytest.mark.skipif(sys.platform != "linux", reason="Qt's plug-in for X displays")
def test_missing_system_libraries_are_named_with_the_command_that_installs_them(monkeypatch, capsys):
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    absent = {"libxcb-cursor.so.0", "libxcb-keysyms.so.1"}
    monkeypatch.setattr(open_window, "_can_load", lambda library: library not in absent)
    assert open_window.open_window() == 1
    said = capsys.readouterr().err
    assert all(library in said for library in absent)
    assert "apt install libxcb-cursor0 libxcb-keysyms1 " in said
