"""Starting: what is loaded before the first paint, and what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import json, sys
from semblance.app.application import make_application
application = make_application()
from semblance.app.window.main_window import MainWindow
window = MainWindow()
window.show()
application.processEvents()
assert not window.grab().isNull()
print(json.dumps(sorted(sys.modules)))
window.close()
"""
#: Each costs 0.05 to 0.9 s and is needed by no first paint.
LATER = (
    "sklearn",
    "matplotlib",
    "skimage",
    "zarr",
    "pydicom",
    "torch",
    "scipy",
    "sqlalchemy",
    "numpy",
    "pyqtgraph",
    "semblance.app.window.panels",
    "semblance.app.window.parts",
    "semblance.app.window.commands",
    "semblance.core.metrics.registry",
)


def test_heavy_libraries_come_after_the_first_paint(private_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    loaded = set(json.loads(done.stdout))
    assert "PySide6.QtWidgets" in loaded
    assert [name for name in LATER if name in loaded] == []
