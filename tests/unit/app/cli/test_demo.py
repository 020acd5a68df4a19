from __future__ import annotations

from semblance.app import screenshot
from semblance.app.cli import demo
from semblance.core.files import excess_permissions
from semblance.core.library.library import Library
from semblance.core.tasks import Reporter


def test_what_the_demo_writes_into_its_library_is_as_private_as_the_library(monkeypatch, tmp_path):
    path = tmp_path / "demo.semblance"
    Library.create(path).close()

    def write(*arguments, **named):
        arguments[2].write_bytes(b"")
        arguments[2].chmod(0o644)

    monkeypatch.setattr(demo, "make_demo", lambda library, *, reporter: library)
    monkeypatch.setattr(demo, "demo_query", lambda library: "case")
    monkeypatch.setattr(demo, "current_metric", lambda library: "metric")
    monkeypatch.setattr(demo, "write_search_report", write)
    monkeypatch.setattr(screenshot, "image_of_window", write)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    written = demo.run_demo(path, headless=True, reporter=Reporter()).files
    assert [file.name for file in written] == ["report.html", "report.pdf", "window.png"]
    assert [excess_permissions(file) for file in written] == [0, 0, 0]
