from __future__ import annotations

import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging import memory
from semblance.core.limits import MAX_ARRAY_BYTES


def test_free_memory_is_read_where_the_system_reports_it(monkeypatch, tmp_path):
    facts = tmp_path / "meminfo"
    facts.write_text("MemTotal: 8000 kB\nMemAvailable:    1000 kB\n", encoding="ascii")
    monkeypatch.setattr(memory, "_LINUX", facts)
    assert memory.free_bytes() == 1_024_000
    memory.check_fits(600_000, "v")
    with pytest.raises(BadInput, match=r"'v' would take 700 kB of memory, and 1.02 MB are free"):
        memory.check_fits(700_000, "v")


@pytest.mark.parametrize("text", ["", "MemAvailable:\n", "MemAvailable: many kB\n", "MemTotal: 1 kB\n"])
def test_elsewhere_only_the_fixed_limit_holds(monkeypatch, tmp_path, text):
    facts = tmp_path / "meminfo"
    facts.write_text(text, encoding="ascii")
    monkeypatch.setattr(memory, "_LINUX", facts)
    assert memory.free_bytes() is None
    memory.check_fits(MAX_ARRAY_BYTES, "v")
    with pytest.raises(BadInput, match="would take"):
        memory.check_fits(MAX_ARRAY_BYTES + 1, "v")
    monkeypatch.setattr(memory, "_LINUX", tmp_path / "nothing")
    assert memory.free_bytes() is None


class _WithMallopt:
    def __init__(self, name):
        self.options = []
        libraries.append(self)

    def mallopt(self, option, value):
        self.options.append((option, value))


libraries: list[_WithMallopt] = []


def test_large_blocks_are_given_back_where_the_library_can(monkeypatch):
    libraries.clear()
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr("ctypes.CDLL", _WithMallopt)
    memory.return_freed_blocks()
    assert [library.options for library in libraries] == [[(-3, 262144)]]
    monkeypatch.setattr("ctypes.CDLL", lambda _name: object())
    memory.return_freed_blocks()
    monkeypatch.setattr(memory.sys, "platform", "win32")
    monkeypatch.setattr("ctypes.CDLL", _WithMallopt)
    memory.return_freed_blocks()
    assert len(libraries) == 1
