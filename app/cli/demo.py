"""`semblance demo`: the demo library, and without a display its report and an image of the window."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from semblance.core.files import make_private
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import Reporter
from semblance.core.workflows.demo import demo_query, make_demo
from semblance.core.workflows.metrics.stored_metric import current_metric
from semblance.core.workflows.reports.write_reports import write_search_report


@dataclass(frozen=True)
class Demo:
    """The demo library, whether a window is to be opened on it, and what was written instead."""

    library: Path
    opens_window: bool
    files: tuple[Path, ...] = ()


def run_demo(library: Path | None, *, headless: bool, reporter: Reporter) -> Demo:
    """Make the demo library; with ``headless`` or no display write report.html, report.pdf, window.png."""
    path = make_demo(library, reporter=reporter)
    if not headless and has_display():
        return Demo(path, opens_window=True)
    query = Query(case=demo_query(path))
    files = [path / "report.html", path / "report.pdf"]
    for file in files:
        reporter.progress(files.index(file), len(files), "Writing the report")
        write_search_report(path, Search(current_metric(path), query), file, reporter=reporter)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from semblance.app.screenshot import image_of_window

    image = path / "window.png"
    image_of_window(path, query, image)
    # Exports follow the umask, but what lies in a library is its owner's alone.
    for file in (*files, image):
        make_private(file)
    return Demo(path, opens_window=False, files=(*files, image))


def has_display() -> bool:
    """Whether a window can be shown here."""
    if os.environ.get("QT_QPA_PLATFORM") in ("offscreen", "minimal"):
        return False
    if sys.platform.startswith(("win", "darwin")):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
